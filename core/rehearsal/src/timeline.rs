//! The moments of a rehearsal that are kept: evenly spaced, and few, however long it takes. Measures nothing itself.

use crate::report::Moment;

/// Moments kept at most. A picture has room for about a thousand; half of them go whenever there are more.
const MOMENTS_MAX: usize = 1_200;

/// Takes every tick's moment and keeps every n-th.
#[derive(Debug)]
pub(crate) struct Timeline {
    kept: Vec<Moment>,
    every: u64,
    noted: u64,
    last: Option<Moment>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { kept: Vec::new(), every: 1, noted: 0, last: None }
    }
}

impl Timeline {
    pub(crate) fn note(&mut self, moment: Moment) {
        if self.noted.is_multiple_of(self.every) {
            if self.kept.len() == MOMENTS_MAX {
                self.kept = self.kept.iter().copied().step_by(2).collect();
                self.every *= 2;
            }
            // With an even maximum, the moment that comes now is one of those that stay.
            self.kept.push(moment);
        }
        self.noted += 1;
        self.last = Some(moment);
    }

    /// The kept moments, and the very last where it is not among them.
    pub(crate) fn finish(mut self) -> Vec<Moment> {
        let last = self.last.filter(|last| self.kept.last() != Some(last));
        self.kept.extend(last);
        self.kept
    }
}

const _: () = assert!(MOMENTS_MAX.is_multiple_of(2));

#[cfg(test)]
mod tests {
    use jari_units::Millis;

    use super::*;

    #[test]
    fn moments_are_few_evenly_spaced_and_reach_the_end() {
        for ticks in [1, 2, 1_199, 1_200, 1_201, 2_400, 2_401, 604_800] {
            let mut timeline = Timeline::default();
            for tick in 0..ticks {
                let at = Millis::from_secs(tick);
                timeline.note(Moment { at, waiting: 0, live: 0, admitted: 0, rate_milli: 0 });
            }
            let kept = timeline.finish();
            assert!(kept.len() <= MOMENTS_MAX + 1, "{ticks}: {}", kept.len());
            assert!(kept.len() as u64 >= ticks.min(MOMENTS_MAX as u64 / 2), "{ticks}");
            let last = kept[kept.len() - 1].at;
            assert_eq!((kept[0].at, last), (Millis::ZERO, Millis::from_secs(ticks - 1)));
            let gaps: Vec<_> = kept.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
            let even = gaps.iter().rev().skip(1).all(|gap| *gap == gaps[0]);
            assert!(even, "{ticks}: {gaps:?}");
        }
    }
}
