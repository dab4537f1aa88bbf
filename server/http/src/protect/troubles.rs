//! Tells the operator why the site gives no answer: now and then, for a site that is down is asked by everybody. Decides
//! nothing.

use std::error::Error;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines of the log for the same reason are at least so far apart.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Why there is no answer, as far as lines of the log are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Unreachable,
    Broken,
    /// What came is no HTTP, or has too large a head.
    NotHttp,
    Slow,
}

impl Reason {
    const COUNT: usize = 4;

    fn as_str(self) -> &'static str {
        match self {
            Reason::Unreachable => "unreachable",
            Reason::Broken => "broken",
            Reason::NotHttp => "not_http",
            Reason::Slow => "slow",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Troubles([Mutex<Told>; Reason::COUNT]);

#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    left_out: u64,
}

impl Troubles {
    /// A request got no answer.
    pub(super) fn note(&self, reason: Reason, why: &str) {
        let Some(left_out) = self.due(reason) else { return };
        let reason = reason.as_str();
        tracing::warn!(
            reason,
            why,
            left_out,
            "the site gave no answer ({reason}): {why}; {left_out} more like it since the last such line"
        );
    }

    /// How many were left out since the last line, where another is due.
    fn due(&self, reason: Reason) -> Option<u64> {
        let mut told = self.0[reason as usize].lock();
        if told.last.is_some_and(|last| last.elapsed() < LINE_EVERY) {
            told.left_out += 1;
            return None;
        }
        told.last = Some(Instant::now());
        Some(std::mem::take(&mut told.left_out))
    }
}

/// An error with what caused it: the outer one alone says little.
pub(super) fn in_full(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| (**error).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_told_now_and_then_with_how_many_were_left_out() {
        let troubles = Troubles::default();
        assert_eq!(troubles.due(Reason::Broken), Some(0));
        for _ in 0..3 {
            assert_eq!(troubles.due(Reason::Broken), None);
        }
        assert_eq!(troubles.due(Reason::Slow), Some(0), "another reason is told at once");
        tokio::time::advance(LINE_EVERY).await;
        assert_eq!(troubles.due(Reason::Broken), Some(3));
        assert_eq!(troubles.due(Reason::Broken), None);
    }
}
