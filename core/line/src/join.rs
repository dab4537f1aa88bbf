//! join: a subject gets a place, or is told the one it has.

use jari_units::{Mark, Millis, Seq, SubjectKey, Timestamp};
use rustc_hash::FxHashMap;

use crate::ledger::{Ledger, Phase};
use crate::{ClosedNext, Done, Event, LostHistory, PassGrant, Room, SeqSet, WalkedIn};

/// Outcomes in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    Blocked,
    /// Has a live pass already.
    Admitted(PassGrant),
    /// Got a pass without waiting: on the allow list, or a newcomer to an `auto` room that does not queue. While the room
    /// recovers, only where a place is there to take.
    Allowed(PassGrant),
    /// Has a place already.
    Waiting {
        seq: Seq,
    },
    /// Has a place that was called while away.
    Absent {
        seq: Seq,
    },
    /// The room lost history and is being told of it: nobody new gets a number. Show a receipt, or come back in a moment.
    Recovering,
    /// The room is off: nobody needs a place.
    Off,
    SoldOut,
    NotOpen {
        opens_at: Timestamp,
    },
    Closed(ClosedNext),
    /// `max_waiting` places wait.
    Full,
    /// A new place, at the end.
    Joined {
        seq: Seq,
    },
}

/// What one batch has decided so far.
struct Batch {
    first: Seq,
    people: Vec<SubjectKey>,
    /// Places given or granted earlier in this batch.
    here: FxHashMap<SubjectKey, (Seq, bool)>,
    granted: SeqSet,
    waiting: u64,
    /// Newcomers who may still walk in, and who did.
    open: u64,
    walked: u64,
}

impl Room {
    /// Joins a batch of subjects, in order; at most `JOIN_BATCH_MAX`. Idempotent: a repeated join finds its place.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn join(
        &mut self,
        mark: Mark,
        subjects: &[SubjectKey],
    ) -> Result<Done<Vec<JoinOutcome>>, LostHistory> {
        self.guard(mark)?;
        let mut batch = Batch {
            first: self.ledger.next_seq,
            people: Vec::with_capacity(subjects.len()),
            here: FxHashMap::default(),
            granted: SeqSet::default(),
            waiting: self.ledger.w.len(),
            open: self.ledger.walk_ins(),
            walked: 0,
        };
        let phase = self.ledger.phase();
        let outcomes =
            subjects.iter().map(|subject| self.join_one(*subject, &phase, &mut batch)).collect();
        let Batch { first, people, granted, walked, .. } = batch;
        let changed = !people.is_empty() || !granted.is_empty();
        let deadline = self.ledger.claim_deadline();
        let event = match walked {
            0 => Event::Joined { first, people, granted, deadline },
            _ => Event::WalkedIn(Box::new(WalkedIn { first, people, granted, deadline, walked })),
        };
        let event = changed.then_some(event);
        Ok(self.commit(outcomes, event))
    }

    fn join_one(&self, subject: SubjectKey, phase: &Phase, batch: &mut Batch) -> JoinOutcome {
        if self.subjects.blocked.contains(&subject) {
            return JoinOutcome::Blocked;
        }
        let seq = batch.here.get(&subject).map(|(seq, _)| *seq).or_else(|| self.live_seq(&subject));
        let granted_here = batch.here.get(&subject).is_some_and(|(_, granted)| *granted);
        if let Some(seq) = seq
            && let Some(grant) = self
                .ledger
                .grant_of(seq)
                .or_else(|| granted_here.then(|| self.ledger.new_grant(seq)))
        {
            return JoinOutcome::Admitted(grant);
        }
        if seq.is_none() && self.ledger.is_recovering() {
            return JoinOutcome::Recovering;
        }
        if self.subjects.allowed.contains(&subject) {
            let seq = seq.unwrap_or_else(|| batch.next_place(subject));
            batch.here.insert(subject, (seq, true));
            batch.granted.insert(seq);
            batch.open = batch.open.saturating_sub(1);
            return JoinOutcome::Allowed(self.ledger.new_grant(seq));
        }
        match seq {
            Some(seq) if self.ledger.was_called(seq) => JoinOutcome::Absent { seq },
            Some(seq) => JoinOutcome::Waiting { seq },
            None => self.join_new(subject, phase, batch),
        }
    }

    fn join_new(&self, subject: SubjectKey, phase: &Phase, batch: &mut Batch) -> JoinOutcome {
        match phase {
            Phase::SoldOut => return JoinOutcome::SoldOut,
            Phase::NotOpen { opens_at, joinable: false } => {
                return JoinOutcome::NotOpen { opens_at: *opens_at };
            }
            Phase::Closed(next) => return JoinOutcome::Closed(next.clone()),
            Phase::Off => return JoinOutcome::Off,
            Phase::NotOpen { joinable: true, .. } | Phase::Open | Phase::Paused => {}
        }
        if batch.open > 0 {
            (batch.open, batch.walked) = (batch.open - 1, batch.walked + 1);
            let seq = batch.next_place(subject);
            batch.here.insert(subject, (seq, true));
            batch.granted.insert(seq);
            return JoinOutcome::Allowed(self.ledger.new_grant(seq));
        }
        if batch.waiting >= self.ledger.settings.max_waiting {
            return JoinOutcome::Full;
        }
        batch.waiting += 1;
        let seq = batch.next_place(subject);
        batch.here.insert(subject, (seq, false));
        JoinOutcome::Joined { seq }
    }

    /// The subject's place if it is in line, absent or holds a pass.
    pub(crate) fn live_seq(&self, subject: &SubjectKey) -> Option<Seq> {
        let seq = self.subjects.seq(subject)?;
        self.ledger.is_live(seq).then_some(seq)
    }
}

impl Batch {
    fn next_place(&mut self, subject: SubjectKey) -> Seq {
        self.people.push(subject);
        self.first + self.people.len() as u64 - 1
    }
}

impl Ledger {
    /// When a pass granted now ends unless claimed.
    pub(crate) fn claim_deadline(&self) -> Millis {
        self.clocks.silence_ms + self.settings.claim_window
    }

    /// The grant that `seq` is about to get.
    pub(crate) fn new_grant(&self, seq: Seq) -> PassGrant {
        let grant = if self.once.contains(seq) { 2 } else { 1 };
        let id = jari_units::PassId { incarnation: self.incarnation, seq, grant };
        PassGrant { id, remaining: self.settings.claim_window, claimed: false }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ops::RangeInclusive;

    use super::*;
    use crate::{Change, Settings};

    pub(crate) fn key(number: u64) -> SubjectKey {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        SubjectKey(bytes)
    }

    pub(crate) fn subjects(numbers: RangeInclusive<u64>) -> Vec<SubjectKey> {
        numbers.map(key).collect()
    }

    pub(crate) fn room_with(settings: Settings) -> Room {
        Room::create(settings, Timestamp(1_000_000), 0).outcome
    }

    pub(crate) fn room() -> Room {
        room_with(Settings::default())
    }

    fn join(room: &mut Room, subject: u64) -> JoinOutcome {
        room.join(Mark::NONE, &[key(subject)]).expect("no mark").outcome.remove(0)
    }

    fn change(room: &mut Room, change: Change) {
        room.change(Mark::NONE, change).expect("no mark");
    }

    /// Each outcome hides every later one: the room gains one more reason a step, from the last to the first.
    #[test]
    fn outcomes_in_order_of_precedence() {
        let mut room = room_with(Settings { max_waiting: 1, ..Settings::default() });
        assert_eq!(join(&mut room, 1), JoinOutcome::Joined { seq: 1 });
        assert_eq!(join(&mut room, 2), JoinOutcome::Full);
        change(&mut room, Change::Close(ClosedNext::default()));
        assert_eq!(join(&mut room, 2), JoinOutcome::Closed(ClosedNext::default()));
        change(&mut room, Change::SoldOut(true));
        assert_eq!(join(&mut room, 2), JoinOutcome::SoldOut);
        assert_eq!(join(&mut room, 1), JoinOutcome::Waiting { seq: 1 });
        change(&mut room, Change::Allow(key(2)));
        let allowed = join(&mut room, 2);
        assert!(matches!(allowed, JoinOutcome::Allowed(grant) if grant.id.seq == 2));
        assert!(matches!(join(&mut room, 2), JoinOutcome::Admitted(grant) if grant.id.seq == 2));
        change(&mut room, Change::Block(key(2)));
        assert_eq!(join(&mut room, 2), JoinOutcome::Blocked);
    }

    #[test]
    fn a_room_that_is_not_open_says_when() {
        let opens_at = Timestamp(2_000_000);
        let settings = Settings { opens_at: Some(opens_at), ..Settings::default() };
        assert_eq!(join(&mut room_with(settings.clone()), 1), JoinOutcome::NotOpen { opens_at });
        let early = Settings { joins_from: Some(Timestamp(900_000)), ..settings };
        assert_eq!(join(&mut room_with(early), 1), JoinOutcome::Joined { seq: 1 });
    }

    /// Q1, Q3: one place per identity, no number twice, within a batch too.
    #[test]
    fn one_batch_gives_one_place_a_subject() {
        let mut room = room();
        let batch = [key(1), key(2), key(1), key(3), key(2)];
        let outcomes = room.join(Mark::NONE, &batch).expect("no mark").outcome;
        use JoinOutcome::{Joined, Waiting};
        assert_eq!(
            outcomes,
            [
                Joined { seq: 1 },
                Joined { seq: 2 },
                Waiting { seq: 1 },
                Joined { seq: 3 },
                Waiting { seq: 2 }
            ]
        );
    }

    #[test]
    fn allow_listed_twice_in_one_batch_is_one_pass() {
        let mut room = room();
        change(&mut room, Change::Allow(key(9)));
        let outcomes = room.join(Mark::NONE, &[key(9), key(9)]).expect("no mark").outcome;
        assert!(
            matches!(outcomes[..], [JoinOutcome::Allowed(a), JoinOutcome::Admitted(b)] if a == b)
        );
        assert_eq!(room.ledger().passes().live(), 1);
        assert_eq!(room.ledger().waiting(), 0);
    }

    #[test]
    fn a_caller_ahead_of_the_room_gets_no_number() {
        let mut room = room();
        let ahead = Mark { event_no: 99, ..room.mark() };
        assert!(room.join(ahead, &[key(1)]).is_err());
        assert_eq!(room.mark().next_seq, 1);
    }
}
