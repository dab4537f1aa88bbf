//! Time and randomness from outside, so that whoever decides can be handed both.

use jari_units::Timestamp;

/// The machine's clock. May step either way; stores turn it into a time that only grows.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Milliseconds since the Unix epoch, UTC.
    fn now(&self) -> Timestamp;
}

/// A source of unpredictable bytes, fit for keys and ids.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// Fills `bytes`.
    ///
    /// # Panics
    /// Where the system has no entropy: nothing secure can be done then.
    fn fill(&self, bytes: &mut [u8]);
}
