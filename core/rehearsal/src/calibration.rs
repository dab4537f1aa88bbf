//! How often the truth lay within the range that people were shown.

use std::collections::BTreeMap;

use jari_line::Estimate;
use jari_units::{Millis, Seq};

/// The tally of an estimate's range against what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Ranges shown to people whose turn then came.
    pub shown: u64,
    /// The turn came within the range.
    pub within: u64,
    pub sooner: u64,
    pub later: u64,
    /// Half of the ranges were at most this wide.
    pub median_width: Millis,
}

impl Calibration {
    /// The share of ranges that held, 0 to 1; 1 where none was shown.
    #[must_use]
    pub fn share_within(&self) -> f64 {
        if self.shown == 0 { 1.0 } else { self.within as f64 / self.shown as f64 }
    }
}

/// Ranges shown and not yet settled.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    open: BTreeMap<Seq, Vec<(Millis, Estimate)>>,
    tally: Calibration,
    widths: Vec<Millis>,
}

impl Shown {
    pub(crate) fn note(&mut self, seq: Seq, at: Millis, estimate: Estimate) {
        self.open.entry(seq).or_default().push((at, estimate));
    }

    /// Places up to `seq` with ranges still open.
    pub(crate) fn open_up_to(&self, seq: Seq) -> Vec<Seq> {
        self.open.range(..=seq).map(|(seq, _)| *seq).collect()
    }

    /// The turn of `seq` came at `now`.
    pub(crate) fn came(&mut self, seq: Seq, now: Millis) {
        for (at, Estimate { low, high }) in self.open.remove(&seq).unwrap_or_default() {
            let wait = now - at;
            self.tally.shown += 1;
            if wait < low {
                self.tally.sooner += 1;
            } else if wait > high {
                self.tally.later += 1;
            } else {
                self.tally.within += 1;
            }
            self.widths.push(high - low);
        }
    }

    /// The person left: nobody will know.
    pub(crate) fn drop(&mut self, seq: Seq) {
        self.open.remove(&seq);
    }

    pub(crate) fn finish(mut self) -> Calibration {
        self.widths.sort_unstable();
        let median_width = self.widths.get(self.widths.len() / 2).copied().unwrap_or_default();
        Calibration { median_width, ..self.tally }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_up_to_both_its_ends() {
        let mut shown = Shown::default();
        let estimate = Estimate { low: Millis(10), high: Millis(20) };
        for (seq, came) in [(1, 9), (2, 10), (3, 20), (4, 21), (5, 15)] {
            shown.note(seq, Millis::ZERO, estimate);
            if seq == 5 {
                shown.drop(seq);
            }
            shown.came(seq, Millis(came));
        }
        let tally = shown.finish();
        assert_eq!((tally.shown, tally.within, tally.sooner, tally.later), (4, 2, 1, 1));
        assert_eq!(tally.median_width, Millis(10));
    }
}
