//! seen: places of the line were heard from. Its cost does not grow with the crowd; being seen while absent is the return.

use jari_units::Mark;

use crate::{Done, Event, LostHistory, Room, SeenBits};

impl Room {
    /// Marks places present. Bits of places not waiting (unknown, inside, ended) count for nothing.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn seen(&mut self, mark: Mark, bits: &SeenBits) -> Result<Done<()>, LostHistory> {
        self.guard(mark)?;
        let seqs = bits.to_set().intersection(&self.ledger.w).difference(&self.ledger.cur);
        let event = (!seqs.is_empty()).then_some(Event::Seen { seqs });
        Ok(self.commit((), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::{room, subjects};

    #[test]
    fn bits_of_places_that_do_not_wait_are_dropped() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=3)).expect("no mark");
        let bits = SeenBits::new(0, vec![0xff, 0xff]).expect("aligned");
        let done = room.seen(Mark::NONE, &bits).expect("no mark");
        assert!(done.event.is_none(), "all three were seen when they joined");
        assert_eq!(room.dump().cur, [1, 2, 3].into_iter().collect());
    }
}
