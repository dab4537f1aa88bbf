//! A loss and its window: who may call it one, what stands still meanwhile, and how it ends.

use jari_units::{Mark, Millis, SubjectKey, Timestamp, limits};

use super::*;
use crate::join::tests::{key, room, room_with, subjects};
use crate::{
    AdmitNow, AdmitNowOutcome, Change, JoinOutcome, Phase, Receipt, RestoreOutcome, Standing,
};

pub(crate) const NODE: NodeId = 7;

pub(crate) fn past(room: &Room) -> Past {
    Past { mark: room.mark(), origin: Some(room.ledger().origin()) }
}

/// Brings what `ahead` knows as a lost past of `room`.
pub(crate) fn recover(room: &mut Room, ahead: &Room) -> RecoverOutcome {
    let now = room.ledger().clocks.now;
    room.recover(&Loss::Seen(past(ahead)), Settings::default(), now).outcome
}

pub(crate) fn tell_all(room: &mut Room, node: NodeId, replica: &Room) {
    for telling in replica.ledger().tellings(replica.mark()) {
        let done = room.restore(Mark::NONE, node, &telling).expect("no mark");
        assert_eq!(done.outcome, RestoreOutcome::Merged);
    }
}

pub(crate) fn tick(room: &mut Room) {
    let now = room.ledger().clocks.now + Millis(1_000);
    room.admit(Mark::NONE, now, None).expect("no mark");
}

/// Ticks the window to its end.
pub(crate) fn wait(room: &mut Room) {
    let ticks = limits::RECOVERY_WINDOW.0 / 1_000;
    for _ in 0..ticks {
        assert!(room.ledger().is_recovering(), "the window is not over yet");
        tick(room);
    }
    assert!(!room.ledger().is_recovering(), "the window is over");
}

fn join(room: &mut Room, subject: SubjectKey) -> JoinOutcome {
    room.join(Mark::NONE, &[subject]).expect("no mark").outcome.remove(0)
}

/// A room with 20 people, and the copy that a store fell back to: it has only the first 10.
fn fallen_back() -> (Room, Room) {
    let mut room = room();
    room.join(Mark::NONE, &subjects(1..=10)).expect("no mark");
    let store = room.clone();
    room.join(Mark::NONE, &subjects(11..=20)).expect("no mark");
    (room, store)
}

#[test]
fn outcomes_in_order_of_precedence() {
    let (ahead, mut store) = fallen_back();
    let now = Timestamp(1_000_000);
    let behind = Loss::Seen(past(&store));
    let none = Loss::Seen(Past::default());
    for loss in [behind, none] {
        let done = store.recover(&loss, Settings::default(), now);
        assert_eq!((done.outcome, done.event), (RecoverOutcome::NothingLost, None));
    }
    assert_eq!(recover(&mut store, &ahead), RecoverOutcome::Began);
    let begun = store.mark();
    for loss in [Loss::Seen(past(&ahead)), none, Loss::Declared] {
        let done = store.recover(&loss, Settings::default(), now);
        assert_eq!((done.outcome, done.event), (RecoverOutcome::UnderWay, None));
    }
    assert_eq!(store.mark(), begun);
    // Older files in place of newer ones: nobody is ahead, yet it is so.
    let (_, mut restored) = fallen_back();
    let done = restored.recover(&Loss::Declared, Settings::default(), now);
    assert_eq!(done.outcome, RecoverOutcome::Began);
}

/// Q3: the new incarnation is above every one seen, and its numbers above every number.
#[test]
fn incarnation_and_numbers_rise_above_every_mark() {
    let (ahead, mut store) = fallen_back();
    let far = Past { mark: Mark { next_seq: 500, ..ahead.mark() }, ..past(&ahead) };
    let done = store.recover(&Loss::Seen(far), Settings::default(), Timestamp(0));
    assert!(done.mark.incarnation > ahead.mark().incarnation);
    assert_eq!((done.mark.event_no, done.mark.next_seq), (1, 500 + limits::SEQ_JUMP));
    let newer = Past { mark: Mark { incarnation: 9_000_000, ..ahead.mark() }, ..past(&ahead) };
    let (_, mut store) = fallen_back();
    let done = store.recover(&Loss::Seen(newer), Settings::default(), Timestamp(0));
    assert_eq!(done.mark.incarnation, 9_000_001);
}

/// A5: the journal goes on through a recovery.
#[test]
fn the_first_event_leads_from_the_old_history_to_the_new() {
    let (ahead, mut store) = fallen_back();
    let mut copy = store.clone();
    let loss = Loss::Seen(past(&ahead));
    let event = store.recover(&loss, Settings::default(), Timestamp(0)).event.expect("began");
    copy.apply(&event).expect("it goes on from the copy's last event");
    assert_eq!(copy.dump(), store.dump());
    assert!(ahead.clone().apply(&event).is_err(), "a replica ahead of it reads the room again");
    assert_eq!(Room::from_created(&event).map(|room| room.mark()), None, "nothing begins with it");
}

#[test]
fn nothing_moves_in_the_window() {
    let (ahead, mut store) = fallen_back();
    store.change(Mark::NONE, Change::Allow(key(30))).expect("no mark");
    recover(&mut store, &ahead);
    let incarnation = ahead.mark().incarnation;
    assert_eq!(join(&mut store, key(99)), JoinOutcome::Recovering);
    assert_eq!(join(&mut store, key(30)), JoinOutcome::Recovering, "a number is a number");
    assert_eq!(join(&mut store, key(1)), JoinOutcome::Waiting { seq: 1 });
    for seq in [1, 15, 20_000] {
        assert_eq!(store.ledger().standing(incarnation, seq), Standing::Recovering, "{seq}");
    }
    let by_count = store.admit_now(Mark::NONE, &AdmitNow::Count(5)).expect("no mark").outcome;
    assert_eq!(by_count, AdmitNowOutcome::Called(0));
    let whom = AdmitNow::Subjects(vec![key(77)]);
    let by_name = store.admit_now(Mark::NONE, &whom).expect("no mark").outcome;
    assert_eq!(by_name, AdmitNowOutcome::Granted(vec![None]));
    let numbers = store.mark().next_seq;
    wait(&mut store);
    assert_eq!((store.ledger().totals().admitted, store.mark().next_seq), (0, numbers));
    assert_eq!(join(&mut store, key(99)), JoinOutcome::Joined { seq: numbers });
}

/// The window is time in which people could tell: an outage in it does not use it up.
#[test]
fn a_late_tick_puts_the_windows_end_off() {
    let (ahead, mut store) = fallen_back();
    recover(&mut store, &ahead);
    (0..10).for_each(|_| tick(&mut store));
    let now = store.ledger().clocks.now + Millis::from_mins(10);
    store.admit(Mark::NONE, now, None).expect("no mark");
    for _ in 0..19 {
        tick(&mut store);
        assert!(store.ledger().is_recovering());
    }
    tick(&mut store);
    assert!(!store.ledger().is_recovering());
}

/// Nobody is absent, swept or overtaken because of the loss: a lull follows it.
#[test]
fn a_lull_follows() {
    let (ahead, mut store) = fallen_back();
    recover(&mut store, &ahead);
    tell_all(&mut store, NODE, &ahead);
    wait(&mut store);
    assert!(store.ledger().in_lull());
    assert_eq!(store.ledger().phase(), Phase::Open);
    for _ in 0..10 {
        tick(&mut store);
    }
    let ledger = store.ledger();
    assert_eq!((ledger.waiting(), ledger.absent(), ledger.serving()), (20, 0, 0));
}

/// Q4: nothing is saved up by losing the store.
#[test]
fn the_bucket_starts_empty() {
    let (ahead, mut store) = fallen_back();
    recover(&mut store, &ahead);
    assert_eq!(store.dump().bucket, 0);
    let declared = Loss::Declared;
    let lost = Room::recover_lost(&declared, Settings::default(), Timestamp(5), 0).outcome;
    assert_eq!(lost.dump().bucket, 0);
}

#[test]
fn it_ends_early_once_every_node_has_told_and_every_number_is_known() {
    let (mut ahead, store) = fallen_back();
    for (nodes, told, over) in [
        (&[NODE, 8][..], &[NODE, 8][..], true),
        (&[NODE, 8], &[NODE], false),
        // Nobody knows which nodes there were.
        (&[], &[NODE], false),
    ] {
        let mut store = store.clone();
        for node in nodes {
            store.attend(Mark::NONE, *node).expect("no mark");
        }
        // The history that was lost reached further than the store.
        (0..5).for_each(|_| tick(&mut ahead));
        assert_eq!(recover(&mut store, &ahead), RecoverOutcome::Began);
        told.iter().for_each(|node| tell_all(&mut store, *node, &ahead));
        for _ in 0..limits::RECOVERY_MIN.0 / 1_000 {
            assert!(store.ledger().is_recovering(), "a node that nobody knows of may still tell");
            tick(&mut store);
        }
        assert_eq!(!store.ledger().is_recovering(), over, "{nodes:?} {told:?}");
    }
    // A number was given that no replica has: its owner has all of the window to show it.
    let mut store = store;
    store.attend(Mark::NONE, NODE).expect("no mark");
    let seen = Mark { next_seq: ahead.mark().next_seq + 1, ..ahead.mark() };
    let loss = Loss::Seen(Past { mark: seen, ..past(&ahead) });
    _ = store.recover(&loss, Settings::default(), Timestamp(0));
    tell_all(&mut store, NODE, &ahead);
    wait(&mut store);
}

/// The rates and the line's clock of the lost history go on; what the operator did meanwhile counts.
#[test]
fn a_paused_room_stays_paused() {
    let settings = Settings::default();
    let mut lost = room_with(settings.clone());
    lost.join(Mark::NONE, &subjects(1..=3)).expect("no mark");
    (0..9).for_each(|_| tick(&mut lost));
    lost.change(Mark::NONE, Change::Pause).expect("no mark");
    let begin = || {
        let loss = Loss::Seen(past(&lost));
        Room::recover_lost(&loss, settings.clone(), Timestamp(2_000_000), 0).outcome
    };
    let mut store = begin();
    tell_all(&mut store, NODE, &lost);
    assert_eq!(store.ledger().phase(), Phase::Paused);
    assert_eq!(store.ledger().clocks.silence_ms, lost.ledger().clocks.silence_ms);
    let mut resumed = begin();
    resumed.change(Mark::NONE, Change::Announce("back soon".into())).expect("no mark");
    tell_all(&mut resumed, NODE, &lost);
    assert_eq!(resumed.ledger().phase(), Phase::Open);
}

/// A room of an earlier life is nobody's past: its places are not those of the same numbers later on.
#[test]
fn an_earlier_life_counts_for_nothing() {
    let mut first = room();
    first.join(Mark::NONE, &subjects(1..=5)).expect("no mark");
    let second = Room::create(Settings::default(), Timestamp(5_000_000), 0).outcome;
    assert_eq!(recover(&mut first, &second), RecoverOutcome::Began);
    assert_eq!(first.ledger().waiting(), 0);
    let old = Receipt {
        subject: key(1),
        incarnation: 1_000_000,
        seq: 1,
        as_of: Timestamp(1_000_000),
        pass: None,
    };
    let done = first.reattach(Mark::NONE, &[old]).expect("no mark");
    assert_eq!(done.outcome, [crate::ReattachOutcome::Ended]);
}
