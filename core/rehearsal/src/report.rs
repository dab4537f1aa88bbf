//! What a rehearsal found. Draws and prints nothing.

use jari_line::Totals;
use jari_units::Millis;

use crate::{Calibration, Census, Queued};

#[derive(Clone, Debug)]
pub struct Report {
    /// Where everybody stands at the end.
    pub people: Census,
    /// What the room itself has counted: places and passes, those of people who left without a word included.
    pub totals: Totals,
    pub peak: Peak,
    /// From the start until everybody had come and nobody was in line any more; `None` where the horizon came first.
    pub drained_after: Option<Millis>,
    pub ended_after: Millis,
    /// From the join to the first pass, of those who were let in.
    pub waits: Waits,
    pub queued: Queued,
    pub calibration: Calibration,
    /// Evenly spaced, from the start to the end, and the fullest moments between: enough for a picture.
    pub timeline: Vec<Moment>,
}

/// The most there ever was, at whichever moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    pub waiting: u64,
    pub line: u64,
    pub live: u64,
}

/// The room at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub at: Millis,
    /// People in line.
    pub waiting: u64,
    /// Places in line as the room counts them: whoever left without a word is one until their turn.
    pub line: u64,
    pub live: u64,
    pub admitted: u64,
    pub rate_milli: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    pub people: u64,
    pub p50: Millis,
    pub p90: Millis,
    pub p99: Millis,
    pub max: Millis,
}

impl Waits {
    pub(crate) fn of(mut waits: Vec<Millis>) -> Waits {
        waits.sort_unstable();
        let at = |percent: usize| {
            let last = waits.len().saturating_sub(1);
            waits.get(last * percent / 100).copied().unwrap_or_default()
        };
        let people = waits.len() as u64;
        Waits { people, p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}
