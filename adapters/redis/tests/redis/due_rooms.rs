//! Rooms that want a tick, when the node that had to tell the index of them died before it did.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{SeenBits, Settings};
use jari_ports::{LineStore, TickLeases};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::{Mark, Millis, RoomId};
use tokio::time::{Instant, timeout};

use crate::leases::calls_since;

/// A round over all rooms, the rest before it, and a loaded machine.
const ROUND_WITHIN: Duration = Duration::from_secs(60);

/// More rooms than one question looks after.
const ROOMS: usize = 100;

fn node(server: &Server, clock: &Arc<SetClock>) -> RedisStore {
    let options = RedisOptions::new(server.url()).clock(Arc::clone(clock) as _);
    RedisStore::open(options).expect("the store opens")
}

fn id(number: usize) -> RoomId {
    format!("room-{number:03}").parse().expect("an id")
}

/// The index forgets everything, as if nobody had told it.
fn forget(server: &Server) {
    server.ask("DEL jari:{:due}:at jari:{:due}:as_of");
}

#[tokio::test]
async fn a_round_finds_every_room_that_the_index_was_not_told_of() {
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let store = node(&server, &clock);
    for number in 0..ROOMS {
        store.create(&id(number), Settings::default()).await.expect("created");
    }
    let busy = [id(17), id(83)];
    for room in &busy {
        store.join(room, Mark::NONE, vec![subject(1)]).await.expect("joined");
    }
    assert_eq!(store.due().await.expect("it answers"), busy);
    forget(&server);
    let found = async {
        while store.due().await.expect("it answers") != busy {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(ROUND_WITHIN, found).await.expect("both are found");
}

/// Rooms are few: they are not looked after with every question.
#[tokio::test]
async fn a_round_over_few_rooms_rests_before_the_next() {
    const QUESTIONS: usize = 10;
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let store = node(&server, &clock);
    store.create(&id(1), Settings::default()).await.expect("created");
    let looks = || {
        let stats = server.ask("INFO commandstats");
        let scans = stats.lines().find_map(|line| line.strip_prefix("cmdstat_sscan:calls="));
        scans.map_or(0, |rest| {
            let calls = rest.split(',').next().expect("a number of calls");
            calls.parse::<usize>().expect("a number")
        })
    };
    let asked = Instant::now();
    while looks() == 0 || asked.elapsed() < Duration::from_millis(100) {
        for _ in 0..QUESTIONS {
            store.due().await.expect("it answers");
        }
    }
    // One at the begin, and one more for every rest that a slow machine gave time for.
    let most = 1 + asked.elapsed().as_millis() as usize / 2_000;
    assert!(looks() <= most, "{} looks, {most} at most", looks());
}

#[tokio::test]
async fn who_finds_a_room_without_ticks_tells_the_index_again() {
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let store = node(&server, &clock);
    store.create(&id(1), Settings::default()).await.expect("created");
    store.join(&id(1), Mark::NONE, vec![subject(1)]).await.expect("joined");
    forget(&server);
    let entry = || server.ask("EXISTS jari:{:due}:at");
    let seen = || SeenBits::new(0, vec![0x40]).expect("aligned");
    store.seen(&id(1), Mark::NONE, seen()).await.expect("seen");
    assert_eq!(entry(), ":0", "a tick may still come");
    clock.advance(Millis(3_001));
    store.seen(&id(1), Mark::NONE, seen()).await.expect("seen");
    assert_eq!(entry(), ":1");
}

/// News may come late: what happened last counts.
#[tokio::test]
async fn older_news_changes_nothing() {
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let store = node(&server, &clock);
    store.create(&id(1), Settings::default()).await.expect("created");
    store.join(&id(1), Mark::NONE, vec![subject(1)]).await.expect("joined");
    let newer = format!("HSET jari:{{:due}}:as_of room-001 \"{} 9\"", u64::MAX >> 11);
    server.ask(&newer);
    store.leave(&id(1), Mark::NONE, vec![subject(1)]).await.expect("left");
    assert_eq!(server.ask("EXISTS jari:{:due}:at"), ":1", "an index that knows more keeps it");
}

/// A node by the server's own clock.
fn by_its_clock(server: &Server) -> RedisStore {
    RedisStore::open(RedisOptions::new(server.url())).expect("the store opens")
}

/// How often the server was asked which rooms are due: nothing else reads a sorted set by its scores here.
fn questions(server: &Server) -> usize {
    let stats = server.ask("INFO commandstats");
    let ranges = stats.lines().find_map(|line| line.strip_prefix("cmdstat_zrange:calls="));
    ranges.map_or(0, |rest| {
        let calls = rest.split(',').next().expect("a number of calls");
        // Two for each: who is due, and when the next one will be.
        calls.parse::<usize>().expect("a number") / 2
    })
}

async fn soon<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(ROUND_WITHIN, asking).await.unwrap_or_else(|_| panic!("{what}"))
}

/// What the index said is kept: looks between its news ask nothing.
#[tokio::test]
async fn issue_4_an_index_that_did_not_change_is_not_asked_again() {
    let server = Server::start(Kind::Redis);
    let node = by_its_clock(&server);
    node.create(&id(1), Settings::default()).await.expect("created");
    node.join(&id(1), Mark::NONE, vec![subject(1)]).await.expect("joined");
    let start = Instant::now();
    let before = questions(&server);
    while start.elapsed() < Duration::from_secs(3) {
        assert_eq!(node.due().await.expect("it answers"), [id(1)]);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // One at the beginning, one when the word is listened for, one whenever two seconds are over.
    let most = 3 + start.elapsed().as_secs() as usize / 2;
    let asked = questions(&server) - before;
    assert!(asked <= most, "asked {asked} times in {:?}, {most} at most", start.elapsed());
}

/// What another node tells the index is known by word, far sooner than it would be asked for; and openings come in time.
#[tokio::test]
async fn issue_4_news_of_the_index_reach_every_node_at_once() {
    let server = Server::start(Kind::Redis);
    let (one, two) = (by_its_clock(&server), by_its_clock(&server));
    one.create(&id(1), Settings::default()).await.expect("created");
    // Until it has heard that it is heard, a node asks as before.
    soon("both listen", async || {
        let _ = (one.due().await, two.due().await);
        (server.ask_list("PUBSUB SHARDNUMSUB jari:{:due}:at").last()? == ":2").then_some(())
    })
    .await;
    let mut quickest = Duration::MAX;
    for round in 0..5 {
        soon("nobody is there", async || two.due().await.ok()?.is_empty().then_some(())).await;
        one.join(&id(1), Mark::NONE, vec![subject(round)]).await.expect("joined");
        let told = Instant::now();
        soon("somebody is", async || (two.due().await.ok()? == [id(1)]).then_some(())).await;
        quickest = quickest.min(told.elapsed());
        one.leave(&id(1), Mark::NONE, vec![subject(round)]).await.expect("left");
    }
    assert!(quickest < Duration::from_millis(500), "{quickest:?}");
    let now = one.read(&id(1)).await.expect("read").outcome.clocks().now;
    let opens_at = Some(now + Millis(2_500));
    let later = Settings { opens_at, ..Settings::default() };
    two.create(&id(2), later).await.expect("created");
    soon("it opens", async || (one.due().await.ok()? == [id(2)]).then_some(())).await;
}

/// Which rooms are due comes along with the renewals of the leases, before what is kept of it runs out: looks ask nothing of their
/// own. Here nobody says that the index changed.
#[tokio::test]
async fn issue_4_a_renewal_brings_along_which_rooms_are_due() {
    const RENEWALS: u64 = 8;
    let server = Server::start(Kind::Redis);
    let node = by_its_clock(&server);
    soon("it listens", async || {
        let _ = node.due().await;
        (server.ask_list("PUBSUB SHARDNUMSUB jari:{:due}:at").last()? == ":1").then_some(())
    })
    .await;
    // The first one takes the leases, which is two calls.
    node.renew(1).await.expect("renewed");
    assert_eq!(node.due().await, Ok(Vec::new()));
    server.ask("ZADD jari:{:due}:at 0 room-001");
    let mut counted = BTreeMap::new();
    calls_since(&server, &mut counted);
    for _ in 0..RENEWALS {
        node.renew(1).await.expect("renewed");
        for _ in 0..3 {
            node.due().await.expect("it answers");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    assert_eq!(node.due().await, Ok(vec![id(1)]));
    let calls = calls_since(&server, &mut counted);
    // Three of their own in this time, were they not spared; one where this machine stood still meanwhile.
    assert!(calls["evalsha"] <= RENEWALS + 1, "{calls:?}");
}
