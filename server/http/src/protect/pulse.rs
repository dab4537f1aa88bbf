//! When something last moved, told by whoever sees it move and asked by whoever gives up on silence. Knows no HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// One exchange's sign of life. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Pulse(Arc<Beat>);

#[derive(Debug)]
struct Beat {
    since: Instant,
    /// Milliseconds since then.
    last: AtomicU64,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Pulse(Arc::new(Beat { since: Instant::now(), last: AtomicU64::new(0) }))
    }

    /// Something moves now.
    pub(super) fn beat(&self) {
        let since = self.0.since.elapsed();
        let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        self.0.last.store(now, Ordering::Relaxed);
    }

    /// When something last moved, since the beginning.
    pub(super) fn last(&self) -> Duration {
        Duration::from_millis(self.0.last.load(Ordering::Relaxed))
    }

    /// When nothing will have moved for `limit`.
    pub(super) fn end(&self, limit: Duration) -> Instant {
        self.0.since + self.last() + limit
    }

    /// Until nothing has moved for `limit`.
    pub(super) async fn stopped(&self, limit: Duration) {
        loop {
            let end = self.end(limit);
            if Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_beat_gives_the_whole_time_again() {
        let (pulse, limit) = (Pulse::new(), Duration::from_secs(10));
        let beating = pulse.clone();
        let start = Instant::now();
        tokio::spawn(async move {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                beating.beat();
            }
        });
        pulse.stopped(limit).await;
        assert_eq!(start.elapsed(), Duration::from_secs(55));
    }
}
