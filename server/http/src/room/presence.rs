//! Who was heard from since the last flush, by place. A set per room: cheap to mark, one bit a place to send.

use std::sync::atomic::{AtomicBool, Ordering};

use jari_line::SeqSet;
use jari_units::Seq;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Presence {
    seen: Mutex<SeqSet>,
    /// Someone called while away is back: their turn comes with the next tick, so the store must know before it.
    returned: AtomicBool,
}

impl Presence {
    pub(crate) fn note(&self, seq: Seq, absent: bool) {
        self.seen.lock().insert(seq);
        if absent {
            self.returned.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seen.lock().is_empty()
    }

    pub(crate) fn has_returned(&self) -> bool {
        self.returned.load(Ordering::Acquire)
    }

    /// Takes all marks; give them back with [`Presence::put_back`] where they could not be sent.
    pub(crate) fn take(&self) -> SeqSet {
        self.returned.store(false, Ordering::Release);
        std::mem::take(&mut *self.seen.lock())
    }

    pub(crate) fn put_back(&self, unsent: &SeqSet) {
        self.seen.lock().add_all(unsent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_sent_is_sent_with_the_next() {
        let presence = Presence::default();
        presence.note(3, false);
        assert!(!presence.has_returned());
        presence.note(1, true);
        assert!(presence.has_returned());
        let unsent = presence.take();
        assert!(!presence.has_returned());
        presence.note(9, false);
        presence.put_back(&unsent);
        assert_eq!(presence.take(), [1, 3, 9].into_iter().collect());
        assert!(presence.take().is_empty());
    }
}
