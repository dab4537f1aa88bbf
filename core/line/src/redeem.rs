//! redeem: a one-time token is shown to its site. The first site call that names it lands; the same call again lands too,
//! any other is refused, for good.

use jari_units::{Mark, PassId, Seq};

use crate::ledger::Ledger;
use crate::{Done, Event, Landing, LostHistory, PassGrant, Room};

/// Bits of a token's number that are its maker's own count, below the second of the line's clock: a million tokens of one
/// node in a second. Second and count together stay below 2^53, which every store counts exactly, until the year 2242.
const COUNT_BITS: u32 = 20;

impl Ledger {
    /// Numbers that tokens of one second of the line's clock have between them: number / this is the second.
    pub const TICKETS_A_SECOND: u64 = 1 << COUNT_BITS;
}

/// A token as a site shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub pass: PassId,
    /// Which of the pass's tokens; at most `SEQ_MAX`.
    pub no: u64,
    /// Which call of the site: a repeated one has the same.
    pub nonce: [u8; 16],
}

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedeemOutcome {
    /// The pass ended, or this history does not know it.
    Ended,
    /// This token or a newer one of the pass was redeemed by another call; or it was made before the room lost history,
    /// and whether it was is not known any more. A new token is good.
    Used,
    /// The pass is claimed, and its end has slid.
    Redeemed(PassGrant),
}

impl Room {
    /// Redeems a one-time token. Idempotent for one token and nonce.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn redeem(
        &mut self,
        mark: Mark,
        ticket: &Ticket,
    ) -> Result<Done<RedeemOutcome>, LostHistory> {
        self.guard(mark)?;
        let Ticket { pass: id, no, nonce } = *ticket;
        let Some(pass) = self.ledger.pass(id) else {
            return Ok(self.commit(RedeemOutcome::Ended, None));
        };
        let landing = Landing { no, nonce };
        let event = match pass.landed {
            _ if id.incarnation != self.ledger.incarnation => {
                return Ok(self.commit(RedeemOutcome::Used, None));
            }
            Some(landed) if landed == landing => None,
            Some(landed) if landed.no >= no => {
                return Ok(self.commit(RedeemOutcome::Used, None));
            }
            _ => {
                let deadline = self.ledger.clocks.silence_ms + self.ledger.settings.pass_ttl;
                Some(Event::Redeemed { seq: id.seq, landing, deadline })
            }
        };
        let done = self.commit((), event);
        let grant = self.ledger.grant_of(id.seq).expect("a redeemed pass is live");
        let outcome = RedeemOutcome::Redeemed(grant);
        Ok(Done { outcome, mark: done.mark, event: done.event })
    }

    /// The redeemed tokens of live passes.
    #[must_use]
    pub fn landings(&self) -> Vec<(Seq, Landing)> {
        let passes = self.ledger.passes.iter();
        passes.filter_map(|(seq, pass)| Some((seq, pass.landed?))).collect()
    }

    /// Gives a stored copy its redeemed tokens back.
    #[must_use]
    pub fn land(mut self, landings: Vec<(Seq, Landing)>) -> Room {
        for (seq, landing) in landings {
            self.ledger.passes.land(seq, landing);
        }
        self
    }
}

impl Ledger {
    /// The number of a new token for the live pass of a place: above that of any that was redeemed. `count` is its maker's,
    /// and rises by one with each token. The line's clock and no node's own: two nodes' clocks may be minutes apart.
    #[must_use]
    pub fn next_ticket_no(&self, seq: Seq, count: u64) -> Option<u64> {
        let pass = self.passes.get(seq)?;
        let second = self.clocks.now.0 / 1_000;
        let at = |second: u64| second << COUNT_BITS | count & ((1 << COUNT_BITS) - 1);
        // Another node's count may be above this one's. In the second after it the number is above it, and still no other's.
        let above = pass.landed.map_or(0, |landed| (landed.no >> COUNT_BITS) + 1);
        let landed = pass.landed.map(|landed| landed.no);
        let no = at(second);
        Some(if Some(no) > landed { no } else { at(above) })
    }

    pub(crate) fn redeemed(&mut self, seq: Seq, landing: Landing, deadline: jari_units::Millis) {
        self.touched(&std::iter::once(seq).collect(), deadline);
        self.passes.land(seq, landing);
    }
}

#[cfg(test)]
mod tests {
    use jari_units::{Millis, Timestamp};

    use super::*;
    use crate::join::tests::{key, room};
    use crate::{Change, JoinOutcome, Loss, Settings};

    fn inside(room: &mut Room) -> PassId {
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        match room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome[..] {
            [JoinOutcome::Allowed(grant)] => grant.id,
            ref other => panic!("{other:?}"),
        }
    }

    fn redeem(room: &mut Room, pass: PassId, no: u64, nonce: u8) -> (&'static str, bool) {
        let ticket = Ticket { pass, no, nonce: [nonce; 16] };
        let done = room.redeem(Mark::NONE, &ticket).expect("no mark");
        let word = match done.outcome {
            RedeemOutcome::Ended => "ended",
            RedeemOutcome::Used => "used",
            RedeemOutcome::Redeemed(grant) => {
                assert!(grant.claimed, "to land is to use the pass");
                "redeemed"
            }
        };
        (word, done.event.is_some())
    }

    /// Q5: one token, one landing, however often it is shown.
    #[test]
    fn a_token_lands_once_and_its_own_call_may_be_repeated() {
        let mut room = room();
        let pass = inside(&mut room);
        for (no, nonce, want) in [
            (5, 1, ("redeemed", true)),
            (5, 1, ("redeemed", false)),
            (5, 2, ("used", false)),
            (4, 2, ("used", false)),
            (4, 1, ("used", false)),
            (6, 2, ("redeemed", true)),
            (5, 1, ("used", false)),
            (6, 2, ("redeemed", false)),
        ] {
            assert_eq!(redeem(&mut room, pass, no, nonce), want, "token {no}, call {nonce}");
        }
        assert_eq!(room.landings(), [(pass.seq, Landing { no: 6, nonce: [2; 16] })]);
        assert_eq!(room.ledger().totals().claimed, 1);
        for other in [PassId { grant: 2, ..pass }, PassId { seq: pass.seq + 1, ..pass }] {
            assert_eq!(redeem(&mut room, other, 9, 1), ("ended", false));
        }
        room.end_pass(Mark::NONE, &[pass]).expect("no mark");
        assert_eq!(redeem(&mut room, pass, 6, 2), ("ended", false));
        assert!(room.landings().is_empty());
    }

    #[test]
    fn a_token_made_before_a_loss_is_not_good_after_it_and_a_new_one_is() {
        let mut room = room();
        let pass = inside(&mut room);
        assert_eq!(redeem(&mut room, pass, 5, 1), ("redeemed", true));
        let now = Timestamp(1_002_000);
        _ = room.recover(&Loss::Declared, Settings::default(), now);
        assert_eq!(redeem(&mut room, pass, 5, 1), ("used", false));
        assert_eq!(redeem(&mut room, pass, 6, 1), ("used", false));
        let again = PassId { incarnation: room.mark().incarnation, ..pass };
        assert_eq!(redeem(&mut room, again, 6, 1), ("redeemed", true));
    }

    #[test]
    fn redeeming_slides_the_end() {
        let mut room = room();
        let pass = inside(&mut room);
        room.admit(Mark::NONE, Timestamp(1_004_000), None).expect("no mark");
        redeem(&mut room, pass, 1, 1);
        let grant = room.ledger().grant_of(pass.seq).expect("live");
        assert_eq!(grant.remaining, Millis::from_mins(10));
    }

    /// Whatever the node's count is, a new token comes after the one that was redeemed.
    #[test]
    fn a_new_tokens_number_is_above_every_redeemed_one() {
        let mut room = room();
        let pass = inside(&mut room);
        let number = |room: &Room, count| room.ledger().next_ticket_no(pass.seq, count);
        let (first, second) = (number(&room, 7).expect("live"), number(&room, 8).expect("live"));
        assert_eq!(second, first + 1, "two of one second come in order");
        redeem(&mut room, pass, second, 1);
        // Of a node with a lower count, and each its own.
        let others: Vec<_> = (3..6).map(|count| number(&room, count).expect("live")).collect();
        assert!(others[0] > second && others.is_sorted_by(|a, b| a < b), "{others:?}");
        redeem(&mut room, pass, others[0], 2);
        assert_eq!(redeem(&mut room, pass, others[1], 3), ("redeemed", true), "made after it");
        let second = others[1];
        assert!(number(&room, 0) > Some(second));
        room.admit(Mark::NONE, Timestamp(1_002_000), None).expect("no mark");
        assert!(number(&room, 0) > Some(second), "time moves it on");
        assert_eq!(room.ledger().next_ticket_no(pass.seq + 1, 1), None);
        let last = (1_u64 << 33) << COUNT_BITS;
        assert_eq!(last, 1 << 53, "seconds of the year 2242");
    }
}
