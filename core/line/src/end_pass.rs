//! end_pass: the site says a person is done; the slot comes back at once.

use jari_units::{Mark, PassId};

use crate::{Done, EndReason, Event, LostHistory, Room, SeqSet};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOutcome {
    /// The pass was live and has ended.
    Ended,
    /// It had ended already, or this history does not know it.
    Unknown,
}

impl Room {
    /// Ends passes. Idempotent.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn end_pass(
        &mut self,
        mark: Mark,
        passes: &[PassId],
    ) -> Result<Done<Vec<EndOutcome>>, LostHistory> {
        self.guard(mark)?;
        let mut seqs = SeqSet::default();
        let outcomes = passes
            .iter()
            .map(|id| {
                let live = self.ledger.pass(*id).is_some() && seqs.insert(id.seq);
                if live { EndOutcome::Ended } else { EndOutcome::Unknown }
            })
            .collect();
        let event = (!seqs.is_empty()).then_some(Event::Ended { seqs, reason: EndReason::Done });
        Ok(self.commit(outcomes, event))
    }
}
