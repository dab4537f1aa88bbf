//! The breaker: a server that does not answer is left alone for a while, and tried again by one caller at a time.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Failure;
use crate::limits::{BREAKER_FAILURES, RETRY_FIRST, RETRY_MAX};

/// Half of the pause is by chance. The keys of the standard hasher differ by process and by use: enough to spread nodes.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let chance = RandomState::new().build_hasher().finish() >> 32;
    pause / 2 + (pause / 2).mul_f64(chance as f64 / f64::from(u32::MAX))
}

/// The pause after so many failures in a row.
pub(crate) fn pause_after(failures: u32) -> Duration {
    jittered(RETRY_FIRST.saturating_mul(1 << failures.min(16)).min(RETRY_MAX))
}

#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// Nobody tries before.
    closed_until: Option<Instant>,
    /// What the last failure said, and whether it was that nothing was said: refused calls are of the same kind.
    reason: String,
    silent: bool,
}

impl Breaker {
    /// Why a call should not be tried now, and whether that is the server's silence. Whoever is let in while the breaker is
    /// open holds others off for a moment.
    pub(crate) fn refusal(&mut self, now: Instant) -> Option<(String, bool)> {
        let until = self.closed_until?;
        if now < until {
            let ms = (until - now).as_millis();
            return Some((format!("{}; tried again in {ms} ms", self.reason), self.silent));
        }
        self.closed_until = Some(now + pause_after(0));
        None
    }

    /// Nothing has failed since the last answer.
    pub(crate) fn is_well(&self) -> bool {
        self.failures == 0
    }

    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
        self.closed_until = None;
    }

    /// A call or a connection that brought no answer; a failed connection says it all at once.
    pub(crate) fn failed(&mut self, now: Instant, failure: &Failure, connecting: bool) {
        self.failures = self.failures.saturating_add(1);
        failure.text.clone_into(&mut self.reason);
        self.silent = failure.silent;
        let told = if connecting { 1 } else { BREAKER_FAILURES };
        if self.failures >= told {
            self.closed_until = Some(now + pause_after(self.failures - told));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_failures_in_a_row_and_lets_one_try() {
        let mut breaker = Breaker::default();
        let start = Instant::now();
        for _ in 1..BREAKER_FAILURES {
            breaker.failed(start, &Failure::silence("no answer".into()), false);
            assert_eq!(breaker.refusal(start), None, "a lost answer is no outage");
        }
        breaker.failed(start, &Failure::silence("no answer".into()), false);
        let (refusal, silent) = breaker.refusal(start).expect("open");
        assert!(silent && refusal.starts_with("no answer; tried again in"), "{refusal}");
        let later = start + RETRY_FIRST;
        assert_eq!(breaker.refusal(later), None, "one tries");
        assert!(breaker.refusal(later).is_some(), "the others wait for it");
        breaker.succeeded();
        assert_eq!(breaker.refusal(later), None);
    }

    #[test]
    fn pauses_grow_to_their_limit() {
        for (failures, longest) in [(0, RETRY_FIRST), (3, RETRY_FIRST * 8), (40, RETRY_MAX)] {
            let pause = pause_after(failures);
            assert!(pause >= longest / 2 && pause <= longest, "{failures}: {pause:?}");
        }
    }

    #[test]
    fn a_failed_connection_opens_at_once() {
        let mut breaker = Breaker::default();
        let start = Instant::now();
        let refused = Failure { silent: false, ..Failure::silence("refused".into()) };
        breaker.failed(start, &refused, true);
        assert!(breaker.refusal(start).is_some_and(|(_, silent)| !silent));
    }
}
