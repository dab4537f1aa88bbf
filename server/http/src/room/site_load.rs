//! How the site behind a room's gate is doing, measured by this node's own requests to it: what the `signal` pacer is told.
//! Sends nothing but that word.

use std::time::Duration;

use jari_line::{Load, PacerKind, Signal, SignalOutcome, Source};
use jari_ports::StoreError;
use jari_units::Millis;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::RoomRuntime;

/// Seconds looked at: long enough for a mean at a few requests a second, short against what a crowd can do.
const WINDOW_S: usize = 5;
/// Fewer answers than this say nothing.
const ANSWERS_MIN: u64 = 20;
/// One answer in so many is the slowest twentieth: p95.
const TWENTIETH: u64 = 20;
/// A word counts for so long: two windows, so that one lost call is not taken for silence.
const SAID_FOR: Millis = Millis(10_000);

/// Answers of one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    at: u64,
    all: u64,
    slow: u64,
    /// Twice as slow.
    very_slow: u64,
    failed: u64,
}

#[derive(Debug)]
pub(super) struct SiteLoad {
    epoch: Instant,
    seconds: Mutex<[Second; WINDOW_S]>,
}

impl SiteLoad {
    pub(super) fn new() -> Self {
        SiteLoad { epoch: Instant::now(), seconds: Mutex::default() }
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_secs()
    }

    fn note(&self, slow: Millis, took: Duration, failed: bool) {
        let at = self.now();
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut seconds = self.seconds.lock();
        let second = &mut seconds[(at % WINDOW_S as u64) as usize];
        if second.at != at {
            *second = Second { at, ..Second::default() };
        }
        second.all += 1;
        second.slow += u64::from(took >= slow.0);
        second.very_slow += u64::from(took >= slow.0.saturating_mul(2));
        second.failed += u64::from(failed);
    }

    fn window(&self) -> Second {
        let now = self.now();
        let seconds = self.seconds.lock();
        let age = |second: &Second| now.saturating_sub(second.at);
        let recent = seconds.iter().filter(|second| age(second) < WINDOW_S as u64);
        recent.fold(Second::default(), |sum, second| Second {
            at: now,
            all: sum.all + second.all,
            slow: sum.slow + second.slow,
            very_slow: sum.very_slow + second.very_slow,
            failed: sum.failed + second.failed,
        })
    }

    /// Nothing was asked of the site lately.
    pub(super) fn is_quiet(&self) -> bool {
        self.window().all == 0
    }

    /// What the last seconds say; `None` where they were too few answers.
    fn load(&self, errors_percent: u64) -> Option<Load> {
        let Second { all, slow, very_slow, failed, .. } = self.window();
        if all < ANSWERS_MIN {
            return None;
        }
        Some(if failed * 100 >= all * errors_percent || very_slow * TWENTIETH >= all {
            Load::Overloaded
        } else if slow * TWENTIETH >= all {
            Load::Busy
        } else {
            Load::Ok
        })
    }
}

impl RoomRuntime {
    /// The site answered a request that this room's gate let through, after so long, or failed to.
    pub(crate) fn note_site(&self, took: Duration, failed: bool) {
        if let Some(Signal { slow: Some(slow), .. }) = self.heeded() {
            self.site.note(slow, took, failed);
            self.collecting.stir();
        }
    }

    /// Says how the site is doing: by the tenant's word, or this node's own.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn signal(
        &self,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Result<SignalOutcome, StoreError> {
        let reply = self.operations.signal(source, load, span).await?;
        self.settled(reply).await
    }

    /// Tells what this node has measured.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn tell_site_load(&self) -> Result<(), StoreError> {
        let Some(Signal { errors_percent, .. }) = self.heeded() else { return Ok(()) };
        let Some(load) = self.site.load(errors_percent) else { return Ok(()) };
        self.operations.signal(self.operations.node(), load, SAID_FOR).await.map(|_| ())
    }

    /// The pacer's parameters where it heeds signals.
    fn heeded(&self) -> Option<Signal> {
        self.read(|live| match live.ledger().settings().pacer {
            PacerKind::Signal(signal) => Some(signal),
            PacerKind::Fixed | PacerKind::Aimd(_) | PacerKind::Manual => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Millis = Millis(100);

    fn note(site: &SiteLoad, count: u64, ms: u64, failed: bool) {
        (0..count).for_each(|_| site.note(SLOW, Duration::from_millis(ms), failed));
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_twentieth_and_the_errors_say_it() {
        for (fast, slow, very_slow, failed, want) in [
            (19, 0, 0, 0, None),
            (20, 0, 0, 0, Some(Load::Ok)),
            (96, 4, 0, 0, Some(Load::Ok)),
            (95, 5, 0, 0, Some(Load::Busy)),
            (95, 1, 4, 0, Some(Load::Busy)),
            (95, 0, 5, 0, Some(Load::Overloaded)),
            (91, 0, 0, 9, Some(Load::Ok)),
            (90, 0, 0, 10, Some(Load::Overloaded)),
        ] {
            let site = SiteLoad::new();
            note(&site, fast, 5, false);
            note(&site, slow, 100, false);
            note(&site, very_slow, 200, false);
            note(&site, failed, 1, true);
            assert_eq!(site.load(10), want, "{fast} {slow} {very_slow} {failed}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_older_than_the_window_is_forgotten() {
        let site = SiteLoad::new();
        note(&site, 30, 500, false);
        tokio::time::advance(Duration::from_secs(4)).await;
        note(&site, 30, 1, false);
        assert_eq!(site.load(10), Some(Load::Overloaded));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(site.load(10), Some(Load::Ok));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!((site.load(10), site.is_quiet()), (None, true));
    }
}
