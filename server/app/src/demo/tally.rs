//! What became of the crowd, counted as the people see it. The line's own counts come from its stats.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Something that happened to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    Arrived,
    Joined,
    Streamed,
    Returned,
    WentIn,
    Finished,
    Vanished,
    NoShow,
    GaveUp,
    Left,
    /// The place or pass had ended when the person came back to it.
    TooLate,
    /// Refused for good, or never got an answer.
    TurnedAway,
    /// A shown position rose, or a person who came back had another place: must not happen.
    Broken,
}

/// Names of the fates, in the order of the enum.
const NAMES: [&str; 13] = [
    "arrived",
    "joined",
    "heard by stream",
    "came back",
    "went in",
    "finished",
    "vanished inside",
    "did not show up",
    "gave up",
    "said goodbye",
    "came back too late",
    "turned away",
    "positions that rose or places that changed",
];

#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: [AtomicU64; NAMES.len()],
    /// Refusals by code.
    refusals: Mutex<BTreeMap<String, u64>>,
}

impl Tally {
    pub(super) fn note(&self, fate: Fate) {
        // Only counted; nothing is ordered by it.
        self.counts[fate as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self, code: &str) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry(code.to_owned()).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in NAMES.iter().zip(&self.counts) {
            writeln!(f, "  {:>7}  {name}", count.load(Ordering::Relaxed))?;
        }
        let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        for (code, count) in &*refusals {
            writeln!(f, "  {count:>7}  answered {code}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_has_its_name() {
        let tally = Tally::default();
        tally.note(Fate::Arrived);
        tally.note(Fate::Broken);
        tally.note(Fate::Broken);
        tally.refused("too_fast");
        let text = tally.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[0], "1  arrived");
        assert_eq!(lines[NAMES.len() - 1], "2  positions that rose or places that changed");
        assert_eq!(lines[NAMES.len()], "1  answered too_fast");
        assert_eq!(lines[7], "0  did not show up");
    }
}
