//! An operator's changes to a room. None refills the bucket, resets a number or takes a pass silently.

use jari_units::{Mark, SubjectKey, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Done, Event, LostHistory, Room, SeqSet, Settings};

/// Variants are only ever added at the end: they are stored in journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Settings(Box<Settings>),
    /// Stops admission only: joining and passes go on.
    Pause,
    Resume,
    /// Opens now, whatever `opens_at` says.
    Open,
    /// Stops joining and admission; those waiting keep their places.
    Close(ClosedNext),
    /// Words to everybody; empty text takes them back.
    Announce(String),
    /// Ends the subject's place and pass, and refuses it from now on.
    Block(SubjectKey),
    Unblock(SubjectKey),
    /// Admits the subject whenever it joins, and at once if it waits.
    Allow(SubjectKey),
    Disallow(SubjectKey),
    /// Sells the room out after this many admissions in all.
    AdmitTotal(Option<u64>),
    SoldOut(bool),
}

/// What people in a closed room are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedNext {
    /// When it opens again, by itself; `None`: it has ended or nobody knows.
    pub reopens_at: Option<Timestamp>,
    pub message: String,
}

impl ClosedNext {
    /// The time to open again has come.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.reopens_at.is_some_and(|at| at <= now)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    Changed,
    /// The room was so already; nothing was recorded.
    Unchanged,
}

impl Room {
    /// Applies one change. Outcomes: unchanged | changed.
    ///
    /// Settings must have passed [`Settings::check`]; texts their named limits.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn change(
        &mut self,
        mark: Mark,
        change: Change,
    ) -> Result<Done<ChangeOutcome>, LostHistory> {
        self.guard(mark)?;
        if self.is_so_already(&change) {
            return Ok(self.commit(ChangeOutcome::Unchanged, None));
        }
        let (mut ended, mut granted) = (SeqSet::default(), SeqSet::default());
        match &change {
            Change::Block(subject) => ended.extend(self.live_seq(subject)),
            Change::Allow(subject) if !self.subjects.blocked.contains(subject) => {
                let waiting = self.live_seq(subject).filter(|seq| self.ledger.w.contains(*seq));
                granted.extend(waiting);
            }
            _ => {}
        }
        let deadline = self.ledger.claim_deadline();
        let event = Event::Changed { change: Box::new(change), ended, granted, deadline };
        Ok(self.commit(ChangeOutcome::Changed, Some(event)))
    }

    fn is_so_already(&self, change: &Change) -> bool {
        let ledger = &self.ledger;
        let control = &ledger.control;
        match change {
            Change::Settings(settings) => **settings == ledger.settings,
            Change::Pause => control.paused,
            Change::Resume => !control.paused,
            Change::Open => ledger.schedule_at(ledger.clocks.now).is_none(),
            Change::Close(next) => {
                control.closed.as_ref() == Some(next) && !next.is_over(ledger.clocks.now)
            }
            Change::Announce(text) => {
                control.notice.as_ref().map_or("", |notice| notice.text.as_str()) == text
            }
            Change::Block(key) => self.subjects.blocked.contains(key),
            Change::Unblock(key) => !self.subjects.blocked.contains(key),
            Change::Allow(key) => self.subjects.allowed.contains(key),
            Change::Disallow(key) => !self.subjects.allowed.contains(key),
            Change::AdmitTotal(total) => ledger.settings.admit_total == *total,
            Change::SoldOut(sold_out) => control.sold_out == *sold_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Millis;

    use super::*;
    use crate::join::tests::{key, room, subjects};
    use crate::{JoinOutcome, Phase, Standing};

    #[test]
    fn block_ends_place_and_pass_and_refuses_from_then_on() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=3)).expect("no mark");
        room.change(Mark::NONE, Change::Allow(key(1))).expect("no mark");
        let incarnation = room.mark().incarnation;
        assert!(matches!(room.ledger().standing(incarnation, 1), Standing::Admitted(_)));
        for subject in [1, 2] {
            room.change(Mark::NONE, Change::Block(key(subject))).expect("no mark");
            assert_eq!(room.ledger().standing(incarnation, subject), Standing::Ended);
            let again = room.join(Mark::NONE, &[key(subject)]).expect("no mark").outcome;
            assert_eq!(again, [JoinOutcome::Blocked]);
        }
        room.change(Mark::NONE, Change::Unblock(key(2))).expect("no mark");
        let again = room.join(Mark::NONE, &[key(2)]).expect("no mark").outcome;
        assert_eq!(again, [JoinOutcome::Joined { seq: 4 }], "a new place, at the end");
    }

    #[test]
    fn a_change_that_changes_nothing_is_no_event() {
        let mut room = room();
        for change in [Change::Resume, Change::Open, Change::Announce(String::new())] {
            let done = room.change(Mark::NONE, change).expect("no mark");
            assert_eq!((done.outcome, done.event), (ChangeOutcome::Unchanged, None));
        }
    }

    /// Q4: an operator cannot mint admissions by changing settings to and fro.
    #[test]
    fn settings_never_refill_the_bucket_nor_move_a_number() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=5)).expect("no mark");
        let before = room.dump();
        for burst in [1, 200] {
            let settings = Box::new(Settings { burst, ..Settings::default() });
            room.change(Mark::NONE, Change::Settings(settings)).expect("no mark");
        }
        let after = room.dump();
        assert_eq!(after.bucket, crate::ledger::TOKEN, "cut to a burst of one, not filled again");
        assert_eq!((after.next_seq, after.w), (before.next_seq, before.w));
    }

    #[test]
    fn open_overrides_the_clock() {
        let opens_at = Some(Timestamp(5_000_000));
        let mut room = crate::join::tests::room_with(Settings { opens_at, ..Settings::default() });
        assert!(matches!(
            room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome[..],
            [JoinOutcome::NotOpen { .. }]
        ));
        room.change(Mark::NONE, Change::Open).expect("no mark");
        room.join(Mark::NONE, &[key(1)]).expect("no mark");
        let now = room.ledger().clocks().now + Millis(1_000);
        assert_eq!(room.admit(Mark::NONE, now, None).expect("no mark").outcome.called, 1);
        // Other settings leave it open; a new opening time counts again.
        let faster = Settings { opens_at, rate_milli: 300_000, ..Settings::default() };
        room.change(Mark::NONE, Change::Settings(Box::new(faster.clone()))).expect("no mark");
        assert_eq!(room.ledger().phase(), Phase::Open);
        let later = Settings { opens_at: Some(Timestamp(6_000_000)), ..faster };
        room.change(Mark::NONE, Change::Settings(Box::new(later))).expect("no mark");
        assert!(matches!(room.ledger().phase(), Phase::NotOpen { .. }));
    }

    #[test]
    fn a_closed_room_opens_again_when_it_said() {
        let mut room = room();
        let reopens_at = Some(Timestamp(1_002_000));
        let next = ClosedNext { reopens_at, message: String::new() };
        room.change(Mark::NONE, Change::Close(next)).expect("no mark");
        assert_eq!(room.ledger().next_boundary(), reopens_at, "an idle room is woken for it");
        let phases = [1_001_000, 1_002_000].map(|now| {
            room.admit(Mark::NONE, Timestamp(now), None).expect("no mark");
            room.ledger().phase()
        });
        assert!(matches!(phases, [Phase::Closed(_), Phase::Open]), "{phases:?}");
    }

    #[test]
    fn a_closing_time_after_the_hand_that_opened_still_closes() {
        let times = |closes_at| Settings { closes_at, ..Settings::default() };
        let mut room = crate::join::tests::room_with(times(Some(Timestamp(900_000))));
        assert!(matches!(room.ledger().phase(), Phase::Closed(_)));
        room.change(Mark::NONE, Change::Open).expect("no mark");
        assert_eq!(room.ledger().phase(), Phase::Open);
        let closes = Box::new(times(Some(Timestamp(1_001_000))));
        room.change(Mark::NONE, Change::Settings(closes)).expect("no mark");
        room.admit(Mark::NONE, Timestamp(1_001_000), None).expect("no mark");
        assert!(matches!(room.ledger().phase(), Phase::Closed(_)));
    }
}
