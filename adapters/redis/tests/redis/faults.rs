//! What a server can do to a node, and what the node says and keeps: scripts forgotten, crashes, a full memory, a newer
//! release's rooms, a user who may not.

use std::time::Duration;

use jari_conformance::clauses::subject;
use jari_line::{Change, JoinOutcome, LeaveOutcome, Loss, Past, RecoverOutcome, Replica, Settings};
use jari_ports::{FeedLost, LineStore, StoreError};
use jari_redis::{OpenError, RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::limits::SEQ_MAX;
use jari_units::{Mark, RoomId, SubjectKey};
use tokio::time::{Instant, sleep, timeout};

/// Longer than any pause of the breaker, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(url: &str) -> RedisStore {
    RedisStore::open(RedisOptions::new(url).prefix("faults")).expect("the store opens")
}

fn id(text: &str) -> RoomId {
    text.parse().expect("an id")
}

fn people(numbers: std::ops::RangeInclusive<u64>) -> Vec<SubjectKey> {
    numbers.map(subject).collect()
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Unavailable(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn silent<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Silent(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Asks until the store answers again.
async fn answered(store: &RedisStore, room: &RoomId, who: u64) -> Vec<JoinOutcome> {
    let asked = async {
        loop {
            match store.join(room, Mark::NONE, vec![subject(who)]).await {
                Ok(reply) => return reply.outcome,
                Err(error) if error.is_away() => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    timeout(PATIENCE, asked).await.expect("it comes back")
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = id("forgetful");
    store.create(&room, Settings::default()).await.expect("created");
    for round in 0..3 {
        assert_eq!(server.ask("SCRIPT FLUSH"), "+OK");
        let joined = store.join(&room, Mark::NONE, people(round..=round)).await.expect("joined");
        assert_eq!(joined.outcome, [JoinOutcome::Joined { seq: round + 1 }]);
    }
}

/// A2: with `appendfsync always` no acknowledged place is lost by a crash, and nodes find their way back by themselves: by the
/// server's own clock they say for some seconds that they miss nothing.
#[tokio::test]
async fn a_crash_loses_nothing_and_feeds_go_on() {
    let mut server =
        Server::start_with(Kind::Redis, &["--appendonly", "yes", "--appendfsync", "always"]);
    let store = open(&server.url());
    let room = id("crash");
    store.create(&room, Settings::default()).await.expect("created");
    let joined = store.join(&room, Mark::NONE, people(1..=300)).await.expect("joined");
    let read = store.read(&room).await.expect("read");
    let mut replica = Replica::new(read.outcome);
    let mut feed = store.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    let before = store.dump(&room).await.expect("dumped");
    let event = tokio::spawn(async move { feed.next().await.map(|_| ()) });
    server.kill_and_restart();
    let told = timeout(PATIENCE, event).await.expect("the feed came back").expect("it ran");
    assert_eq!(told, Err(FeedLost), "it may lack something: read the room again");
    says_that_it_misses_nothing(&store, &room, joined.mark).await;
    assert_eq!(answered(&store, &room, 7).await, [JoinOutcome::Waiting { seq: 7 }]);
    assert_eq!(store.dump(&room).await.expect("dumped"), before);
    let mut feed = store.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    let after = store.join(&room, joined.mark, people(301..=301)).await.expect("joined");
    assert_eq!(after.outcome, [JoinOutcome::Joined { seq: 301 }]);
    replica.apply(&feed.next().await.expect("no gap")).expect("in order");
    assert_eq!(replica.ledger().mark(), after.mark);
}

async fn says_that_it_misses_nothing(store: &RedisStore, room: &RoomId, mark: Mark) {
    let loss = Loss::Seen(Past { mark, origin: None });
    let asked = async {
        while store.recover(room, Settings::default(), loss, 1).await.expect("answered").outcome
            == RecoverOutcome::Asking
        {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, asked).await.expect("it is believed");
}

#[tokio::test]
async fn a_dead_server_is_told_fast_and_by_name() {
    let mut server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = id("dead");
    store.create(&room, Settings::default()).await.expect("created");
    server.kill();
    let start = Instant::now();
    let mut told = String::new();
    for _ in 0..1_000 {
        told = unavailable(store.join(&room, Mark::NONE, people(1..=1)).await);
    }
    assert!(start.elapsed() < PATIENCE, "a thousand refusals took {:?}", start.elapsed());
    let named = told.contains(&format!("redis://127.0.0.1:{}", server.port()));
    assert!(named && told.contains("tried again in"), "{told}");
    server.start_again();
    let gone = timeout(PATIENCE, async {
        loop {
            match store.read(&room).await {
                Err(StoreError::Unavailable(_)) => tokio::task::yield_now().await,
                other => return other,
            }
        }
    });
    let gone = gone.await.expect("it comes back");
    assert!(matches!(gone, Err(StoreError::UnknownRoom(_))), "it kept nothing on disk: {gone:?}");
}

/// A server that hangs is given up after the deadline, not waited for.
#[tokio::test]
async fn a_hung_server_is_given_up_at_the_deadline() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = id("hung");
    store.create(&room, Settings::default()).await.expect("created");
    server.pause();
    let start = Instant::now();
    let calls = (0..5).map(|_| store.join(&room, Mark::NONE, people(1..=1)));
    for told in futures_util::future::join_all(calls).await.into_iter().map(silent) {
        let by_the_deadline = told.contains("did not answer within 2000 ms");
        assert!(by_the_deadline || told.contains("timed out"), "{told}");
    }
    // Silence is no refusal, also where the breaker refuses for it.
    let told = silent(store.join(&room, Mark::NONE, people(1..=1)).await);
    assert!(told.contains("tried again in"), "{told}");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    server.resume();
    assert_eq!(answered(&store, &room, 1).await.len(), 1);
}

/// At `maxmemory` newcomers are refused with a clear word, before anything was written; who is here can be admitted,
/// leave and be seen.
#[tokio::test]
async fn a_full_memory_refuses_newcomers_and_serves_the_rest() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = id("full");
    store.create(&room, Settings::default()).await.expect("created");
    store.join(&room, Mark::NONE, people(1..=50)).await.expect("joined");
    let before = store.dump(&room).await.expect("dumped");
    assert_eq!(server.ask("CONFIG SET maxmemory 1mb"), "+OK");
    let told = unavailable(store.join(&room, Mark::NONE, people(51..=60)).await);
    assert!(told.contains("maxmemory"), "{told}");
    assert_eq!(store.dump(&room).await.expect("dumped"), before, "nothing was half done");
    let left = store.leave(&room, Mark::NONE, people(3..=3)).await.expect("left");
    assert_eq!(left.outcome, [LeaveOutcome::Left]);
    assert_eq!(store.admit(&room, Mark::NONE).await.expect("ticked").outcome.called, 49);
    store.change(&room, Mark::NONE, Change::Pause).await.expect("paused");
}

#[tokio::test]
async fn a_newer_releases_room_is_refused_and_left_alone() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = id("newer");
    store.create(&room, Settings::default()).await.expect("created");
    assert_eq!(server.ask("HSET faults:{newer}:s format 2"), ":0");
    let before = server.ask("HGET faults:{newer}:s event_no");
    for told in [
        unavailable(store.join(&room, Mark::NONE, people(1..=1)).await),
        unavailable(store.admit(&room, Mark::NONE).await),
        unavailable(store.read(&room).await),
        unavailable(store.create(&room, Settings::default()).await),
        unavailable(store.delete(&room, SEQ_MAX).await),
    ] {
        assert!(told.contains("format 2") && told.contains("upgrade"), "{told}");
    }
    assert_eq!(server.ask("HGET faults:{newer}:s event_no"), before);
}

/// The rights that `docs/how-to/` names are enough, and a wrong password is said to be one.
#[tokio::test]
async fn a_user_with_the_named_rights_is_enough() {
    let server = Server::start(Kind::Redis);
    let rights =
        "on >s3cret resetchannels ~faults:* &faults:* +@all -@admin -@dangerous +role +info";
    assert_eq!(server.ask(&format!("ACL SETUSER jari {rights}")), "+OK");
    let url = |password: &str| format!("redis://jari:{password}@127.0.0.1:{}", server.port());
    let store = open(&url("s3cret"));
    let room = id("rights");
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let event = tokio::spawn(async move { feed.next().await });
    store.join(&room, Mark::NONE, people(1..=2)).await.expect("joined");
    store.admit(&room, Mark::NONE).await.expect("ticked");
    assert_eq!(store.rooms().await, Ok(vec![room.clone()]));
    event.await.expect("it ran").expect("it heard");
    let told = unavailable(open(&url("wrong")).read(&room).await);
    assert!(told.contains("password") && !told.contains("wrong@"), "{told}");
}

/// Where reading works and writing does not, whoever asks whether the store is well is told so, with what is forbidden.
#[tokio::test]
async fn a_probe_tells_where_nothing_can_be_written() {
    let server = Server::start(Kind::Redis);
    let rights =
        "on >s3cret resetchannels ~faults:* &faults:* +@all -@admin -@dangerous +role +info";
    assert_eq!(server.ask(&format!("ACL SETUSER jari {rights}")), "+OK");
    let store = open(&format!("redis://jari:s3cret@127.0.0.1:{}", server.port()));
    assert_eq!(store.probe().await, Ok(None));
    for (taken, given) in
        [("-xadd", "+xadd"), ("-evalsha -eval", "+evalsha +eval"), ("resetchannels", "&faults:*")]
    {
        assert_eq!(server.ask(&format!("ACL SETUSER jari {taken}")), "+OK");
        assert_eq!(store.rooms().await, Ok(Vec::new()), "{taken}: reading works");
        let told = unavailable(store.probe().await);
        assert!(told.contains("ACL"), "{taken}: {told}");
        assert_eq!(server.ask(&format!("ACL SETUSER jari {given}")), "+OK");
        assert_eq!(store.probe().await, Ok(None), "{given}");
    }
    server.ask("REPLICAOF 127.0.0.1 1");
    let told = unavailable(store.probe().await);
    assert!(told.contains("it is a replica now"), "{told}");
}

#[tokio::test]
async fn a_server_that_may_throw_lines_away_is_told_of() {
    let server = Server::start(Kind::Redis);
    assert_eq!(server.ask("CONFIG SET maxmemory 100mb"), "+OK");
    assert_eq!(server.ask("CONFIG SET maxmemory-policy allkeys-lru"), "+OK");
    let store = open(&server.url());
    let told = timeout(PATIENCE, async {
        loop {
            if let Some(warning) = store.probe().await.expect("it takes writes") {
                return warning;
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    let told = told.await.expect("the server was looked at");
    assert!(told.contains("allkeys-lru") && told.contains("noeviction"), "{told}");
}

#[tokio::test]
async fn addresses_and_prefixes_are_checked_at_the_start() {
    let refused = RedisStore::open(RedisOptions::new("http://localhost"));
    assert!(matches!(refused, Err(OpenError::Address { .. })));
    let refused = RedisStore::open(RedisOptions::new("redis://localhost").prefix("a{b}"));
    assert!(matches!(refused, Err(OpenError::Prefix(_))));
}
