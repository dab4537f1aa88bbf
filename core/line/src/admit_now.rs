//! admit_now: an operator or tenant lets people in beside the tick, by count or by name.

use jari_units::{Mark, SubjectKey};
use rustc_hash::FxHashSet;

use crate::call::{Look, call};
use crate::ledger::Phase;
use crate::{Done, Event, LostHistory, PassGrant, Room, SeqSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmitNow {
    /// The next `count` in turn, within capacity and quota, without bucket and per_tick; the frontier moves.
    Count(u64),
    /// These subjects, wherever they are, at most `ADMIT_MAX`; may exceed capacity; the frontier stays.
    Subjects(Vec<SubjectKey>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmitNowOutcome {
    /// How many were called.
    Called(u64),
    /// Most of the next in turn were unseen, as after an outage; nobody was called and a
    /// lull began. Asked again, it calls the present.
    MassAbsence,
    /// One entry a subject: its pass, or `None` where it is blocked, or new while the room recovers.
    Granted(Vec<Option<PassGrant>>),
}

impl Room {
    /// Admits beside the tick. Time does not move.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn admit_now(
        &mut self,
        mark: Mark,
        whom: &AdmitNow,
    ) -> Result<Done<AdmitNowOutcome>, LostHistory> {
        self.guard(mark)?;
        Ok(match whom {
            AdmitNow::Count(count) => self.admit_count(*count),
            AdmitNow::Subjects(subjects) => self.admit_subjects(subjects),
        })
    }

    fn admit_count(&mut self, count: u64) -> Done<AdmitNowOutcome> {
        let ledger = &self.ledger;
        let live = ledger.passes.live();
        let mut free = ledger.room_for_more(live).min(count);
        if ledger.settings.grouped {
            free = free.min(ledger.live_quota.saturating_sub(live));
        }
        // A pause stops the tick, not the operator's hand; a closed, sold-out or unopened room admits nobody by count.
        // So does one that is still being told who is next.
        if !matches!(ledger.phase(), Phase::Open | Phase::Paused) || ledger.is_recovering() {
            free = 0;
        }
        let present = ledger.present();
        let look = Look {
            waiting: &ledger.w,
            present: &present,
            again: &ledger.called_above(),
            serving: ledger.serving,
            next_seq: ledger.next_seq,
            in_lull: ledger.in_lull(),
        };
        let turn = call(&look, free);
        let guarded = ledger.clocks.silence_ms < ledger.clocks.mass_guard_until;
        if !ledger.in_lull() && !guarded && turn.is_mass_absence() {
            let window = ledger.settings.presence_window;
            let event = Event::Lulled {
                until: ledger.clocks.now + window,
                guard_until: ledger.clocks.silence_ms + window,
            };
            return self.commit(AdmitNowOutcome::MassAbsence, Some(event));
        }
        let called = turn.seqs.len();
        let changed = called > 0 || turn.serving != ledger.serving;
        let event = changed.then(|| Event::Called(ledger.calls(turn, ledger.clocks.silence_ms)));
        self.commit(AdmitNowOutcome::Called(called), event)
    }

    fn admit_subjects(&mut self, subjects: &[SubjectKey]) -> Done<AdmitNowOutcome> {
        let mut people = Vec::new();
        let mut granted = SeqSet::default();
        let mut new: FxHashSet<SubjectKey> = FxHashSet::default();
        for subject in subjects {
            if self.subjects.blocked.contains(subject) {
                continue;
            }
            match self.live_seq(subject) {
                Some(seq) if self.ledger.w.contains(seq) => _ = granted.insert(seq),
                Some(_) => {}
                // No new number before the old ones are known.
                None if self.ledger.is_recovering() => {}
                None if new.insert(*subject) => {
                    granted.insert(self.ledger.next_seq + people.len() as u64);
                    people.push(*subject);
                }
                None => {}
            }
        }
        let (first, deadline) = (self.ledger.next_seq, self.ledger.claim_deadline());
        let event =
            (!granted.is_empty()).then_some(Event::Joined { first, people, granted, deadline });
        let done = self.commit((), event);
        let grant = |subject: &SubjectKey| {
            let seq =
                self.live_seq(subject).filter(|_| !self.subjects.blocked.contains(subject))?;
            self.ledger.grant_of(seq)
        };
        let outcome = AdmitNowOutcome::Granted(subjects.iter().map(grant).collect());
        Done { outcome, mark: done.mark, event: done.event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::{key, room_with, subjects};
    use crate::{Change, Settings, Standing};

    fn count(room: &mut Room, count: u64) -> AdmitNowOutcome {
        room.admit_now(Mark::NONE, &AdmitNow::Count(count)).expect("no mark").outcome
    }

    #[test]
    fn by_count_keeps_to_capacity_and_moves_the_frontier() {
        let mut room = room_with(Settings { capacity: 3, burst: 1, ..Settings::default() });
        room.join(Mark::NONE, &subjects(1..=10)).expect("no mark");
        room.change(Mark::NONE, Change::Pause).expect("no mark");
        assert_eq!(count(&mut room, 2), AdmitNowOutcome::Called(2));
        assert_eq!(room.ledger().serving(), 2);
        assert_eq!(count(&mut room, 9), AdmitNowOutcome::Called(1));
        assert_eq!(count(&mut room, 9), AdmitNowOutcome::Called(0));
    }

    #[test]
    fn by_subject_exceeds_capacity_and_takes_from_the_middle() {
        let mut room = room_with(Settings { capacity: 1, ..Settings::default() });
        room.join(Mark::NONE, &subjects(1..=4)).expect("no mark");
        room.change(Mark::NONE, Change::Block(key(4))).expect("no mark");
        let whom = AdmitNow::Subjects(vec![key(3), key(9), key(3), key(4), key(9)]);
        let done = room.admit_now(Mark::NONE, &whom).expect("no mark");
        let AdmitNowOutcome::Granted(grants) = done.outcome else { panic!("by subject") };
        let seqs: Vec<_> = grants.iter().map(|grant| grant.map(|grant| grant.id.seq)).collect();
        assert_eq!(seqs, [Some(3), Some(5), Some(3), None, Some(5)]);
        assert_eq!((room.ledger().serving(), room.ledger().passes().live()), (0, 2));
        let standing = room.ledger().standing(room.mark().incarnation, 2);
        assert_eq!(standing, Standing::InLine { position: 2 });
        assert_eq!(count(&mut room, 5), AdmitNowOutcome::Called(0), "they count as live");
    }
}
