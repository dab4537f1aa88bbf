//! Each clause of the LineStore contract that a random history does not meet, as a check of its own.

use std::sync::Arc;

use jari_line::{
    Change, GroupSettings, JoinOutcome, Ledger, RedeemOutcome, Replica, SeenBits, Settings, Ticket,
};
use jari_ports::{BoxFuture, LineStore, StoreError};
use jari_units::limits::{JOIN_BATCH_MAX, SEQ_MAX};
use jari_units::{GroupId, Mark, Millis, RoomId, SubjectKey};

use crate::Harness;
use crate::history::START;

type Clause = for<'a> fn(&'a mut dyn Harness) -> BoxFuture<'a, ()>;

/// All clauses by name.
pub const CLAUSES: &[(&str, Clause)] = &[
    ("an unknown room is an error of its own", |h| Box::pin(unknown_room(h))),
    ("creating twice leaves the room as it is", |h| Box::pin(create_twice(h))),
    ("a re-created room begins a newer history", |h| Box::pin(recreate(h))),
    ("deleting a room of an older life leaves the one made since", |h| Box::pin(delete_late(h))),
    ("a caller ahead of the store is told that history was lost", |h| Box::pin(lost_history(h))),
    ("a caller of an older incarnation is served", |h| Box::pin(older_incarnation(h))),
    ("a full batch keeps its order", |h| Box::pin(full_batch(h))),
    ("10,000 joins of one subject in parallel give one place (Q1)", |h| Box::pin(one_place(h))),
    ("read then subscribe misses nothing", |h| Box::pin(read_then_subscribe(h))),
    ("every acknowledged operation survives a restart (A2)", |h| Box::pin(survives(h))),
    ("a one-time token lands once, also after a restart (Q5)", |h| Box::pin(token_once(h))),
    ("rooms do not touch each other", |h| Box::pin(rooms_apart(h))),
    ("rooms are listed in order", |h| Box::pin(listed(h))),
    ("rooms are due while anybody waits, or when a time of theirs comes", |h| {
        Box::pin(crate::due::due(h))
    }),
    ("a limit group's rooms keep to its capacity in sum (Q4)", |h| Box::pin(group_capacity(h))),
    ("a limit group survives a restart", |h| Box::pin(group_restart(h))),
    ("15 minutes of downtime make nobody absent", |h| Box::pin(downtime(h))),
    ("more than half of a large step unseen is an alarm, half is none", |h| Box::pin(alarms(h))),
    ("a clock stepped by five minutes admits nobody twice (A4)", |h| Box::pin(clock_steps(h))),
];

pub(crate) fn id(text: &str) -> RoomId {
    text.parse().expect("an id")
}

/// The subject number `n`.
#[must_use]
pub fn subject(n: u64) -> SubjectKey {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    SubjectKey(key)
}

pub(crate) fn subjects(numbers: std::ops::RangeInclusive<u64>) -> Vec<SubjectKey> {
    numbers.map(subject).collect()
}

pub(crate) async fn made(
    harness: &mut dyn Harness,
    room: &RoomId,
    settings: Settings,
) -> Arc<dyn LineStore> {
    harness.clock().set(START);
    let store = harness.store();
    store.create(room, settings).await.expect("created");
    store
}

async fn ledger(store: &Arc<dyn LineStore>, room: &RoomId) -> Ledger {
    store.read(room).await.expect("read").outcome
}

async fn unknown_room(harness: &mut dyn Harness) {
    let (store, nowhere) = (harness.store(), id("nowhere"));
    let unknown = StoreError::UnknownRoom(nowhere.clone());
    let joined = store.join(&nowhere, Mark::NONE, subjects(1..=1)).await;
    assert_eq!(joined.expect_err("no room"), unknown);
    assert_eq!(store.admit(&nowhere, Mark::NONE).await.expect_err("no room"), unknown);
    assert_eq!(store.read(&nowhere).await.expect_err("no room"), unknown);
    assert!(store.subscribe(&nowhere, 0).await.is_err());
    assert_eq!(store.delete(&nowhere, SEQ_MAX).await, Ok(false));
}

async fn create_twice(harness: &mut dyn Harness) {
    let room = id("twice");
    let store = made(harness, &room, Settings::default()).await;
    store.join(&room, Mark::NONE, subjects(1..=3)).await.expect("joined");
    let other = Settings { capacity: 1, ..Settings::default() };
    let again = store.create(&room, other).await.expect("answered");
    assert!(!again.outcome);
    let ledger = ledger(&store, &room).await;
    assert_eq!((ledger.waiting(), ledger.settings().capacity), (3, 5_000));
    assert_eq!(again.mark, ledger.mark());
}

async fn recreate(harness: &mut dyn Harness) {
    let room = id("phoenix");
    let store = made(harness, &room, Settings::default()).await;
    let first = store.join(&room, Mark::NONE, subjects(1..=1)).await.expect("joined").mark;
    assert_eq!(store.delete(&room, first.incarnation).await, Ok(true));
    assert!(matches!(store.read(&room).await, Err(StoreError::UnknownRoom(_))));
    harness.restart().await;
    let store = harness.store();
    let second = store.create(&room, Settings::default()).await.expect("created").mark;
    assert!(second.incarnation > first.incarnation, "{second:?} after {first:?}");
    assert_eq!(second.next_seq, 1);
}

/// Who deletes the old room does not delete the one that somebody else has made since under its name.
async fn delete_late(harness: &mut dyn Harness) {
    let room = id("again");
    let store = made(harness, &room, Settings::default()).await;
    let old = store.join(&room, Mark::NONE, subjects(1..=1)).await.expect("joined").mark;
    assert_eq!(store.delete(&room, old.incarnation).await, Ok(true));
    store.create(&room, Settings::default()).await.expect("created");
    let new = store.join(&room, Mark::NONE, subjects(2..=3)).await.expect("joined").mark;
    assert_eq!(store.delete(&room, old.incarnation).await, Ok(false));
    assert_eq!(store.delete(&room, new.incarnation - 1).await, Ok(false));
    assert_eq!(ledger(&store, &room).await.mark(), new, "nothing changed");
    assert_eq!(store.delete(&room, new.incarnation).await, Ok(true));
}

async fn lost_history(harness: &mut dyn Harness) {
    let room = id("lost");
    let store = made(harness, &room, Settings::default()).await;
    let mark = store.join(&room, Mark::NONE, subjects(1..=2)).await.expect("joined").mark;
    for ahead in [
        Mark { event_no: mark.event_no + 1, ..mark },
        Mark { next_seq: mark.next_seq + 1, ..mark },
        Mark { incarnation: mark.incarnation + 1, ..mark },
    ] {
        let answer = store.join(&room, ahead, subjects(3..=3)).await;
        assert!(matches!(answer, Err(StoreError::LostHistory(_))), "{answer:?}");
        let tick = store.admit(&room, ahead).await;
        assert!(matches!(tick, Err(StoreError::LostHistory(_))), "{tick:?}");
    }
    assert_eq!(ledger(&store, &room).await.mark(), mark, "nothing changed");
}

async fn older_incarnation(harness: &mut dyn Harness) {
    let room = id("older");
    let store = made(harness, &room, Settings::default()).await;
    let old = Mark { incarnation: 1, event_no: 1_000_000, next_seq: 1_000_000 };
    let joined = store.join(&room, old, subjects(1..=1)).await.expect("served");
    assert_eq!(joined.outcome, [JoinOutcome::Joined { seq: 1 }]);
    assert!(joined.mark.incarnation > 1, "and told the present incarnation");
}

async fn full_batch(harness: &mut dyn Harness) {
    let room = id("batch");
    let store = made(harness, &room, Settings::default()).await;
    let batch = subjects(1..=JOIN_BATCH_MAX as u64);
    let outcomes = store.join(&room, Mark::NONE, batch).await.expect("joined").outcome;
    let want: Vec<_> = (1..=JOIN_BATCH_MAX as u64).map(|seq| JoinOutcome::Joined { seq }).collect();
    assert_eq!(outcomes, want);
}

async fn one_place(harness: &mut dyn Harness) {
    let room = id("one-place");
    let store = made(harness, &room, Settings::default()).await;
    let calls = (0..10_000).map(|_| store.join(&room, Mark::NONE, vec![subject(7)]));
    let answers = futures_util::future::join_all(calls).await;
    let mut places = std::collections::BTreeSet::new();
    let mut new = 0;
    for answer in answers {
        match answer.expect("joined").outcome[..] {
            [JoinOutcome::Joined { seq }] => {
                new += 1;
                places.insert(seq);
            }
            [JoinOutcome::Waiting { seq }] => _ = places.insert(seq),
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!((new, places.len()), (1, 1));
    assert_eq!(ledger(&store, &room).await.waiting(), 1);
}

async fn read_then_subscribe(harness: &mut dyn Harness) {
    let room = id("feed");
    let store = made(harness, &room, Settings::default()).await;
    store.join(&room, Mark::NONE, subjects(1..=5)).await.expect("joined");
    let read = store.read(&room).await.expect("read");
    let mut replica = Replica::new(read.outcome);
    // Things happen between the read and the subscription.
    store.leave(&room, Mark::NONE, subjects(2..=2)).await.expect("left");
    let mut feed = store.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    harness.clock().advance(Millis(1_000));
    store.admit(&room, Mark::NONE).await.expect("ticked");
    store.change(&room, Mark::NONE, Change::Pause).await.expect("changed");
    let end = store.join(&room, Mark::NONE, subjects(6..=9)).await.expect("joined").mark;
    while replica.ledger().mark() != end {
        let event = feed.next().await.expect("no gap");
        replica.apply(&event).expect("in order");
    }
    assert_eq!(replica.ledger(), &ledger(&store, &room).await);
}

async fn survives(harness: &mut dyn Harness) {
    let room = id("survives");
    let store = made(harness, &room, Settings { burst: 3, ..Settings::default() }).await;
    store.join(&room, Mark::NONE, subjects(1..=50)).await.expect("joined");
    store.leave(&room, Mark::NONE, subjects(9..=11)).await.expect("left");
    harness.clock().advance(Millis(1_000));
    store.admit(&room, Mark::NONE).await.expect("ticked");
    store.change(&room, Mark::NONE, Change::Announce("안녕".into())).await.expect("changed");
    let before = store.dump(&room).await.expect("dumped");
    for _ in 0..2 {
        harness.restart().await;
        let after = harness.store().dump(&room).await.expect("dumped");
        assert_eq!(after, before);
    }
    let again = harness.store().join(&room, before.mark, subjects(50..=51)).await.expect("joined");
    use JoinOutcome::{Joined, Waiting};
    assert_eq!(again.outcome, [Waiting { seq: 50 }, Joined { seq: 51 }]);
}

async fn token_once(harness: &mut dyn Harness) {
    let room = id("once");
    let store = made(harness, &room, Settings::default()).await;
    store.change(&room, Mark::NONE, Change::Allow(subject(1))).await.expect("changed");
    let joined = store.join(&room, Mark::NONE, subjects(1..=1)).await.expect("joined").outcome;
    let [JoinOutcome::Allowed(grant)] = joined[..] else { panic!("{joined:?}") };
    // As large as a number of the year 2026 is: a store that rounds would take two for one.
    let no = 1_796_000_000 << 20;
    let ticket = |no: u64, call: u8| Ticket { pass: grant.id, no, nonce: [call; 16] };
    let redeemed = store.redeem(&room, Mark::NONE, ticket(no, 0xa0)).await.expect("answered");
    assert!(matches!(redeemed.outcome, RedeemOutcome::Redeemed(told) if told.claimed));
    harness.restart().await;
    let store = harness.store();
    for (no, call, want) in
        [(no, 0xa0, true), (no, 0xa1, false), (no - 1, 0xa1, false), (no + 1, 0xa1, true)]
    {
        let answer = store.redeem(&room, Mark::NONE, ticket(no, call)).await.expect("answered");
        let landed = matches!(answer.outcome, RedeemOutcome::Redeemed(_));
        assert_eq!(landed, want, "token {no} by call {call}: {:?}", answer.outcome);
    }
    // Of many calls at once that show one token, one lands.
    let calls = (0..50).map(|call| store.redeem(&room, Mark::NONE, ticket(no + 2, call)));
    let answers = futures_util::future::join_all(calls).await;
    let landed = answers.into_iter().map(|answer| answer.expect("answered").outcome);
    let landed = landed.filter(|outcome| matches!(outcome, RedeemOutcome::Redeemed(_))).count();
    assert_eq!(landed, 1);
}

async fn rooms_apart(harness: &mut dyn Harness) {
    let (one, two) = (id("apart-1"), id("apart-2"));
    let store = made(harness, &one, Settings::default()).await;
    made(harness, &two, Settings::default()).await;
    let before = store.dump(&two).await.expect("dumped");
    store.join(&one, Mark::NONE, subjects(1..=9)).await.expect("joined");
    store.change(&one, Mark::NONE, Change::Block(subject(3))).await.expect("changed");
    assert_eq!(store.dump(&two).await.expect("dumped"), before);
}

async fn listed(harness: &mut dyn Harness) {
    for room in ["b", "a", "a-1"] {
        made(harness, &id(room), Settings::default()).await;
    }
    assert_eq!(harness.store().rooms().await, Ok(vec![id("a"), id("a-1"), id("b")]));
}

fn grouped() -> Settings {
    Settings { grouped: true, rate_milli: 1_000_000, burst: 500, ..Settings::default() }
}

async fn group_capacity(harness: &mut dyn Harness) {
    let rooms = [id("g1"), id("g2"), id("g3")];
    let group: GroupId = "shop".parse().expect("an id");
    let mut store = harness.store();
    for room in &rooms {
        store = made(harness, room, grouped()).await;
        store.join(room, Mark::NONE, subjects(1..=200)).await.expect("joined");
    }
    let limits = GroupSettings { capacity: 60, rate_milli: 30_000, burst: 30 };
    store.set_group(&group, limits, rooms.to_vec()).await.expect("set");
    let mut admitted = 0;
    for tick in 0..40 {
        harness.clock().advance(Millis(1_000));
        let mut live = 0;
        for room in &rooms {
            admitted += store.admit(room, Mark::NONE).await.expect("ticked").outcome.called;
            live += ledger(&store, room).await.passes().live();
        }
        assert!(live <= 60, "{live} live in the group");
        assert!(admitted <= 30 + 30 * (tick + 1), "{admitted} admitted by tick {tick}");
        if tick == 20 {
            store.leave(&rooms[0], Mark::NONE, subjects(1..=10)).await.expect("left");
        }
    }
    assert!(admitted > 60, "a freed slot is used again");
}

async fn group_restart(harness: &mut dyn Harness) {
    let rooms = [id("r1"), id("r2")];
    let group: GroupId = "shop".parse().expect("an id");
    for room in &rooms {
        let store = made(harness, room, grouped()).await;
        store.join(room, Mark::NONE, subjects(1..=100)).await.expect("joined");
    }
    let limits = GroupSettings { capacity: 50, rate_milli: 10_000, burst: 40 };
    harness.store().set_group(&group, limits, rooms.to_vec()).await.expect("set");
    let mut admitted = 0;
    for tick in 0..6 {
        harness.clock().advance(Millis(1_000));
        for room in &rooms {
            let outcome = harness.store().admit(room, Mark::NONE).await.expect("ticked").outcome;
            admitted += outcome.called;
        }
        assert!(admitted <= 50.min(40 + 10 * (tick + 1)), "{admitted} by tick {tick}");
        harness.restart().await;
        harness.store().set_group(&group, limits, rooms.to_vec()).await.expect("set");
    }
    assert_eq!(admitted, 50);
}

async fn downtime(harness: &mut dyn Harness) {
    let room = id("downtime");
    let slow = Settings { rate_milli: 1_000, burst: 1, ..Settings::default() };
    let store = made(harness, &room, slow).await;
    store.join(&room, Mark::NONE, subjects(1..=500)).await.expect("joined");
    store.join(&room, Mark::NONE, subjects(501..=1_000)).await.expect("joined");
    harness.clock().advance(Millis(1_000));
    store.admit(&room, Mark::NONE).await.expect("ticked");
    harness.restart().await;
    harness.clock().advance(Millis::from_mins(15));
    for _ in 0..90 {
        harness.store().admit(&room, Mark::NONE).await.expect("ticked");
        harness.clock().advance(Millis(1_000));
    }
    let ledger = ledger(&harness.store(), &room).await;
    assert_eq!((ledger.absent(), ledger.totals().no_shows), (0, 0));
    assert!(ledger.totals().admitted > 80, "the line moves in the lull");
}

async fn alarms(harness: &mut dyn Harness) {
    for (seen, alarm) in [(49u64, true), (50, false)] {
        let room = id(&format!("alarm-{seen}"));
        let window = Millis::from_secs(10);
        let still = Settings { presence_window: window, rate_milli: 0, ..Settings::default() };
        let store = made(harness, &room, still.clone()).await;
        store.join(&room, Mark::NONE, subjects(1..=100)).await.expect("joined");
        for _ in 0..6 {
            harness.clock().advance(Millis(4_000));
            store.admit(&room, Mark::NONE).await.expect("ticked");
        }
        let bits = SeenBits::pack(&(1..=seen).collect()).remove(0);
        store.seen(&room, Mark::NONE, bits).await.expect("seen");
        let moves = Change::Settings(Box::new(Settings { rate_milli: 200_000, ..still }));
        store.change(&room, Mark::NONE, moves).await.expect("changed");
        harness.clock().advance(Millis(1_000));
        let tick = store.admit(&room, Mark::NONE).await.expect("ticked").outcome;
        let called = if alarm { 0 } else { seen };
        assert_eq!((tick.mass_absence, tick.called), (alarm, called), "{seen} of 100 seen");
    }
}

async fn clock_steps(harness: &mut dyn Harness) {
    let room = id("steps");
    let settings = Settings { rate_milli: 10_000, burst: 10, ..Settings::default() };
    let store = made(harness, &room, settings).await;
    store.join(&room, Mark::NONE, subjects(1..=500)).await.expect("joined");
    let five_minutes = 300_000;
    let mut admitted = 0;
    for step in [1_000i64, -five_minutes, 1_000, five_minutes, 1_000, -five_minutes, 1_000] {
        let now = jari_ports::Clock::now(&*harness.clock());
        harness.clock().set(jari_units::Timestamp(now.0.wrapping_add_signed(step)));
        let before = ledger(&store, &room).await;
        admitted += store.admit(&room, Mark::NONE).await.expect("ticked").outcome.called;
        let after = ledger(&store, &room).await;
        assert!(after.clocks().now >= before.clocks().now, "time ran backwards");
        assert_eq!(after.totals().no_shows + after.absent(), 0, "nobody expired");
    }
    let line_ms = ledger(&store, &room).await.clocks().line_ms.0;
    assert!(admitted <= 10 + 10 * line_ms / 1_000, "{admitted} in {line_ms} ms");
    assert!(admitted >= 38, "and the line went on");
}

/// Checks every clause, each on a fresh store.
///
/// # Panics
/// Where a clause does not hold.
pub async fn check_all(start: &dyn Fn() -> Box<dyn Harness>) {
    for (name, clause) in CLAUSES {
        crate::history::announce(&format!("clause: {name}"));
        clause(start().as_mut()).await;
    }
}
