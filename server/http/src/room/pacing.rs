//! Holds visitors to the poll interval they were told. Memory of the last polls only; nothing is stored.

use std::time::Duration;

use jari_units::{Millis, Seq};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

/// Locks that polls spread over, so that two polls seldom meet.
const SHARDS: usize = 16;
/// Polls that may come at once beyond the pace: a reload, a second tab, a retry after a lost answer.
const BURST: u64 = 4;
/// A place is forgotten one to two of these after its last poll; longer than any debt a place can run up
/// (`BURST` times half the longest interval, a third of the shortest windows in use).
const GENERATION: Duration = Duration::from_secs(60);
/// Places remembered per shard and generation: bounds memory at some 50 MB a room; beyond it the older half is forgotten,
/// which errs for the visitor.
const GENERATION_MAX: usize = 65_536;

/// When each place may poll again, by the generic cell rate algorithm (ITU-T I.371): a place that keeps to half of the
/// directed interval never runs into it.
#[derive(Debug)]
pub(crate) struct PollPacing {
    epoch: Instant,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    since_ms: u64,
    new: FxHashMap<Seq, u64>,
    old: FxHashMap<Seq, u64>,
}

impl PollPacing {
    pub(crate) fn new() -> Self {
        PollPacing { epoch: Instant::now(), shards: Default::default() }
    }

    /// Notes a poll of a place directed to ask every `interval`.
    ///
    /// # Errors
    /// How long it should have waited, where it asked too soon; the poll then counts for nothing.
    pub(crate) fn poll(&self, seq: Seq, interval: Millis) -> Result<(), Millis> {
        let now = u64::try_from(self.epoch.elapsed().as_millis()).expect("uptime below 500M years");
        self.shards[(seq % SHARDS as u64) as usize].lock().poll(seq, interval, now)
    }
}

impl Shard {
    fn poll(&mut self, seq: Seq, interval: Millis, now: u64) -> Result<(), Millis> {
        let generation = GENERATION.as_millis() as u64;
        if now - self.since_ms >= generation || self.new.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.new);
            self.since_ms = now;
        }
        // Half of what was directed, so that early timers and jitter are never punished.
        let pace = interval.0 / 2;
        let allowed = now + (BURST + 1) * pace;
        let due = self.new.get(&seq).or_else(|| self.old.get(&seq)).copied().unwrap_or(0);
        // Who comes near the front asks more often from now on, whatever was run up at the slower pace.
        let due = due.clamp(now, allowed);
        let next = due + pace;
        if next > allowed {
            self.new.insert(seq, due);
            return Err(Millis(next - allowed));
        }
        self.new.insert(seq, next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTED: Millis = Millis(2_000);

    #[test]
    fn who_keeps_to_the_interval_is_never_refused() {
        let mut shard = Shard::default();
        for n in 0..1_000 {
            assert_eq!(shard.poll(7, DIRECTED, n * 1_000), Ok(()), "poll {n} at half the interval");
        }
    }

    #[test]
    fn a_burst_is_allowed_then_the_pace_holds() {
        let mut shard = Shard::default();
        let at_once = (0..20).filter(|_| shard.poll(7, DIRECTED, 500).is_ok()).count();
        assert_eq!(at_once, BURST as usize + 1);
        assert_eq!(shard.poll(7, DIRECTED, 600), Err(Millis(900)));
        assert_eq!(shard.poll(7, DIRECTED, 1_500), Ok(()));
        assert_eq!(shard.poll(8, DIRECTED, 600), Ok(()), "others are not held to it");
    }

    #[test]
    fn a_debt_of_the_far_back_does_not_follow_to_the_front() {
        let mut shard = Shard::default();
        while shard.poll(7, Millis(10_000), 1_000).is_ok() {}
        assert_eq!(shard.poll(7, Millis(1_000), 1_100), Err(Millis(500)));
        assert_eq!(shard.poll(7, Millis(1_000), 1_600), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_a_turn_of_generations_forgives_nobody() {
        let mut shard = Shard::default();
        while shard.poll(7, DIRECTED, 59_999).is_ok() {}
        assert!(shard.poll(7, DIRECTED, 60_000).is_err(), "remembered over the turn");
        (0..300_000).for_each(|seq| _ = shard.poll(seq, DIRECTED, 61_000));
        assert!(shard.new.len() + shard.old.len() <= 2 * GENERATION_MAX);
    }
}
