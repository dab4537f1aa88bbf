//! How many streams are open, and for whom one more is worth it. Opens none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::options::StreamLimits;

#[derive(Clone, Debug)]
pub struct StreamSlots {
    limits: StreamLimits,
    open: Arc<AtomicU64>,
}

/// Taken for as long as it lives.
#[derive(Debug)]
pub struct StreamSlot(Arc<AtomicU64>);

impl StreamSlots {
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        StreamSlots { limits, open: Arc::default() }
    }

    /// Whether a stream is worth it for someone at `position` (`None`: not in line) where `waiting` wait.
    #[must_use]
    pub fn offers(&self, position: Option<u64>, waiting: u64) -> bool {
        let near = position.is_none_or(|position| position <= self.limits.near_front);
        let wanted = near || waiting <= self.limits.small_room;
        wanted && self.open.load(Ordering::Relaxed) < self.limits.max
    }

    /// How many are taken.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes a slot; `None` where all are taken.
    #[must_use]
    pub fn take(&self) -> Option<StreamSlot> {
        let more = |open: u64| (open < self.limits.max).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(StreamSlot(self.open.clone()))
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_for_the_near_front_and_small_rooms_while_slots_last() {
        let limits = StreamLimits { max: 1, small_room: 10, near_front: 5 };
        let slots = StreamSlots::new(limits);
        for (position, waiting, offered) in [
            (Some(5), 1_000_000, true),
            (Some(6), 1_000_000, false),
            (Some(6), 10, true),
            (None, 1_000_000, true),
        ] {
            assert_eq!(slots.offers(position, waiting), offered, "{position:?} of {waiting}");
        }
        let slot = slots.take().expect("one is free");
        assert!(slots.take().is_none() && !slots.offers(None, 0));
        drop(slot);
        assert!(slots.take().is_some());
    }
}
