//! revoke: an operator takes live passes away, by subject. The place has ended; a new join starts at the end.

use jari_units::{Mark, SubjectKey};

use crate::{Done, EndReason, Event, LostHistory, Room, SeqSet};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokeOutcome {
    Revoked,
    /// Had no live pass.
    NoPass,
}

impl Room {
    /// Ends the live pass of each subject. Idempotent; a place in line is left alone.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn revoke(
        &mut self,
        mark: Mark,
        subjects: &[SubjectKey],
    ) -> Result<Done<Vec<RevokeOutcome>>, LostHistory> {
        self.guard(mark)?;
        let mut seqs = SeqSet::default();
        let outcomes = subjects
            .iter()
            .map(|subject| match self.live_seq(subject) {
                Some(seq) if self.ledger.passes.get(seq).is_some() && seqs.insert(seq) => {
                    RevokeOutcome::Revoked
                }
                _ => RevokeOutcome::NoPass,
            })
            .collect();
        let event = (!seqs.is_empty()).then_some(Event::Ended { seqs, reason: EndReason::Revoked });
        Ok(self.commit(outcomes, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::{key, room, subjects};
    use crate::{Change, JoinOutcome, Standing};

    #[test]
    fn revoke_ends_passes_and_leaves_places_alone() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=2)).expect("no mark");
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        let batch = [key(1), key(1), key(2), key(3)];
        let done = room.revoke(Mark::NONE, &batch).expect("no mark");
        use RevokeOutcome::{NoPass, Revoked};
        assert_eq!(done.outcome, [Revoked, NoPass, NoPass, NoPass]);
        let incarnation = room.mark().incarnation;
        assert_eq!(room.ledger().standing(incarnation, 1), Standing::Ended);
        assert_eq!(room.ledger().standing(incarnation, 2), Standing::InLine { position: 1 });
        room.change(Mark::NONE, Change::Disallow(key(1))).expect("no mark");
        let again = room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome;
        assert_eq!(again, [JoinOutcome::Joined { seq: 3 }]);
    }
}
