//! How busy the connections to the database are. Bounds nothing: `open` does.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Records;

/// The connections at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Connections at most.
    pub max: u64,
    pub used: u64,
    pub idle: u64,
    /// Calls that have no connection yet.
    pub waiting: u64,
}

/// Calls under way. Each uses one connection, so those above the used ones wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<AtomicU64>);

/// One call, for as long as it lives.
struct UnderWay(Calls);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

impl Records {
    #[must_use]
    pub fn pool_stats(&self) -> PoolStats {
        let (open, idle) = (u64::from(self.pool.size()), self.pool.num_idle() as u64);
        let used = open.saturating_sub(idle);
        let waiting = self.calls.0.load(Relaxed).saturating_sub(used);
        PoolStats { max: self.pool.options().get_max_connections().into(), used, idle, waiting }
    }

    /// Counts a call for as long as it is under way.
    pub(crate) async fn counted<T>(&self, work: impl Future<Output = T>) -> T {
        self.calls.0.fetch_add(1, Relaxed);
        let _under_way = UnderWay(self.calls.clone());
        work.await
    }
}
