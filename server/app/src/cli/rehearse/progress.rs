//! How far a rehearsal is, on a terminal's error output. Silent everywhere else, so that scripts see only failures.

use std::io::{IsTerminal as _, Write as _, stderr};

use jari_units::Millis;

use super::wording::span;

pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress { terminal: stderr().is_terminal() }
    }

    /// Shows `text` in place of what was shown before.
    pub(super) fn show(&self, text: &str) {
        if self.terminal {
            // To the line's start, clear to its end. A closed terminal is no reason to stop.
            let _ = write!(stderr(), "\r\x1b[K{text}").and_then(|()| stderr().flush());
        }
    }

    pub(super) fn show_time(&self, at: Millis, horizon: Millis) {
        if self.terminal {
            self.show(&format!("virtual time {} of at most {}", span(at), span(horizon)));
        }
    }

    pub(super) fn clear(&self) {
        self.show("");
    }
}
