//! A clock that tests can set: the system's, moved by an offset.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jari::SystemClock;
use jari_ports::Clock;
use jari_units::{Millis, Timestamp};

/// Runs as the system's clock does, as far ahead or behind as it was moved. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct TestClock {
    offset_ms: Arc<AtomicI64>,
}

impl TestClock {
    /// Moves it: forward, or backward with a negative number.
    pub fn step(&self, offset_ms: i64) {
        self.offset_ms.fetch_add(offset_ms, Ordering::SeqCst);
    }

    pub fn advance(&self, span: Millis) {
        self.step(i64::try_from(span.0).expect("a test's span fits"));
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let offset = self.offset_ms.load(Ordering::SeqCst);
        Timestamp(SystemClock.now().0.saturating_add_signed(offset))
    }
}
