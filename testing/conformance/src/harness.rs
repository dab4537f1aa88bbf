//! What a store's tests hand to the suite: a store, its clock, and a way to restart it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jari_ports::{BoxFuture, Clock, LineStore};
use jari_units::{Millis, Timestamp};

/// A clock that stands where it was set.
#[derive(Debug)]
pub struct SetClock(AtomicU64);

impl SetClock {
    #[must_use]
    pub fn at(start: Timestamp) -> Arc<Self> {
        Arc::new(SetClock(AtomicU64::new(start.0)))
    }

    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    pub fn advance(&self, span: Millis) {
        self.0.fetch_add(span.0, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A store under test. Each harness owns its namespace: a folder, a key prefix.
pub trait Harness: Send {
    fn store(&self) -> Arc<dyn LineStore>;

    fn clock(&self) -> Arc<SetClock>;

    /// Stops the store and starts it again on the same data, as after a crash.
    fn restart(&mut self) -> BoxFuture<'_, ()>;

    /// Whether the store's clock goes on over a restart as if there was none. Otherwise it goes on from the newest time
    /// it recorded.
    fn clock_survives_restart(&self) -> bool {
        false
    }
}
