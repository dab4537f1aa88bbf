//! The clock by which HTTP/1 watches for a request's head: its deadline is set for each request and hardly ever comes, so one
//! timer does for all of a connection's.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

use crate::alarm::Alarm;

/// Of one connection. What it lends comes back when it is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadTimer(Arc<Mutex<Option<Alarm>>>);

#[derive(Debug)]
struct HeadSleep {
    /// `None` only once it is dropped.
    alarm: Option<Alarm>,
    timer: HeadTimer,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let kept = self.0.lock().take();
        let alarm = match kept {
            Some(mut alarm) => {
                alarm.set(deadline.into());
                alarm
            }
            None => Alarm::new(deadline.into()),
        };
        Box::pin(HeadSleep { alarm: Some(alarm), timer: self.clone() })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.alarm.as_mut().map_or(Poll::Ready(()), |alarm| alarm.poll(cx))
    }
}

impl Drop for HeadSleep {
    fn drop(&mut self) {
        *self.timer.0.lock() = self.alarm.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn each_head_has_its_own_deadline_though_the_timer_is_one() {
        let (timer, start) = (HeadTimer::default(), tokio::time::Instant::now());
        drop(timer.sleep(LIMIT));
        assert!(timer.0.lock().is_some(), "it is kept for the next");
        tokio::time::advance(LIMIT / 2).await;
        timer.sleep(LIMIT).await;
        assert_eq!(start.elapsed(), LIMIT * 3 / 2);
        timer.sleep(LIMIT / 10).await;
        assert_eq!(start.elapsed(), LIMIT * 8 / 5);
        let two = [timer.sleep(LIMIT), timer.sleep(LIMIT * 2)];
        futures_util::future::join_all(two).await;
        assert_eq!(start.elapsed(), LIMIT * 18 / 5, "one beside another has its own");
    }
}
