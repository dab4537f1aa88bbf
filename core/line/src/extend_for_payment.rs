//! extend_for_payment: a site says "paying now"; the pass does not expire meanwhile. Ending and revoking act at once.

use jari_units::{Mark, Millis, PassId, limits};

use crate::{Done, Event, LostHistory, PassGrant, Room};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendOutcome {
    /// The pass ended, or this history does not know it.
    Ended,
    /// All of `PAYMENT_EXTENSION_MAX` since the first extension is used up; the pass ends as it would have.
    LimitReached(PassGrant),
    /// The pass will not expire before the time in its grant.
    Extended(PassGrant),
}

impl Room {
    /// Keeps one pass from expiring for `span` from now, within `PAYMENT_EXTENSION_MAX` of the first such call.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn extend_for_payment(
        &mut self,
        mark: Mark,
        id: PassId,
        span: Millis,
    ) -> Result<Done<ExtendOutcome>, LostHistory> {
        self.guard(mark)?;
        let Some(pass) = self.ledger.pass(id) else {
            return Ok(self.commit(ExtendOutcome::Ended, None));
        };
        let now = self.ledger.clocks.silence_ms;
        let since = pass.paying_since.unwrap_or(now);
        let limit = since + limits::PAYMENT_EXTENSION_MAX;
        let deadline = pass.deadline.max(limit.min(now + span));
        let changed = deadline != pass.deadline || pass.paying_since.is_none();
        let event = changed.then_some(Event::Extended { seq: id.seq, deadline, since });
        let done = self.commit((), event);
        let grant = self.ledger.grant_of(id.seq).expect("an extended pass is live");
        let outcome = if limit <= now {
            ExtendOutcome::LimitReached(grant)
        } else {
            ExtendOutcome::Extended(grant)
        };
        Ok(Done { outcome, mark: done.mark, event: done.event })
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Timestamp;

    use super::*;
    use crate::join::tests::{key, room_with};
    use crate::{Change, EndOutcome, JoinOutcome, Settings};

    #[test]
    fn paying_keeps_a_pass_for_fifteen_minutes_in_all() {
        let short = Settings { pass_ttl: Millis::from_secs(5), ..Settings::default() };
        let mut room = room_with(short);
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        let joined = room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome.remove(0);
        let JoinOutcome::Allowed(grant) = joined else { panic!("{joined:?}") };
        room.claim(Mark::NONE, &[grant.id]).expect("no mark");
        let mut now = Timestamp(1_000_000);
        let span = Millis::from_mins(5);
        let mut lived = Millis::ZERO;
        while room.ledger().pass(grant.id).is_some() {
            room.extend_for_payment(Mark::NONE, grant.id, span).expect("no mark");
            now = now + Millis(1_000);
            lived += Millis(1_000);
            room.admit(Mark::NONE, now, None).expect("no mark");
        }
        assert_eq!(lived, limits::PAYMENT_EXTENSION_MAX);
    }

    #[test]
    fn ending_acts_at_once() {
        let mut room = room_with(Settings::default());
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        let joined = room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome.remove(0);
        let JoinOutcome::Allowed(grant) = joined else { panic!("{joined:?}") };
        room.extend_for_payment(Mark::NONE, grant.id, Millis::from_mins(5)).expect("no mark");
        let ended = room.end_pass(Mark::NONE, &[grant.id]).expect("no mark").outcome;
        assert_eq!(ended, [EndOutcome::Ended]);
        let after = room.extend_for_payment(Mark::NONE, grant.id, Millis(1)).expect("no mark");
        assert_eq!(after.outcome, ExtendOutcome::Ended);
    }
}
