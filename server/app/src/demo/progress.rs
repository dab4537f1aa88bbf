//! What the demo tells on the terminal: the addresses, a line of counts, the summary. Counts nothing itself.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal as _, Write as _};

use jari_api::admin::RoomStats;
use tokio::time::{Duration, Instant};

/// A terminal's line is rewritten each second; anywhere else a line in five seconds says as much.
const EVERY_TTY: Duration = Duration::from_secs(1);
const EVERY_PLAIN: Duration = Duration::from_secs(5);

/// The screen that the demo writes to.
pub(super) struct Screen {
    tty: bool,
    started: Instant,
    /// Whether a rewritable line stands there unfinished.
    open_line: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Screen { tty: io::stdout().is_terminal(), started: Instant::now(), open_line: false }
    }

    pub(super) fn every(&self) -> Duration {
        if self.tty { EVERY_TTY } else { EVERY_PLAIN }
    }

    /// Writes whole lines. A closed terminal is no reason to stop: the demo ends by its signal.
    pub(super) fn say(&mut self, text: impl Display) {
        let mut out = io::stdout().lock();
        let gap = if std::mem::take(&mut self.open_line) { "\n" } else { "" };
        let _ = writeln!(out, "{gap}{text}").and_then(|()| out.flush());
    }

    /// Shows the counts: in place of the last on a terminal, as a line of their own elsewhere.
    pub(super) fn show(&mut self, stats: &RoomStats) {
        let elapsed = self.started.elapsed().as_secs();
        let line = format!("{:>3}:{:02}  {}", elapsed / 60, elapsed % 60, Counts(stats));
        if !self.tty {
            return self.say(line);
        }
        let mut out = io::stdout().lock();
        // To the line's start, clear to its end.
        let _ = write!(out, "\r\x1b[K{line}").and_then(|()| out.flush());
        self.open_line = true;
    }
}

/// A room's counts in one line.
struct Counts<'a>(&'a RoomStats);

impl Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.0;
        let called = stats.live.saturating_sub(stats.claimed);
        write!(
            f,
            "waiting {:>5}  called {called:>4}  inside {:>5}  admitted {:>6}  absent {:>4}  no-shows {:>4}  {:>6.1}/s",
            stats.waiting,
            stats.claimed,
            stats.admitted_total,
            stats.absent,
            stats.no_shows_total,
            stats.rate_per_s
        )
    }
}

/// The line's own totals at the end.
pub(super) fn totals(stats: &RoomStats) -> String {
    format!(
        "The line: {} joined, {} admitted, {} went in, {} no-shows, {} called while away, {} of them came back, {} left.",
        stats.joined_total,
        stats.admitted_total,
        stats.claimed_total,
        stats.no_shows_total,
        stats.absent_total,
        stats.returned_total,
        stats.left_total
    )
}
