//! What a rehearsal found. Draws and prints nothing.

use jari_line::Totals;
use jari_units::Millis;

use crate::Calibration;

#[derive(Clone, Debug)]
pub struct Report {
    pub people: u32,
    /// Came and got no place: sold out, closed or full.
    pub turned_away: u64,
    /// Left the line or closed the page for good.
    pub gave_up: u64,
    pub totals: Totals,
    pub peak_waiting: u64,
    pub peak_live: u64,
    /// From the start until nobody was in line any more; `None` where the rehearsal's horizon came first.
    pub drained_after: Option<Millis>,
    /// Still in line when the rehearsal ended, and when that was.
    pub waiting: u64,
    pub ended_after: Millis,
    /// From join to call, of those who were called in their turn.
    pub waits: Waits,
    pub calibration: Calibration,
    /// Evenly spaced, from the start to the end: enough for a picture.
    pub timeline: Vec<Moment>,
}

/// The room at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub at: Millis,
    pub waiting: u64,
    pub live: u64,
    pub admitted: u64,
    pub rate_milli: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
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
        Waits { p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}
