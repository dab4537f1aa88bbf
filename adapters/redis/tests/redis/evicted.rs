//! Keys of a room that vanish from under it, by an eviction at `maxmemory` or by a hand: nobody becomes absent by it, and
//! where the line itself is gone the room comes back from what nodes know.

use std::sync::Arc;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{Change, Ledger, RecoverOutcome, SeenBits, SeqSet, Settings};
use jari_ports::{LineStore, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::{Mark, Millis, RoomId, Seq};

use crate::node::Node;

const PEOPLE: u64 = 60;

async fn ticks(store: &RedisStore, room: &RoomId, clock: &SetClock, count: usize) {
    for _ in 0..count {
        clock.advance(Millis(1_000));
        store.admit(room, Mark::NONE).await.expect("ticked");
    }
}

async fn hear(store: &RedisStore, room: &RoomId, who: std::ops::RangeInclusive<Seq>) {
    let mut set = SeqSet::default();
    for seq in who {
        set.insert(seq);
    }
    for bits in SeenBits::pack(&set) {
        store.seen(room, Mark::NONE, bits).await.expect("seen");
    }
}

async fn holds(store: &RedisStore, room: &RoomId, capacity: u64) {
    let change = Change::Settings(Box::new(settings(capacity)));
    store.change(room, Mark::NONE, change).await.expect("changed");
}

async fn line(store: &RedisStore, room: &RoomId) -> Ledger {
    store.read(room).await.expect("read").outcome
}

/// Nobody who was called gives a place up by being slow.
fn settings(capacity: u64) -> Settings {
    let (claim_window, absence_grace) = (Millis::from_secs(3_600), Millis::from_secs(10));
    Settings { capacity, claim_window, absence_grace, ..Settings::default() }
}

/// A store with a line of `people`.
async fn with_people(
    server: &Server,
    clock: &Arc<SetClock>,
    people: u64,
    capacity: u64,
) -> (RedisStore, RoomId) {
    let options = RedisOptions::new(server.url()).clock(Arc::clone(clock) as _);
    let store = RedisStore::open(options).expect("the store opens");
    let room: RoomId = "shop".parse().expect("an id");
    store.create(&room, settings(capacity)).await.expect("created");
    store.join(&room, Mark::NONE, (1..=people).map(subject).collect()).await.expect("joined");
    (store, room)
}

/// A lost word of who was heard from is a silence of our own: ticks go on, and the line stands until people are heard again.
#[tokio::test]
async fn a_lost_presence_bitmap_is_a_lull_and_makes_nobody_absent() {
    for gone in ["p0", "p1", "p0 jari:{shop}:p1"] {
        let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
        let (store, room) = with_people(&server, &clock, PEOPLE, 10).await;
        ticks(&store, &room, &clock, 1).await;
        assert_eq!(line(&store, &room).await.passes().live(), 10);

        server.ask(&format!("DEL jari:{{shop}}:{gone}"));
        // A piece of it, from one node's flush and from a newcomer, is not the whole.
        hear(&store, &room, 11..=12).await;
        store.join(&room, Mark::NONE, vec![subject(PEOPLE + 1)]).await.expect("joined");
        holds(&store, &room, 20).await;
        ticks(&store, &room, &clock, 30).await;
        let lull = line(&store, &room).await;
        assert!(lull.in_lull(), "{gone}");
        assert_eq!((lull.totals().absent, lull.totals().mass_absences), (0, 0), "{gone}");
        // Two windows and more: the bitmaps turn, while everybody polls.
        for _ in 0..10 {
            hear(&store, &room, 11..=PEOPLE + 1).await;
            ticks(&store, &room, &clock, 30).await;
        }
        let after = line(&store, &room).await;
        assert_eq!(after.passes().live(), 20, "{gone}: people are called");
        assert_eq!((after.totals().absent, after.totals().absence_ended), (0, 0), "{gone}");
        assert!(!after.in_lull(), "{gone}: it is over");
    }
}

/// Whoever came back from an absence keeps their turn, though it was long ago that they were called.
#[tokio::test]
async fn a_lost_presence_bitmap_ends_no_absence() {
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let (store, room) = with_people(&server, &clock, 12, 0).await;
    ticks(&store, &room, &clock, 200).await;
    hear(&store, &room, 4..=12).await;
    holds(&store, &room, 2).await;
    ticks(&store, &room, &clock, 1).await;
    assert_eq!(line(&store, &room).await.totals().absent, 3);
    hear(&store, &room, 1..=3).await;
    ticks(&store, &room, &clock, 15).await;
    server.ask("DEL jari:{shop}:p0 jari:{shop}:p1");
    ticks(&store, &room, &clock, 15).await;
    hear(&store, &room, 1..=12).await;
    holds(&store, &room, 5).await;
    ticks(&store, &room, &clock, 5).await;
    let after = line(&store, &room).await;
    assert_eq!((after.totals().absence_ended, after.totals().returned), (0, 3));
}

/// What a node knows brings everybody back, by number.
#[tokio::test]
async fn a_line_that_was_evicted_comes_back_from_a_node() {
    for gone in ["w", "subj", "pass"] {
        let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
        let mut node = Node::new(&server.url(), "shop", &clock, 1);
        node.create(Settings { capacity: 3, ..Settings::default() }).await;
        let numbers = node.join(1..=PEOPLE).await;
        node.attend().await;
        clock.advance(Millis(1_000));
        let ticked = node.store.admit(&node.room, Mark::NONE).await.expect("ticked");
        node.mark = ticked.mark;
        let before = node.read().await;
        assert_eq!(server.ask(&format!("DEL jari:{{shop}}:{gone}")), ":1");

        let ticked = node.store.admit(&node.room, node.mark).await;
        assert!(matches!(ticked, Err(StoreError::UnknownRoom(_))), "{gone}: {ticked:?}");
        assert_eq!(node.recover(None).await, RecoverOutcome::Began, "{gone}");
        node.tell(&before).await;
        node.settle().await;
        let after = node.read().await;
        assert_eq!(after.waiting(), before.waiting(), "{gone}: {numbers:?}");
        assert_eq!(after.passes().live(), before.passes().live(), "{gone}");
    }
}
