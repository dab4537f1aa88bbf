//! Connections to the site, in a pool for each worker: a connection is read and written by the thread that opened it. All of
//! them together stay within the site's limit.

use std::sync::Arc;

use http::Uri;

use super::open_count::OpenCount;
use super::options::{UpstreamLimits, UpstreamTls};
use super::pool::{Pool, Taken};

#[derive(Debug)]
pub(super) struct Pools {
    /// One for each worker.
    pools: Vec<Pool>,
    open: Arc<OpenCount>,
}

impl Pools {
    /// As [`Pool::new`], for so many workers.
    pub(super) fn new(
        site: &Uri,
        limits: UpstreamLimits,
        tls: &UpstreamTls,
        workers: usize,
    ) -> Pools {
        let open = Arc::new(OpenCount::new(limits.max));
        let pool = |_| Pool::new(site.clone(), limits, tls.clone(), open.clone());
        Pools { pools: (0..workers).map(pool).collect(), open }
    }

    /// Takes a connection for a worker: its own where it keeps one or another may be opened, else one that another worker
    /// keeps. Requests at the site have slots, so where all are open some worker keeps one; where it is taken in this very
    /// moment one more is opened, and the first that comes back then is closed.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn take(&self, worker: usize) -> Taken {
        let own = &self.pools[worker];
        let lender = match self.open.is_full() && own.is_empty() {
            true => self.pools.iter().find(|pool| !pool.is_empty()).unwrap_or(own),
            false => own,
        };
        lender.take().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;
    use crate::protect::pool::Lent;
    use crate::protect::pool::tests::{ask, listener};

    /// Asks on a new connection of a worker; the answer's body has come to its end.
    async fn asked(
        pools: &Pools,
        worker: usize,
        site: &tokio::net::TcpListener,
    ) -> (Box<dyn Lent>, TcpStream) {
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
        let mut both = vec![pools.take(0).await.expect("its own"), second];
        assert!(both[0].connection().is_kept);
        drop(both.pop());
        let mut lent = pools.take(0).await.expect("the other's");
        assert!(lent.connection().is_kept, "a third connection was opened");
        both.push(lent);
    }

    #[tokio::test]
    async fn what_is_open_beyond_the_limit_is_not_kept() {
        let (site, address, limits) = listener(1).await;
        let pools = Pools::new(&address, limits, &UpstreamTls::default(), 2);
        let (first, _first) = asked(&pools, 0, &site).await;
        // Nothing is kept just now: this request need not wait.
        let (second, _second) = asked(&pools, 1, &site).await;
        assert!(pools.open.is_full());
        drop(second);
        drop(first);
        assert!(pools.pools[1].is_empty() && !pools.pools[0].is_empty());
    }
}
