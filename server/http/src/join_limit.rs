//! Joins per client address. A fixed table instead of a map: its memory does not grow with whoever comes, and no join
//! waits for a lock.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use jari_ports::Entropy;
use jari_units::Millis;
use rustc_hash::FxHasher;
use tokio::time::Instant;

use crate::client_address::limit_key;
use crate::options::JoinLimit;

/// Cells, 1 MB in all. Two addresses that meet in one share its limit, which is generous; with 10,000 busy addresses
/// one in thirteen does. Nobody outside can choose to meet another: the cell hangs on a secret seed.
const CELLS: usize = 131_072;

/// Microseconds: a minute's limit of more than a million still has a pace.
pub(crate) const PER_MINUTE: u64 = 60_000_000;

#[derive(Debug)]
pub struct JoinLimiter {
    limit: JoinLimit,
    seed: u64,
    epoch: Instant,
    /// When the next join of an address would be due at the steady pace (microseconds since `epoch`).
    cells: Box<[AtomicU64]>,
}

impl JoinLimiter {
    #[must_use]
    pub fn new(limit: JoinLimit, entropy: &dyn Entropy) -> Self {
        let mut seed = [0; 8];
        entropy.fill(&mut seed);
        let cells = (0..CELLS).map(|_| AtomicU64::new(0)).collect();
        JoinLimiter { limit, seed: u64::from_le_bytes(seed), epoch: Instant::now(), cells }
    }

    /// Counts a join from `address`.
    ///
    /// # Errors
    /// How long the address should wait before the next one; this one does not count.
    pub fn join(&self, address: IpAddr) -> Result<(), Millis> {
        if self.limit.per_minute == 0 {
            return Ok(());
        }
        let now = u64::try_from(self.epoch.elapsed().as_micros()).expect("uptime below 500k years");
        let pace = PER_MINUTE / u64::from(self.limit.per_minute);
        take(&self.cells[self.cell(address)], now, pace, u64::from(self.limit.burst.max(1)))
    }

    fn cell(&self, address: IpAddr) -> usize {
        use std::hash::Hasher;
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.seed);
        hasher.write_u128(limit_key(address) ^ u128::from(self.seed) << 64);
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

    fn limiter(per_minute: u32, burst: u32) -> JoinLimiter {
        JoinLimiter::new(JoinLimit { per_minute, burst }, &Fixed(9))
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_then_the_steady_pace() {
        let limiter = limiter(60, 10);
        assert_eq!((0..50).filter(|_| limiter.join(address(1)).is_ok()).count(), 10);
        assert_eq!(limiter.join(address(1)), Err(Millis(1_000)));
        assert_eq!(limiter.join(address(2)), Ok(()), "others are not held to it");
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!((0..50).filter(|_| limiter.join(address(1)).is_ok()).count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn zero_is_no_limit() {
        let limiter = limiter(0, 0);
        assert!((0..10_000).all(|_| limiter.join(address(1)).is_ok()));
    }

    #[test]
    fn addresses_spread_over_the_cells() {
        let limiter = limiter(60, 1);
        let cells: std::collections::HashSet<usize> = (0..=255u8)
            .flat_map(|a| (0..=15u8).map(move |b| IpAddr::from([10, 0, b, a])))
            .map(|address| limiter.cell(address))
            .collect();
        assert!(cells.len() > 3_900, "{} of 4,096 apart", cells.len());
    }
}
