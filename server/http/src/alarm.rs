//! A deadline that is moved at each sign of life and seldom comes. Knows nothing of what it is for.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// Moving it on costs no look at the runtime's timers: the one behind it stays where it was, and is set anew when it rings
/// too early.
#[derive(Debug)]
pub(crate) struct Alarm {
    at: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Alarm {
    pub(crate) fn new(at: Instant) -> Self {
        Alarm { at, timer: Box::pin(sleep_until(at)) }
    }

    /// Moves it to `at`.
    pub(crate) fn set(&mut self, at: Instant) {
        self.at = at;
        if at < self.timer.deadline() {
            self.timer.as_mut().reset(at);
        }
    }

    /// Ready once its time has come, until it is set anew.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.at <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn it_rings_when_it_was_last_set_to() {
        let start = Instant::now();
        let mut alarm = Alarm::new(start + LIMIT);
        for (set, want) in [(LIMIT * 3, LIMIT * 3), (LIMIT * 5, LIMIT * 5), (LIMIT, LIMIT * 5)] {
            alarm.set(start + set);
            poll_fn(|cx| alarm.poll(cx)).await;
            assert_eq!(start.elapsed(), want, "set to {set:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_nearer_time_counts_at_once() {
        let start = Instant::now();
        let mut alarm = Alarm::new(start + LIMIT * 6);
        assert!(poll_fn(|cx| Poll::Ready(alarm.poll(cx))).await.is_pending());
        alarm.set(start + LIMIT);
        poll_fn(|cx| alarm.poll(cx)).await;
        assert_eq!(start.elapsed(), LIMIT);
    }
}
