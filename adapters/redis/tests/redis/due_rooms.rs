//! Rooms that want a tick, when the node that had to tell the index of them died before it did.

use std::sync::Arc;
use std::time::Duration;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{SeenBits, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::{Mark, Millis, RoomId};
use tokio::time::{Instant, timeout};

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
