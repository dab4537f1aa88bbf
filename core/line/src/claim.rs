//! claim and touch: a pass is used. The first use claims it; every use slides its end.

use jari_units::{Mark, PassId};

use crate::{Done, Event, LostHistory, PassGrant, Room, SeqSet};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// The pass ended, or this history does not know it.
    Ended,
    /// The pass is good; its grant says how long.
    Live(PassGrant),
}

impl Room {
    /// Claims passes: the first use. A claim of a claimed pass tells its end and changes nothing.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn claim(
        &mut self,
        mark: Mark,
        passes: &[PassId],
    ) -> Result<Done<Vec<PassOutcome>>, LostHistory> {
        self.use_passes(mark, passes, |pass| pass.claimed_at.is_none())
    }

    /// Slides the end of passes in use to `pass_ttl` from now; implies the claim. Never shortens a pass.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn touch(
        &mut self,
        mark: Mark,
        passes: &[PassId],
    ) -> Result<Done<Vec<PassOutcome>>, LostHistory> {
        let slides_to = self.ledger.clocks.silence_ms + self.ledger.settings.pass_ttl;
        self.use_passes(mark, passes, |pass| pass.claimed_at.is_none() || pass.deadline < slides_to)
    }

    fn use_passes(
        &mut self,
        mark: Mark,
        passes: &[PassId],
        changes: impl Fn(&crate::Pass) -> bool,
    ) -> Result<Done<Vec<PassOutcome>>, LostHistory> {
        self.guard(mark)?;
        let live = passes.iter().filter_map(|id| Some((id.seq, self.ledger.pass(*id)?)));
        let seqs: SeqSet = live.filter(|(_, pass)| changes(pass)).map(|(seq, _)| seq).collect();
        let deadline = self.ledger.clocks.silence_ms + self.ledger.settings.pass_ttl;
        let event = (!seqs.is_empty()).then_some(Event::Touched { seqs, deadline });
        let done = self.commit((), event);
        let told = |id: &PassId| match self.ledger.pass(*id) {
            Some(_) => self.ledger.grant_of(id.seq).map_or(PassOutcome::Ended, PassOutcome::Live),
            None => PassOutcome::Ended,
        };
        let outcome = passes.iter().map(told).collect();
        Ok(Done { outcome, mark: done.mark, event: done.event })
    }
}

#[cfg(test)]
mod tests {
    use jari_units::{Millis, Timestamp};

    use super::*;
    use crate::join::tests::{key, room};
    use crate::{Change, JoinOutcome};

    fn inside(room: &mut Room) -> PassId {
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        match room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome[..] {
            [JoinOutcome::Allowed(grant)] => grant.id,
            ref other => panic!("{other:?}"),
        }
    }

    fn remaining(outcome: &[PassOutcome]) -> Millis {
        match outcome {
            [PassOutcome::Live(grant)] if grant.claimed => grant.remaining,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_use_claims_and_touches_slide() {
        let mut room = room();
        let pass = inside(&mut room);
        let ttl = Millis::from_mins(10);
        let claimed = room.claim(Mark::NONE, &[pass]).expect("no mark");
        assert_eq!(remaining(&claimed.outcome), ttl);
        room.admit(Mark::NONE, Timestamp(1_004_000), None).expect("no mark");
        let again = room.claim(Mark::NONE, &[pass]).expect("no mark");
        assert!(again.event.is_none(), "only the first claim counts");
        assert_eq!(remaining(&again.outcome), ttl - Millis(4_000));
        let touched = room.touch(Mark::NONE, &[pass]).expect("no mark");
        assert_eq!(remaining(&touched.outcome), ttl);
    }

    /// Q5: another grant, place or incarnation is another pass.
    #[test]
    fn only_the_exact_pass_is_live() {
        let mut room = room();
        let pass = inside(&mut room);
        for other in [
            PassId { grant: 2, ..pass },
            PassId { seq: pass.seq + 1, ..pass },
            PassId { incarnation: pass.incarnation + 1, ..pass },
        ] {
            let done = room.touch(Mark::NONE, &[other]).expect("no mark");
            assert_eq!((done.outcome, done.event), (vec![PassOutcome::Ended], None));
        }
    }
}
