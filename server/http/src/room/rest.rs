//! A task that sleeps while its room has nothing for it, and whoever brings something wakes it. Costs those who do one
//! look at a flag.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Rest {
    resting: AtomicBool,
    woken: Notify,
}

impl Rest {
    /// Something was brought. Call it after it can be seen.
    pub(crate) fn stir(&self) {
        if self.resting.load(Ordering::SeqCst) && self.resting.swap(false, Ordering::SeqCst) {
            self.woken.notify_one();
        }
    }

    /// Sleeps while `nothing` holds, until stirred.
    pub(crate) async fn while_nothing(&self, nothing: impl Fn() -> bool) {
        while nothing() {
            self.resting.store(true, Ordering::SeqCst);
            // What came before the flag was raised stirred nobody.
            if !nothing() {
                self.resting.store(false, Ordering::SeqCst);
                return;
            }
            self.woken.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn it_rests_until_stirred_and_not_where_something_is_there() {
        let (rest, things) = (Arc::new(Rest::default()), Arc::new(AtomicU32::new(1)));
        let nothing = || things.load(Ordering::SeqCst) == 0;
        rest.while_nothing(nothing).await;
        things.store(0, Ordering::SeqCst);
        let mut resting = Box::pin(rest.while_nothing(nothing));
        assert!(resting.as_mut().now_or_never().is_none());
        rest.stir();
        assert!(resting.as_mut().now_or_never().is_none(), "there is still nothing");
        things.store(1, Ordering::SeqCst);
        rest.stir();
        resting.await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_that_is_brought_is_overlooked() {
        let (rest, things) = (Arc::new(Rest::default()), Arc::new(AtomicU32::new(0)));
        let taker = tokio::spawn({
            let (rest, things) = (rest.clone(), things.clone());
            async move {
                let mut taken = 0;
                while taken < 20_000 {
                    rest.while_nothing(|| things.load(Ordering::SeqCst) == 0).await;
                    taken += things.swap(0, Ordering::SeqCst);
                }
            }
        });
        for _ in 0..20_000 {
            things.fetch_add(1, Ordering::SeqCst);
            rest.stir();
            if things.load(Ordering::SeqCst).is_multiple_of(7) {
                tokio::task::yield_now().await;
            }
        }
        tokio::time::timeout(std::time::Duration::from_secs(30), taker)
            .await
            .expect("it is always woken")
            .expect("no panic");
    }
}
