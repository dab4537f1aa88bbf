//! How far a long command is, on a terminal's error output. Silent everywhere else, so that scripts see only failures.

use std::io::{IsTerminal as _, Write as _, stderr};

pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress { terminal: stderr().is_terminal() }
    }

    /// Shows a text, which is made only where somebody reads it, in place of what was shown before.
    pub(super) fn show(&self, text: impl FnOnce() -> String) {
        if self.terminal {
            // To the line's start, clear to its end. A closed terminal is no reason to stop.
            let _ = write!(stderr(), "\r\x1b[K{}", text()).and_then(|()| stderr().flush());
        }
    }

    pub(super) fn clear(&self) {
        self.show(String::new);
    }
}
