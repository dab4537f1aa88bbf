//! Connections to the site, in a pool for each worker: a connection is read and written by the thread that opened it. All of
//! them together stay within the site's limit.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use tokio::time::{Instant, sleep};

use super::open_count::OpenCount;
use super::options::{UpstreamLimits, UpstreamTls};
use super::pool::{NoConnection, Pool, Taken};
use crate::alarm::Alarm;

/// Where all are open and none is kept, one is on its way back: it is looked for again so soon.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Pools {
    /// One for each worker.
    pools: Vec<Pool>,
    open: Arc<OpenCount>,
    limit: Duration,
}

impl Pools {
    /// As [`Pool::new`], for so many workers.
    pub(super) fn new(
        site: &Uri,
        limits: UpstreamLimits,
        tls: &UpstreamTls,
        workers: usize,
    ) -> Pools {
        let pool = |_| Pool::new(site.clone(), limits, tls.clone());
        let pools = (0..workers).map(pool).collect();
        Pools { pools, open: Arc::new(OpenCount::new(limits.max)), limit: limits.response }
    }

    /// Takes a connection for a worker: one that it keeps, else a new one, else one that another worker keeps. Requests at the
    /// site have slots, so where all are open and others have none to spare, one is just coming back.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn take(&self, worker: usize) -> Taken {
        let own = &self.pools[worker];
        let mut end = None;
        loop {
            if let Some(kept) = own.kept() {
                return Ok(kept);
            }
            if let Some(counted) = self.open.one_more() {
                return own.open(counted).await;
            }
            if let Some(mut kept) = self.pools.iter().find_map(Pool::kept) {
                // Whoever waits here does so by the timers of this thread, whatever becomes of the other.
                kept.connection().alarm = Alarm::new(Instant::now());
                return Ok(kept);
            }
            if *end.get_or_insert_with(|| Instant::now() + self.limit) <= Instant::now() {
                return Err(NoConnection::Slow);
            }
            // Nothing rings when one comes back to another worker, or is open at last: it is looked for.
            sleep(LOOK_AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::protect::pool::Lent;
    use crate::protect::pool::tests::{ask, listener};

    /// Asks on a new connection of a worker; the answer's body has come to its end.
    async fn asked(pools: &Pools, worker: usize, site: &TcpListener) -> (Box<dyn Lent>, TcpStream) {
        let mut lent = pools.take(worker).await.expect("open");
        let (mut socket, _) = site.accept().await.expect("it came");
        ask(&mut lent, &mut socket, "ab").await;
        (lent, socket)
    }

    #[tokio::test]
    async fn a_worker_uses_its_own_connection_and_another_s_where_no_more_may_be_open() {
        let (site, address, limits) = listener(2).await;
        let pools = Pools::new(&address, limits, &UpstreamTls::default(), 2);
        let (first, _first) = asked(&pools, 0, &site).await;
        drop(first);
        let (second, _second) = asked(&pools, 1, &site).await;
        let mut own = pools.take(0).await.expect("its own");
        assert!(own.connection().is_kept);
        drop(second);
        let mut other = pools.take(0).await.expect("the other's");
        assert!(other.connection().is_kept, "a third connection was opened");
    }

    #[tokio::test]
    async fn where_all_are_in_use_one_that_comes_back_is_waited_for() {
        let (site, address, limits) = listener(1).await;
        let pools = Pools::new(&address, limits, &UpstreamTls::default(), 2);
        let (first, _first) = asked(&pools, 0, &site).await;
        let back = async {
            // Longer than a look, so that the other has found none.
            sleep(LOOK_AGAIN * 5).await;
            drop(first);
        };
        let (taken, ()) = tokio::join!(pools.take(1), back);
        assert!(taken.expect("it came back").connection().is_kept);
        assert!(pools.open.one_more().is_none(), "it is still open");
    }
}
