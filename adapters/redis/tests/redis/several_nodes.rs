//! Several nodes on one store: one line, one set of limits, everybody hears of everything.

use std::sync::Arc;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{Change, GroupSettings, JoinOutcome, Replica, Settings};
use jari_ports::{EventFeed, FeedLost, LineStore};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Cluster, Kind, Server};
use jari_units::{GroupId, Mark, Millis, RoomId, SubjectKey};

/// A store under its own prefix.
fn node(url: &str, clock: Option<&Arc<SetClock>>) -> RedisStore {
    let options = RedisOptions::new(url).prefix("nodes");
    let options = match clock {
        Some(clock) => options.clock(Arc::clone(clock) as _),
        None => options,
    };
    RedisStore::open(options).expect("the store opens")
}

fn id(text: &str) -> RoomId {
    text.parse().expect("an id")
}

fn people(numbers: std::ops::RangeInclusive<u64>) -> Vec<SubjectKey> {
    numbers.map(subject).collect()
}

/// Follows a room until it has the mark `end`.
async fn follow(replica: &mut Replica, feed: &mut Box<dyn EventFeed>, end: Mark) {
    while replica.ledger().mark() != end {
        let event = feed.next().await.expect("no gap");
        replica.apply(&event).expect("in order");
    }
}

/// Each node's replica is the room, whichever node did what, by the server's own clock.
#[tokio::test]
async fn every_node_hears_what_any_node_does() {
    let server = Server::start(Kind::Redis);
    hear_each_other(&server.url()).await;
    let cluster = Cluster::start(Kind::Redis);
    hear_each_other(&cluster.url()).await;
}

async fn hear_each_other(url: &str) {
    let (one, two) = (node(url, None), node(url, None));
    let room = id("shared");
    one.create(&room, Settings::default()).await.expect("created");
    assert!(!two.create(&room, Settings::default()).await.expect("there already").outcome);
    let read = two.read(&room).await.expect("read");
    let mut replica = Replica::new(read.outcome);
    let mut feed = two.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    let joined = one.join(&room, Mark::NONE, people(1..=5)).await.expect("joined").mark;
    follow(&mut replica, &mut feed, joined).await;
    // Nothing is to be had now: the word of the next event must wake the feed.
    let waiting = tokio::spawn(async move { (feed.next().await, feed) });
    tokio::task::yield_now().await;
    let told = two.join(&room, joined, people(3..=6)).await.expect("joined");
    assert_eq!(
        told.outcome[..2],
        [JoinOutcome::Waiting { seq: 3 }, JoinOutcome::Waiting { seq: 4 }]
    );
    let (event, mut feed) = waiting.await.expect("it heard");
    replica.apply(&event.expect("no gap")).expect("in order");
    let ticked = one.admit(&room, Mark::NONE).await.expect("ticked");
    assert_eq!(ticked.outcome.called, 6);
    follow(&mut replica, &mut feed, ticked.mark).await;
    assert_eq!(*replica.ledger(), one.read(&room).await.expect("read").outcome);
    let now = replica.ledger().clocks().now;
    assert!(now > START, "the room's time is the server's: {now:?}");
}

/// Q4: rooms of one group, ticked by two nodes at once, keep to its limits in sum.
#[tokio::test]
async fn two_admitters_at_once_keep_a_groups_limits() {
    let server = Server::start(Kind::Redis);
    let clock = SetClock::at(START);
    let nodes = [node(&server.url(), Some(&clock)), node(&server.url(), Some(&clock))];
    let rooms = [id("g1"), id("g2"), id("g3")];
    let settings =
        Settings { grouped: true, rate_milli: 1_000_000, burst: 500, ..Settings::default() };
    for room in &rooms {
        nodes[0].create(room, settings.clone()).await.expect("created");
        nodes[0].join(room, Mark::NONE, people(1..=100)).await.expect("joined");
    }
    let group: GroupId = "shop".parse().expect("an id");
    let limits = GroupSettings { capacity: 60, rate_milli: 10_000, burst: 10 };
    nodes[0].set_group(&group, limits, rooms.to_vec()).await.expect("set");
    let mut admitted = 0;
    for tick in 0..12 {
        clock.advance(Millis(1_000));
        let calls =
            nodes.iter().flat_map(|node| rooms.iter().map(|room| node.admit(room, Mark::NONE)));
        for answer in futures_util::future::join_all(calls).await {
            admitted += answer.expect("ticked").outcome.called;
        }
        let mut live = 0;
        for room in &rooms {
            live += nodes[1].read(room).await.expect("read").outcome.passes().live();
        }
        assert!(live <= 60, "{live} live in the group");
        assert!(admitted <= 10 + 10 * (tick + 1), "{admitted} admitted by tick {tick}");
    }
    assert_eq!(admitted, 60, "and the line went on");
}

/// The ticks of two admitters at once are one tick's admissions.
#[tokio::test]
async fn two_admitters_at_once_keep_a_rooms_limits() {
    let server = Server::start(Kind::Valkey);
    let clock = SetClock::at(START);
    let nodes = [node(&server.url(), Some(&clock)), node(&server.url(), Some(&clock))];
    let room = id("contended");
    let settings = Settings { rate_milli: 5_000, burst: 5, capacity: 40, ..Settings::default() };
    nodes[0].create(&room, settings).await.expect("created");
    nodes[0].join(&room, Mark::NONE, people(1..=200)).await.expect("joined");
    let mut admitted = 0;
    for tick in 0..12 {
        clock.advance(Millis(1_000));
        let ticks = nodes.iter().cycle().take(6).map(|node| node.admit(&room, Mark::NONE));
        for answer in futures_util::future::join_all(ticks).await {
            admitted += answer.expect("ticked").outcome.called;
        }
        assert!(admitted <= 40.min(5 + 5 * (tick + 1)), "{admitted} by tick {tick}");
    }
    assert_eq!(admitted, 40);
}

#[tokio::test]
async fn a_feed_ends_with_its_history() {
    let server = Server::start(Kind::Redis);
    let store = node(&server.url(), None);
    let room = id("ended");
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let mut future = store.subscribe(&room, mark.event_no + 7).await.expect("subscribed");
    assert_eq!(future.next().await, Err(FeedLost), "it knows what the store does not");
    let waiting = tokio::spawn(async move { feed.next().await });
    store.delete(&room, mark.incarnation).await.expect("deleted");
    store.create(&room, Settings::default()).await.expect("created");
    assert_eq!(waiting.await.expect("it ended"), Err(FeedLost));
}

/// The stream keeps what a lagging node needs and no more: older events are lost, and said to be.
#[tokio::test]
async fn a_stream_is_bounded_and_says_what_it_lost() {
    let server = Server::start(Kind::Redis);
    let store = node(&server.url(), None);
    let room = id("long");
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut slow = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let flips = 9_000;
    for flip in 0..flips {
        let change = if flip % 2 == 0 { Change::Pause } else { Change::Resume };
        store.change(&room, Mark::NONE, change).await.expect("changed");
    }
    let kept: u64 =
        server.ask("XLEN nodes:{long}:ev").trim_start_matches(':').parse().expect("a number");
    assert!((2_048..=4_096).contains(&kept), "{kept} events kept of {flips}");
    assert_eq!(slow.next().await, Err(FeedLost));
    let mut late = store.subscribe(&room, flips - 1_000).await.expect("subscribed");
    assert_eq!(late.next().await.expect("kept").event_no, flips - 999);
}

/// Ticks and the like come with the word of them; only what is large, or was missed, is read.
#[tokio::test]
async fn issue_4_small_events_are_told_and_not_read() {
    const TICKS: u64 = 20;
    let server = Server::start(Kind::Redis);
    let (one, two) = (node(&server.url(), None), node(&server.url(), None));
    let room = id("told");
    let settings = Settings { capacity: 0, ..Settings::default() };
    one.create(&room, settings).await.expect("created");
    let read = two.read(&room).await.expect("read");
    let mut replica = Replica::new(read.outcome);
    let mut feed = two.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    let joined = one.join(&room, Mark::NONE, people(1..=5)).await.expect("joined").mark;
    follow(&mut replica, &mut feed, joined).await;
    let reads = || {
        let stats = server.ask("INFO commandstats");
        let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_xrange:calls="));
        let calls = line.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok());
        calls.unwrap_or_default()
    };
    // The word that it is listened to is an invitation to look.
    let ticked = one.admit(&room, Mark::NONE).await.expect("ticked").mark;
    follow(&mut replica, &mut feed, ticked).await;
    let before = reads();
    for _ in 0..TICKS {
        let ticked = one.admit(&room, Mark::NONE).await.expect("ticked").mark;
        follow(&mut replica, &mut feed, ticked).await;
    }
    let read = reads() - before;
    assert!(read <= 2, "{read} of {TICKS} ticks were read");
    assert_eq!(*replica.ledger(), one.read(&room).await.expect("read").outcome);
    let many = one.join(&room, Mark::NONE, people(6..=400)).await.expect("joined").mark;
    follow(&mut replica, &mut feed, many).await;
    assert!(reads() > before + read, "so many people are read");
    assert_eq!(*replica.ledger(), one.read(&room).await.expect("read").outcome);
}
