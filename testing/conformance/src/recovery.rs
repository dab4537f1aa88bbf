//! The clauses of losing history: each thing that a store must do when it has lost some, through its port.

use std::sync::Arc;

use jari_line::{
    Dump, JoinOutcome, Ledger, Loss, Past, ReattachOutcome, Receipt, RecoverOutcome,
    RestoreOutcome, SeqSet, Settings, Standing,
};
use jari_ports::{BoxFuture, LineStore, StoreError};
use jari_units::limits::{RECOVERY_MIN, RECOVERY_WINDOW};
use jari_units::{Mark, Millis, RoomId, Seq};

use crate::Harness;
use crate::clauses::subject;
use crate::history::{START, announce};

/// A store whose data can be taken away.
pub trait Losing: Harness {
    /// Copies the store's data as it is now, in place of an earlier copy.
    fn keep(&mut self) -> BoxFuture<'_, ()>;

    /// The store starts again on that copy: what came after it is lost.
    fn fall_back(&mut self) -> BoxFuture<'_, ()>;

    /// The store starts again with nothing.
    fn wipe(&mut self) -> BoxFuture<'_, ()>;
}

type Clause = for<'a> fn(&'a mut dyn Losing) -> BoxFuture<'a, ()>;

/// All clauses by name.
pub const CLAUSES: &[(&str, Clause)] = &[
    ("a wiped room comes back from replicas, in order, those inside counted (Q4, Q8)", |h| {
        Box::pin(wiped_with_replicas(h))
    }),
    ("a wiped room comes back from receipts alone (Q1)", |h| Box::pin(wiped_with_receipts(h))),
    ("a store that fell back gives no number twice (Q3)", |h| Box::pin(fell_back(h))),
    ("of 100 callers who say that history was lost, one begins the recovery", |h| {
        Box::pin(racing(h))
    }),
    ("what was told survives a restart within the window (A3)", |h| Box::pin(restarted(h))),
    ("who ended does not get back in front, whoever tells first", |h| Box::pin(ended_stays(h))),
    ("the window ends early once every node has told everything", |h| Box::pin(early_end(h))),
    ("a room that recovers is followed by reading it again", |h| Box::pin(followed(h))),
    ("tellings and receipts of a room that lost nothing change nothing", |h| {
        Box::pin(nothing_lost(h))
    }),
];

const NODE: u64 = 1;

fn id() -> RoomId {
    "lost".parse().expect("an id")
}

fn settings() -> Settings {
    Settings { capacity: 20, burst: 20, rate_milli: 20_000, ..Settings::default() }
}

/// A room with `people` waiting, of whom the first 20 were called and the numbers 3 and 30 left.
async fn filled(harness: &mut dyn Losing, people: u64) -> Arc<dyn LineStore> {
    harness.clock().set(START);
    let (store, room) = (harness.store(), id());
    store.create(&room, settings()).await.expect("created");
    join(&store, 1..=people).await;
    tick(harness).await;
    let gone = vec![subject(3), subject(30)];
    store.leave(&room, Mark::NONE, gone).await.expect("left");
    store
}

async fn join(store: &Arc<dyn LineStore>, who: std::ops::RangeInclusive<u64>) -> Vec<JoinOutcome> {
    let joined = store.join(&id(), Mark::NONE, who.map(subject).collect()).await;
    joined.expect("joined").outcome
}

async fn tick(harness: &mut dyn Losing) {
    harness.clock().advance(Millis(1_000));
    harness.store().admit(&id(), Mark::NONE).await.expect("ticked");
}

async fn read(harness: &mut dyn Losing) -> Ledger {
    harness.store().read(&id()).await.expect("read").outcome
}

async fn dump(harness: &mut dyn Losing) -> Dump {
    harness.store().dump(&id()).await.expect("dumped").outcome
}

fn past(ledger: &Ledger) -> Loss {
    Loss::Seen(Past { mark: ledger.mark(), origin: Some(ledger.origin()) })
}

async fn recover(harness: &mut dyn Losing, loss: Loss) -> RecoverOutcome {
    harness.store().recover(&id(), settings(), loss, NODE).await.expect("answered").outcome
}

async fn tell_all(harness: &mut dyn Losing, node: u64, replica: &Ledger) {
    for telling in replica.tellings(replica.mark()) {
        let told = harness.store().restore(&id(), Mark::NONE, node, telling).await;
        assert_eq!(told.expect("told").outcome, RestoreOutcome::Merged);
    }
}

async fn wait(harness: &mut dyn Losing) {
    for _ in 0..RECOVERY_WINDOW.0 / 1_000 {
        assert!(read(harness).await.is_recovering());
        tick(harness).await;
    }
    assert!(!read(harness).await.is_recovering());
}

fn receipt(ledger: &Ledger, who: u64, seq: Seq, pass: Option<u8>) -> Receipt {
    let (incarnation, as_of) = (ledger.mark().incarnation, ledger.clocks().now);
    Receipt { subject: subject(who), incarnation, seq, as_of, pass }
}

async fn show(harness: &mut dyn Losing, receipts: Vec<Receipt>) -> Vec<ReattachOutcome> {
    let shown = harness.store().reattach(&id(), Mark::NONE, receipts).await;
    shown.expect("answered").outcome
}

async fn wiped_with_replicas(harness: &mut dyn Losing) {
    filled(harness, 100).await;
    let (lost, was) = (read(harness).await, dump(harness).await);
    harness.wipe().await;
    assert!(matches!(harness.store().read(&id()).await, Err(StoreError::UnknownRoom(_))));
    assert_eq!(recover(harness, past(&lost)).await, RecoverOutcome::Began);
    assert_eq!(join(&harness.store(), 500..=500).await, [JoinOutcome::Recovering]);
    tell_all(harness, NODE, &lost).await;
    wait(harness).await;
    let is = dump(harness).await;
    assert_eq!((&is.w, &is.passes, is.serving), (&was.w, &was.passes, was.serving));
    assert!(is.mark.incarnation > lost.mark().incarnation);
    // One slot is free, of the one who left; nobody was heard from yet but those called are still inside.
    harness.store().seen(&id(), Mark::NONE, all(&is.w)).await.expect("seen");
    tick(harness).await;
    let after = dump(harness).await;
    assert_eq!(after.passes.len(), 20, "capacity is not doubled");
    assert!(after.passes.iter().any(|(seq, _)| *seq == 21), "and the next in line went in");
    let new = join(&harness.store(), 500..=500).await;
    assert!(matches!(new[..], [JoinOutcome::Joined { seq }] if seq > 100), "{new:?}");
}

fn all(seqs: &SeqSet) -> jari_line::SeenBits {
    jari_line::SeenBits::pack(seqs).remove(0)
}

async fn wiped_with_receipts(harness: &mut dyn Losing) {
    filled(harness, 100).await;
    let lost = read(harness).await;
    harness.wipe().await;
    assert_eq!(recover(harness, Loss::Seen(Past::default())).await, RecoverOutcome::Began);
    let inside: Vec<_> =
        (1..=20).filter(|n| *n != 3).map(|n| receipt(&lost, n, n, Some(1))).collect();
    let waiting = (40..=100).rev().map(|n| receipt(&lost, n, n, None));
    assert!(
        show(harness, inside)
            .await
            .iter()
            .all(|shown| matches!(shown, ReattachOutcome::Admitted(_)))
    );
    let shown = show(harness, waiting.collect()).await;
    let restored: Vec<_> = (40..=100).rev().map(|seq| ReattachOutcome::Restored { seq }).collect();
    assert_eq!(shown, restored);
    wait(harness).await;
    let ledger = read(harness).await;
    assert_eq!((ledger.passes().live(), ledger.waiting()), (19, 61));
    for (position, seq) in (1..).zip(40..=100) {
        let standing = ledger.standing(lost.mark().incarnation, seq);
        assert_eq!(standing, Standing::InLine { position });
    }
    assert_eq!(
        join(&harness.store(), 40..=41).await,
        [40, 41].map(|seq| JoinOutcome::Waiting { seq })
    );
    // Too late: what was not told or shown in time has ended.
    assert_eq!(show(harness, vec![receipt(&lost, 39, 39, None)]).await, [ReattachOutcome::Ended]);
}

async fn fell_back(harness: &mut dyn Losing) {
    filled(harness, 50).await;
    harness.keep().await;
    join(&harness.store(), 51..=60).await;
    tick(harness).await;
    let lost = read(harness).await;
    harness.fall_back().await;
    let refused = harness.store().join(&id(), lost.mark(), vec![subject(99)]).await;
    assert!(matches!(refused, Err(StoreError::LostHistory(_))), "{refused:?}");
    assert_eq!(recover(harness, past(&lost)).await, RecoverOutcome::Began);
    let shown =
        show(harness, vec![receipt(&lost, 55, 55, None), receipt(&lost, 40, 40, None)]).await;
    assert_eq!(
        shown,
        [ReattachOutcome::Restored { seq: 55 }, ReattachOutcome::Waiting { seq: 40 }]
    );
    wait(harness).await;
    let new = join(&harness.store(), 200..=250).await;
    assert!(
        new.iter().all(|new| matches!(new, JoinOutcome::Joined { seq } if *seq > 60)),
        "{new:?}"
    );
    // 51 to 60 were given; the one shown is back, the others did not come in time.
    let ledger = read(harness).await;
    let standing = |seq| ledger.standing(lost.mark().incarnation, seq);
    assert!(matches!(standing(55), Standing::InLine { .. }));
    assert_eq!(standing(54), Standing::Ended);
}

async fn racing(harness: &mut dyn Losing) {
    filled(harness, 10).await;
    let lost = read(harness).await;
    harness.wipe().await;
    let store = harness.store();
    let room = id();
    let calls = (0..100).map(|_| store.recover(&room, settings(), past(&lost), NODE));
    let answers = futures_util::future::join_all(calls).await;
    let outcomes: Vec<_> =
        answers.into_iter().map(|answer| answer.expect("answered").outcome).collect();
    let began = outcomes.iter().filter(|outcome| **outcome == RecoverOutcome::Began).count();
    let joined = outcomes.iter().filter(|outcome| **outcome == RecoverOutcome::UnderWay).count();
    assert_eq!((began, joined), (1, 99));
    let created = store.create(&room, settings()).await.expect("answered");
    assert!(!created.outcome, "and creating it finds it there");
}

async fn restarted(harness: &mut dyn Losing) {
    filled(harness, 30).await;
    harness.keep().await;
    join(&harness.store(), 31..=40).await;
    let lost = read(harness).await;
    harness.fall_back().await;
    recover(harness, past(&lost)).await;
    show(harness, vec![receipt(&lost, 35, 35, None)]).await;
    let before = dump(harness).await;
    harness.restart().await;
    assert_eq!(dump(harness).await, before);
    tell_all(harness, NODE, &lost).await;
    let before = dump(harness).await;
    harness.restart().await;
    assert_eq!(dump(harness).await, before);
    wait(harness).await;
    let before = dump(harness).await;
    harness.restart().await;
    assert_eq!(dump(harness).await, before);
    assert_eq!(before.w.len(), lost.waiting() + lost.absent());
}

async fn ended_stays(harness: &mut dyn Losing) {
    filled(harness, 60).await;
    let older = read(harness).await;
    let gone = vec![subject(25), subject(5)];
    harness.store().leave(&id(), Mark::NONE, gone).await.expect("left");
    let newer = read(harness).await;
    for order in [[&older, &newer], [&newer, &older]] {
        harness.wipe().await;
        recover(harness, past(&newer)).await;
        let tokens = vec![receipt(&older, 25, 25, None), receipt(&older, 5, 5, Some(1))];
        show(harness, tokens.clone()).await;
        for replica in order {
            tell_all(harness, NODE, replica).await;
        }
        assert_eq!(show(harness, tokens).await, [ReattachOutcome::Ended; 2]);
        wait(harness).await;
        let ledger = read(harness).await;
        let counts = (ledger.waiting(), ledger.passes().live());
        assert_eq!(counts, (newer.waiting(), newer.passes().live()));
        assert_eq!(join(&harness.store(), 25..=25).await.len(), 1);
    }
}

async fn early_end(harness: &mut dyn Losing) {
    let store = filled(harness, 30).await;
    for node in [1, 2] {
        store.attend(&id(), Mark::NONE, node).await.expect("noted");
    }
    harness.keep().await;
    tick(harness).await;
    let lost = read(harness).await;
    harness.fall_back().await;
    recover(harness, past(&lost)).await;
    tell_all(harness, 1, &lost).await;
    for _ in 0..RECOVERY_MIN.0 / 1_000 {
        tick(harness).await;
    }
    assert!(read(harness).await.is_recovering(), "one node is still to tell");
    tell_all(harness, 2, &lost).await;
    tick(harness).await;
    assert!(!read(harness).await.is_recovering());
}

async fn followed(harness: &mut dyn Losing) {
    let store = filled(harness, 10).await;
    let lost = read(harness).await;
    let mut feed = store.subscribe(&id(), lost.mark().event_no).await.expect("subscribed");
    assert_eq!(recover(harness, Loss::Declared).await, RecoverOutcome::Began);
    let next = feed.next().await;
    let told = next.is_err() || next.is_ok_and(|event| lost.clone().apply(&event).is_err());
    assert!(told, "a follower of the old history is told to read again");
    let read = read(harness).await;
    assert!(read.is_recovering());
    let mut copy = read.clone();
    let mut feed = store.subscribe(&id(), read.mark().event_no).await.expect("subscribed");
    show(harness, vec![receipt(&lost, 5, 5, None)]).await;
    tell_all(harness, NODE, &lost).await;
    tick(harness).await;
    let end = harness.store().read(&id()).await.expect("read").outcome;
    while copy.mark() != end.mark() {
        copy.apply(&feed.next().await.expect("no gap")).expect("in order");
    }
    assert_eq!(copy, end);
}

async fn nothing_lost(harness: &mut dyn Losing) {
    let store = filled(harness, 20).await;
    let before = dump(harness).await;
    let ledger = read(harness).await;
    assert_eq!(recover(harness, past(&ledger)).await, RecoverOutcome::NothingLost);
    let telling = ledger.tellings(ledger.mark()).next().expect("one part");
    let told = store.restore(&id(), Mark::NONE, NODE, telling).await.expect("answered");
    assert_eq!(told.outcome, RestoreOutcome::Late);
    let old = Receipt { incarnation: 1, ..receipt(&ledger, 7, 7, None) };
    let other = receipt(&ledger, 8, 9, None);
    let left = receipt(&ledger, 30, 30, None);
    let shown = show(harness, vec![left, other, old]).await;
    assert!(matches!(shown[0], ReattachOutcome::Ended), "{shown:?}");
    assert_eq!(dump(harness).await, before);
}

/// Checks every clause, each on a fresh store.
///
/// # Panics
/// Where a clause does not hold.
pub async fn check_all(start: &dyn Fn() -> Box<dyn Losing>) {
    for (name, clause) in CLAUSES {
        announce(&format!("clause: {name}"));
        clause(start().as_mut()).await;
    }
}
