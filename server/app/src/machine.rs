//! The machine's clock and its source of randomness: the one place that reads either.

use std::time::{SystemTime, UNIX_EPOCH};

use jari_ports::{Clock, Entropy};
use jari_units::Timestamp;

/// The system's clock; may step either way.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
    fn now(&self) -> Timestamp {
        // A machine that believes to be before 1970 gets 0: stores make a time that only grows of it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The system's randomness, through the cryptographic library.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        aws_lc_rs::rand::fill(bytes).expect("the system has randomness; nothing secure without it");
    }
}
