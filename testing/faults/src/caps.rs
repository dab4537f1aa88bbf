//! Whether what the nodes said of a room kept to its caps at every moment: capacity, and rate x time + burst. Reads samples,
//! asks nobody.

use std::time::Duration;

use crate::found::{Found, Kind};

/// The room's limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    pub(crate) capacity: u64,
    pub(crate) rate_per_s: u64,
    pub(crate) burst: u64,
}

/// What one node said of the room at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) node: usize,
    /// When it was asked and when it had answered, since the run began.
    pub(crate) asked: Duration,
    pub(crate) told: Duration,
    /// The last tick's time by the store's clock, milliseconds.
    pub(crate) tick_ms: u64,
    pub(crate) live: u64,
    pub(crate) admitted: u64,
    /// While the room is put together again its total may not be told yet.
    pub(crate) recovering: bool,
}

/// How far a node's replica may be behind the store, for the check by this machine's clock.
const LAG: Duration = Duration::from_secs(3);

impl Caps {
    /// Notes each pair of samples that cannot both be true.
    pub(crate) fn check(self, samples: &[Sample], found: &Found) {
        for sample in samples.iter().filter(|sample| sample.live > self.capacity) {
            let Sample { node, live, told, .. } = *sample;
            let at = told.as_secs_f64();
            let text = format!("node {node} said {live} inside of {} at {at:.1} s", self.capacity);
            found.note(Kind::Cap, text);
        }
        let whole: Vec<&Sample> = samples.iter().filter(|sample| !sample.recovering).collect();
        for (at, later) in whole.iter().enumerate() {
            let before = whole[..at].iter().rev();
            let too_fast = before.copied().find(|earlier| self.too_many(earlier, later).is_some());
            if let Some(earlier) = too_fast {
                let (from, to) = (earlier.told.as_secs_f64(), later.told.as_secs_f64());
                let count = later.admitted - earlier.admitted;
                let text = format!("{count} let in from {from:.1} s to {to:.1} s");
                found.note(Kind::Cap, text);
            }
        }
    }

    /// By how many more were let in between the two than the rate allows.
    fn too_many(self, earlier: &Sample, later: &Sample) -> Option<u64> {
        let count = later.admitted.checked_sub(earlier.admitted)?;
        // A replica is a state of the room at one tick, so this is exact, on whichever nodes.
        let by_ticks = later.tick_ms.saturating_sub(earlier.tick_ms);
        // The store's clock may have been set: then this one counts.
        let by_clock = (later.told - earlier.asked.min(later.told) + LAG).as_millis();
        let ms = by_ticks.min(u64::try_from(by_clock).expect("a run takes no ages"));
        // What comes due within a millisecond may be given in it.
        let allowed = self.burst + (self.rate_per_s * ms).div_ceil(1_000);
        count.checked_sub(allowed).filter(|more| *more > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps { capacity: 10, rate_per_s: 2, burst: 4 };

    fn sample(node: usize, at_s: u64, tick_s: u64, live: u64, admitted: u64) -> Sample {
        let at = Duration::from_secs(at_s);
        let (tick_ms, recovering) = (tick_s * 1_000, false);
        Sample { node, asked: at, told: at, tick_ms, live, admitted, recovering }
    }

    fn found(samples: &[Sample]) -> u64 {
        let found = Found::default();
        CAPS.check(samples, &found);
        found.of(Kind::Cap).count
    }

    #[test]
    fn rate_times_time_and_a_burst_are_allowed_and_no_more() {
        assert_eq!(found(&[sample(0, 0, 100, 0, 0), sample(1, 10, 110, 10, 24)]), 0);
        assert_eq!(found(&[sample(0, 0, 100, 0, 0), sample(1, 10, 110, 10, 25)]), 1);
        assert_eq!(found(&[sample(0, 0, 100, 11, 0)]), 1);
    }

    #[test]
    fn a_store_whose_clock_was_set_is_held_to_this_machines() {
        let ahead = [sample(0, 0, 100, 0, 0), sample(0, 10, 410, 10, 31)];
        assert_eq!(found(&ahead), 1, "20 for the time, 6 for the lag, 4 at once");
        assert_eq!(found(&[ahead[0], sample(0, 10, 410, 10, 30)]), 0);
    }

    #[test]
    fn a_total_that_is_not_told_yet_counts_for_nothing_but_what_was_before_still_does() {
        let told = |admitted| sample(0, 10, 110, 0, admitted);
        let recovering = Sample { recovering: true, ..sample(0, 5, 105, 0, 0) };
        let before = sample(0, 0, 100, 0, 500);
        assert_eq!(found(&[before, recovering, told(524)]), 0);
        assert_eq!(found(&[before, recovering, told(525)]), 1);
    }

    #[test]
    fn totals_that_were_lost_begin_anew() {
        assert_eq!(found(&[sample(0, 0, 100, 0, 500), sample(0, 10, 110, 0, 3)]), 0);
    }
}
