//! What this node counts of a room beside its ledger: refusals by code, and how long people stayed inside. Since this
//! process began; what must outlive it is in the ledger's totals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::response::Response;
use jari_api::Code;
use jari_units::{Millis, RoomId};

use super::unlisted::Unlisted;
use crate::state::AppState;

/// Bounds of the spans inside, each about a third above the one before: a bound told for half of the people is at most
/// so far off. From a visit of a second to a whole day; what is longer counts as that.
const DWELL_BOUNDS_MS: [u64; 28] = [
    1_000, 2_000, 3_000, 4_000, 5_000, 7_000, 10_000, 13_000, 18_000, 24_000, 32_000, 43_000,
    60_000, 80_000, 107_000, 143_000, 190_000, 254_000, 340_000, 453_000, 604_000, 805_000,
    1_074_000, 1_800_000, 3_600_000, 10_800_000, 28_800_000, 86_400_000,
];

/// Codes that turn somebody away. The others tell to come at the opening, ask later, elsewhere or with a token: the
/// ordinary course.
const TURNED_AWAY: [Code; 13] = [
    Code::IdentityRequired,
    Code::Blocked,
    Code::RoomClosed,
    Code::RoomSoldOut,
    Code::TooManyJoins,
    Code::TooManyNewcomers,
    Code::Internal,
    Code::RoomFull,
    Code::Recovering,
    Code::Overloaded,
    Code::StoreUnavailable,
    Code::DeadlineExceeded,
    Code::Draining,
];

/// Lock-free: refusals are counted on the visitor's path.
#[derive(Debug)]
pub struct Counts {
    refused_by_code: [AtomicU64; Code::ALL.len()],
    dwell_count: AtomicU64,
    dwell_sum_ms: AtomicU64,
    dwell_histogram: [AtomicU64; DWELL_BOUNDS_MS.len()],
    pub(crate) unlisted: Unlisted,
}

/// Spans inside: how many, their sum, and bounds that half and nine tenths of them keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dwell {
    pub(crate) count: u64,
    pub(crate) sum: Millis,
    pub(crate) half: Millis,
    pub(crate) most: Millis,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            refused_by_code: std::array::from_fn(|_| AtomicU64::default()),
            dwell_count: AtomicU64::default(),
            dwell_sum_ms: AtomicU64::default(),
            dwell_histogram: std::array::from_fn(|_| AtomicU64::default()),
            unlisted: Unlisted::default(),
        }
    }
}

/// Counts a visitor's call that was refused, where it named a room that this node has at work.
pub(crate) fn count_refusal(state: &AppState, room: Option<&RoomId>, response: &Response) {
    let Some(code) = response.extensions().get::<Code>() else { return };
    let entry = room.and_then(|room| state.rooms.get(room));
    if let Some(runtime) = entry.as_ref().and_then(|entry| entry.loaded()) {
        runtime.counts().refused(*code);
    }
}

impl Counts {
    pub(crate) fn refused(&self, code: Code) {
        self.refused_by_code[code as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Refusals by the code told, without those that never happened.
    pub(crate) fn refused_by_code(&self) -> BTreeMap<String, u64> {
        let counts = Code::ALL.iter().map(|code| (code.as_str().to_owned(), self.of(*code)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Calls that turned somebody away.
    pub(crate) fn turned_away(&self) -> u64 {
        TURNED_AWAY.iter().map(|code| self.of(*code)).sum()
    }

    fn of(&self, code: Code) -> u64 {
        self.refused_by_code[code as usize].load(Ordering::Relaxed)
    }

    /// Adds stays that have ended.
    pub(super) fn add_dwells(&self, dwells: &[Millis]) {
        for dwell in dwells {
            let bound = DWELL_BOUNDS_MS.partition_point(|bound| *bound < dwell.0);
            let bound = bound.min(DWELL_BOUNDS_MS.len() - 1);
            self.dwell_histogram[bound].fetch_add(1, Ordering::Relaxed);
            self.dwell_sum_ms.fetch_add(dwell.0, Ordering::Relaxed);
            self.dwell_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Spans inside; `None` where nobody has finished.
    pub(crate) fn dwell(&self) -> Option<Dwell> {
        let counts = self.dwell_histogram.each_ref().map(|count| count.load(Ordering::Relaxed));
        let count: u64 = counts.iter().sum();
        let bound = |wanted: u64| {
            let mut below = 0;
            let at = counts.iter().position(|count| {
                below += count;
                below >= wanted
            });
            Millis(DWELL_BOUNDS_MS[at.unwrap_or(DWELL_BOUNDS_MS.len() - 1)])
        };
        (count > 0).then(|| Dwell {
            count,
            sum: Millis(self.dwell_sum_ms.load(Ordering::Relaxed)),
            half: bound(count.div_ceil(2)),
            most: bound((count * 9).div_ceil(10)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_by_code_and_only_some_turn_away() {
        let counts = Counts::default();
        for code in [Code::TooFast, Code::RoomFull, Code::RoomFull, Code::PassRequired] {
            counts.refused(code);
        }
        let told: Vec<_> = counts.refused_by_code().into_iter().collect();
        let want = [("pass_required", 1), ("room_full", 2), ("too_fast", 1)];
        assert_eq!(told, want.map(|(code, count)| (code.to_owned(), count)));
        assert_eq!(counts.turned_away(), 2);
    }

    #[test]
    fn every_code_has_a_place_of_its_own() {
        for (at, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, at, "{}", code.as_str());
        }
    }

    #[test]
    fn half_and_most_are_bounds_that_hold() {
        let counts = Counts::default();
        assert_eq!(counts.dwell(), None);
        counts.add_dwells(&[Millis(900), Millis(2_500), Millis(40_000), Millis(9_999_999_999)]);
        let dwell = counts.dwell().expect("four have finished");
        assert_eq!((dwell.count, dwell.half, dwell.most), (4, Millis(3_000), Millis(86_400_000)));
        assert!(DWELL_BOUNDS_MS.is_sorted());
    }
}
