//! A pace for each of any number of clients, in a fixed table instead of a map: its memory does not grow with whoever
//! comes, and nobody waits for a lock. What is counted, and who is one client, is for whoever asks.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use jari_ports::Entropy;
use jari_units::Millis;
use rustc_hash::FxHasher;
use tokio::time::Instant;

/// Cells, 1 MB in all. Two clients that meet in one share its limit, which is generous; with 10,000 busy clients
/// one in thirteen does. Nobody outside can choose to meet another: the cell hangs on a secret seed.
const CELLS: usize = 131_072;

/// Microseconds: a minute's limit of more than a million still has a pace.
pub(crate) const PER_MINUTE: u64 = 60_000_000;
pub(crate) const PER_SECOND: u64 = 1_000_000;

/// So many in a span, and so many at once after a quiet time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// In the long run; 0: no limit, and no table.
    pub(crate) count: u32,
    /// Microseconds.
    pub(crate) span: u64,
    pub(crate) burst: u32,
}

#[derive(Debug)]
pub(crate) struct RateCells {
    pace: Pace,
    seed: u64,
    epoch: Instant,
    /// When the next one of a client would be due at the steady pace (microseconds since `epoch`).
    cells: Box<[AtomicU64]>,
}

impl RateCells {
    #[must_use]
    pub(crate) fn new(pace: Pace, entropy: &dyn Entropy) -> Self {
        let mut seed = [0; 8];
        entropy.fill(&mut seed);
        let cells = if pace.count == 0 { 0 } else { CELLS };
        let cells = (0..cells).map(|_| AtomicU64::new(0)).collect();
        RateCells { pace, seed: u64::from_le_bytes(seed), epoch: Instant::now(), cells }
    }

    /// Counts one of `client`.
    ///
    /// # Errors
    /// How long the client should wait before the next one; this one does not count.
    pub(crate) fn count(&self, client: impl Hash) -> Result<(), Millis> {
        if self.cells.is_empty() {
            return Ok(());
        }
        let now = u64::try_from(self.epoch.elapsed().as_micros()).expect("uptime below 500k years");
        let burst = u64::from(self.pace.burst.max(1));
        take(&self.cells[self.cell(client)], now, self.micros_each(), burst)
    }

    /// Takes back one that was counted and came to nothing.
    pub(crate) fn give_back(&self, client: impl Hash) {
        if self.cells.is_empty() {
            return;
        }
        let sooner = |due: u64| Some(due.saturating_sub(self.micros_each()));
        let cell = &self.cells[self.cell(client)];
        _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sooner);
    }

    fn micros_each(&self) -> u64 {
        (self.pace.span / u64::from(self.pace.count)).max(1)
    }

    fn cell(&self, client: impl Hash) -> usize {
        let mut hasher = FxHasher::default();
        // Before and after: what is hashed last decides most.
        hasher.write_u64(self.seed);
        client.hash(&mut hasher);
        hasher.write_u64(self.seed);
        (hasher.finish() % CELLS as u64) as usize
    }
}

/// Counts one more at a steady pace, or says how long it is too early. `cell` holds when the next one is due; the pace and
/// the times are microseconds, `burst` is how many may come at once.
pub(crate) fn take(cell: &AtomicU64, now: u64, pace: u64, burst: u64) -> Result<(), Millis> {
    let allowed = now + pace * burst;
    let step = |due: u64| {
        let next = due.max(now) + pace;
        (next <= allowed).then_some(next)
    };
    match cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
        Ok(_) => Ok(()),
        Err(due) => Err(Millis((due.max(now) + pace - allowed).div_ceil(1_000))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::jitter::tests::Fixed;

    fn cells(count: u32, burst: u32) -> RateCells {
        RateCells::new(Pace { count, span: PER_MINUTE, burst }, &Fixed(9))
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_then_the_steady_pace() {
        let cells = cells(60, 10);
        assert_eq!((0..50).filter(|_| cells.count(1_u128).is_ok()).count(), 10);
        assert_eq!(cells.count(1_u128), Err(Millis(1_000)));
        assert_eq!(cells.count(2_u128), Ok(()), "others are not held to it");
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!((0..50).filter(|_| cells.count(1_u128).is_ok()).count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_back_may_be_taken_again_and_no_more() {
        let cells = cells(60, 10);
        assert_eq!((0..50).filter(|_| cells.count(1_u128).is_ok()).count(), 10);
        (0..3).for_each(|_| cells.give_back(1_u128));
        assert_eq!((0..50).filter(|_| cells.count(1_u128).is_ok()).count(), 3);
        tokio::time::advance(Duration::from_secs(600)).await;
        (0..30).for_each(|_| cells.give_back(1_u128));
        assert_eq!((0..50).filter(|_| cells.count(1_u128).is_ok()).count(), 10, "the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn zero_is_no_limit_and_takes_no_memory() {
        let cells = cells(0, 0);
        assert!((0..10_000).all(|_| cells.count(1_u128).is_ok()));
        assert!(cells.cells.is_empty());
    }

    #[test]
    fn clients_spread_over_the_cells() {
        let table = cells(60, 1);
        let neighbours = (0..4_096_u128).map(|no| table.cell(0xffff_0a00_0000 + no));
        let nets = (0..4_096_u128).map(|no| table.cell(0x2001_0db8 << 96 | no << 64));
        let passes = (0..4_096_u64).map(|seq| table.cell(("shop", 1_u64, seq)));
        for (what, found) in [
            ("addresses", neighbours.collect::<std::collections::HashSet<usize>>()),
            ("IPv6 nets", nets.collect()),
            ("passes", passes.collect()),
        ] {
            assert!(found.len() > 3_900, "{what}: {} of 4,096 apart", found.len());
        }
    }
}
