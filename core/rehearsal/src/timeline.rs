//! The moments of a rehearsal that are kept: evenly spaced, and few, however long it takes; and the fullest ones, so that a
//! picture reaches as high as the numbers say. Measures nothing itself.

use crate::report::{Moment, Peak};

/// Moments kept at most. A picture has room for about a thousand; half of them go whenever there are more.
const MOMENTS_MAX: usize = 1_200;

/// What a moment can be the fullest in.
const FULLNESS: [fn(&Moment) -> u64; 3] =
    [|moment| moment.waiting, |moment| moment.line, |moment| moment.live];

/// Takes every tick's moment and keeps every n-th.
#[derive(Debug)]
pub(crate) struct Timeline {
    kept: Vec<Moment>,
    every: u64,
    noted: u64,
    last: Option<Moment>,
    /// The first moment that was as full as any, by [`FULLNESS`].
    fullest: [Option<Moment>; FULLNESS.len()],
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { kept: Vec::new(), every: 1, noted: 0, last: None, fullest: [None; 3] }
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
        for (fullest, full) in self.fullest.iter_mut().zip(FULLNESS) {
            if fullest.is_none_or(|fullest| full(&fullest) < full(&moment)) {
                *fullest = Some(moment);
            }
        }
    }

    pub(crate) fn peak(&self) -> Peak {
        let [waiting, line, live] = self.fullest.map(Option::unwrap_or_default);
        Peak { waiting: waiting.waiting, line: line.line, live: live.live }
    }

    /// The kept moments, the fullest and the very last.
    pub(crate) fn finish(mut self) -> Vec<Moment> {
        for moment in self.fullest.into_iter().chain([self.last]).flatten() {
            if let Err(at) = self.kept.binary_search_by_key(&moment.at, |kept| kept.at) {
                self.kept.insert(at, moment);
            }
        }
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
                timeline.note(Moment { at, ..Moment::default() });
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

    #[test]
    fn the_fullest_moments_are_among_them_however_many_are_left_out() {
        let mut timeline = Timeline::default();
        for tick in 0..100_000 {
            let waiting = if tick == 54_321 { 9 } else { tick % 3 };
            let (line, live) = (waiting + u64::from(tick == 3), u64::from(tick > 77_777) * 5);
            timeline.note(Moment {
                at: Millis::from_secs(tick),
                waiting,
                line,
                live,
                ..Moment::default()
            });
        }
        let peak = timeline.peak();
        assert_eq!((peak.waiting, peak.line, peak.live), (9, 9, 5));
        let kept = timeline.finish();
        assert!(kept.is_sorted_by(|a, b| a.at < b.at) && kept.len() <= MOMENTS_MAX + 4);
        let full = kept.iter().filter(|moment| moment.waiting == 9 || moment.at.0 == 77_778_000);
        assert_eq!(full.count(), 2, "the first of each");
    }
}
