//! A histogram of times that any number of threads note without waiting for each other. Names nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// From a cached answer to the request deadline.
pub(super) const CALL_BUCKETS_S: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 2.5, 10.0];
/// From an operation in memory to a disk that stalls.
pub(super) const STORE_BUCKETS_S: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0, 5.0];
/// From one stream to all of a full node, and the goals for them: 50 ms, 400 ms.
pub(super) const NOTICE_BUCKETS_S: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0, 5.0];
/// From who only looks to the longest pass that makes sense.
pub(super) const DWELL_BUCKETS_S: &[f64] =
    &[5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0];

#[derive(Debug)]
pub(crate) struct Latency {
    bounds_s: &'static [f64],
    /// One more than there are bounds.
    counts: Box<[AtomicU64]>,
    /// Enough for five hundred years.
    sum_ns: AtomicU64,
}

/// What a histogram held at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    pub(super) sum_s: f64,
    /// Upper bound and count of each bucket alone; the last bound is infinite.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl Latency {
    pub(crate) fn new(bounds_s: &'static [f64]) -> Self {
        let counts = (0..=bounds_s.len()).map(|_| AtomicU64::new(0)).collect();
        Latency { bounds_s, counts, sum_ns: AtomicU64::new(0) }
    }

    pub(crate) fn note(&self, took: Duration) {
        self.note_many(took, 1);
    }

    /// So many took so long.
    pub(crate) fn note_many(&self, took: Duration, count: u64) {
        let seconds = took.as_secs_f64();
        // A dozen at most: looking from the left is as quick as anything.
        let bucket = self.bounds_s.iter().position(|bound| seconds <= *bound);
        self.counts[bucket.unwrap_or(self.bounds_s.len())].fetch_add(count, Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).saturating_mul(count);
        self.sum_ns.fetch_add(nanos, Relaxed);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let bounds = self.bounds_s.iter().copied().chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let sum_s = Duration::from_nanos(self.sum_ns.load(Relaxed)).as_secs_f64();
        Snapshot { sum_s, buckets: bounds.zip(counts).collect() }
    }
}

impl Snapshot {
    /// Of the buckets, so that the two never disagree.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The same bounds without a time.
    pub(super) fn emptied(&self) -> Snapshot {
        let buckets = self.buckets.iter().map(|(bound, _)| (*bound, 0));
        Snapshot { sum_s: 0.0, buckets: buckets.collect() }
    }

    /// Adds what is in `now` and was not in `before`, both of the same bounds.
    pub(super) fn add_since(&mut self, before: &Snapshot, now: &Snapshot) {
        self.sum_s += (now.sum_s - before.sum_s).max(0.0);
        for ((mine, old), new) in self.buckets.iter_mut().zip(&before.buckets).zip(&now.buckets) {
            mine.1 += new.1.saturating_sub(old.1);
        }
    }

    /// Takes the higher of each number.
    pub(super) fn raise(&mut self, other: &Snapshot) {
        self.sum_s = self.sum_s.max(other.sum_s);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.1 = mine.1.max(theirs.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_the_first_bucket_that_holds_them() {
        let latency = Latency::new(&[0.001, 0.01]);
        for micros in [0, 1_000, 1_001, 10_000] {
            latency.note(Duration::from_micros(micros));
        }
        latency.note_many(Duration::from_millis(500), 3);
        let snapshot = latency.snapshot();
        let counts: Vec<u64> = snapshot.buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts, snapshot.count()), (vec![2, 2, 3], 7));
        assert!((snapshot.sum_s - 1.512_001).abs() < 1e-9, "{}", snapshot.sum_s);
    }

    #[test]
    fn what_came_since_is_added_and_never_taken_away() {
        let latency = Latency::new(&[0.001, 0.01]);
        latency.note(Duration::from_millis(250));
        let before = latency.snapshot();
        latency.note_many(Duration::from_millis(500), 2);
        let mut sum = before.emptied();
        sum.add_since(&before, &latency.snapshot());
        assert_eq!((sum.count(), sum.sum_s), (2, 1.0));
        // Two scrapes at once may bring the older look last.
        sum.add_since(&latency.snapshot(), &before);
        assert_eq!((sum.count(), sum.sum_s), (2, 1.0));
        let mut highest = before.clone();
        highest.raise(&latency.snapshot());
        highest.raise(&before);
        assert_eq!(highest, latency.snapshot());
    }

    #[test]
    fn bounds_rise() {
        for bounds in [CALL_BUCKETS_S, STORE_BUCKETS_S, NOTICE_BUCKETS_S, DWELL_BUCKETS_S] {
            assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        }
    }
}
