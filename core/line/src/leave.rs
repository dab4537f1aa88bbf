//! leave: a subject gives up its place or pass.

use jari_units::{Mark, SubjectKey};

use crate::{Done, EndReason, Event, LostHistory, Room, SeqSet};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveOutcome {
    /// Had a live pass; it ended.
    PassEnded,
    /// Was in line or absent; the place ended.
    Left,
    /// Had no place, or it had ended.
    Unknown,
}

impl Room {
    /// Ends the place or pass of each subject. Idempotent: a repeated leave finds nothing.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn leave(
        &mut self,
        mark: Mark,
        subjects: &[SubjectKey],
    ) -> Result<Done<Vec<LeaveOutcome>>, LostHistory> {
        self.guard(mark)?;
        let mut seqs = SeqSet::default();
        let outcomes = subjects
            .iter()
            .map(|subject| match self.live_seq(subject) {
                Some(seq) if !seqs.insert(seq) => LeaveOutcome::Unknown,
                Some(seq) if self.ledger.passes.get(seq).is_some() => LeaveOutcome::PassEnded,
                Some(_) => LeaveOutcome::Left,
                None => LeaveOutcome::Unknown,
            })
            .collect();
        let event = (!seqs.is_empty()).then_some(Event::Ended { seqs, reason: EndReason::Left });
        Ok(self.commit(outcomes, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::{key, room, subjects};
    use crate::{Change, JoinOutcome, Standing};

    #[test]
    fn outcomes_in_order_of_precedence() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=2)).expect("no mark");
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        let batch = [key(1), key(2), key(2), key(3)];
        let outcomes = room.leave(Mark::NONE, &batch).expect("no mark").outcome;
        use LeaveOutcome::{Left, PassEnded, Unknown};
        assert_eq!(outcomes, [PassEnded, Left, Unknown, Unknown]);
        let again = room.leave(Mark::NONE, &batch).expect("no mark");
        assert!(again.event.is_none(), "a repeated leave changes nothing");
    }

    #[test]
    fn who_left_gets_a_new_place_at_the_end() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=3)).expect("no mark");
        room.leave(Mark::NONE, &[key(1)]).expect("no mark");
        let incarnation = room.mark().incarnation;
        assert_eq!(room.ledger().standing(incarnation, 3), Standing::InLine { position: 2 });
        let again = room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome;
        assert_eq!(again, [JoinOutcome::Joined { seq: 4 }]);
    }
}
