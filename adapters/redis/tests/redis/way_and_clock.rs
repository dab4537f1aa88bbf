//! The way to the server is long, its clock is set, its scripts vanish and its memory fills, while people join: what they
//! are told stays true.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jari_conformance::clauses::subject;
use jari_line::{JoinOutcome, Settings};
use jari_ports::{LineStore, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Proxy, Server};
use jari_units::limits::TICK_LATE;
use jari_units::{Mark, RoomId, Seq};
use tokio::time::{sleep, timeout};

/// A busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(url: &str) -> Arc<RedisStore> {
    Arc::new(RedisStore::open(RedisOptions::new(url)).expect("the store opens"))
}

async fn made(store: &RedisStore, settings: Settings) -> RoomId {
    let room: RoomId = "shop".parse().expect("an id");
    store.create(&room, settings).await.expect("created");
    room
}

fn seq(outcome: &JoinOutcome) -> Seq {
    match outcome {
        JoinOutcome::Joined { seq } | JoinOutcome::Waiting { seq } => *seq,
        other => panic!("{other:?}"),
    }
}

/// A fifth of a second each way: calls take their time beside each other, none is given up, and the line is the same.
#[tokio::test]
async fn a_server_far_away_is_slow_and_nothing_else() {
    let server = Server::start(Kind::Redis);
    let way = Proxy::to(server.port());
    let store = open(&way.url());
    let room = made(&store, Settings { capacity: 40, burst: 40, ..Settings::default() }).await;
    let mark = store.read(&room).await.expect("read").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    way.delay(Duration::from_millis(200));
    let start = tokio::time::Instant::now();
    let calls = (0..100).map(|n| store.join(&room, Mark::NONE, vec![subject(n)]));
    let answers = timeout(PATIENCE, join_all(calls)).await.expect("in time");
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(400), "there and back: {took:?}");
    let mut seqs: Vec<_> =
        answers.into_iter().map(|answer| seq(&answer.expect("answered").outcome[0])).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=100).collect::<Vec<_>>());
    let ticked = store.admit(&room, Mark::NONE).await.expect("ticked");
    assert_eq!(ticked.outcome.called, 40);
    for n in 1..=ticked.mark.event_no - mark.event_no {
        let event = timeout(PATIENCE, feed.next()).await.expect("it is told").expect("no gap");
        assert_eq!(event.event_no, mark.event_no + n);
    }
}

/// A4: the server's clock is put back five minutes, then ten forward, while it runs.
#[tokio::test]
async fn a_servers_clock_put_back_and_forward_lets_nobody_in_twice_and_makes_nobody_absent() {
    let server = Server::start_with_own_clock();
    let store = open(&server.url());
    let settings = Settings { rate_milli: 1_000, burst: 3, ..Settings::default() };
    let room = made(&store, settings).await;
    let people = (1..=60).map(subject).collect();
    store.join(&room, Mark::NONE, people).await.expect("joined");
    let tick = async || store.admit(&room, Mark::NONE).await.expect("ticked").outcome;
    let read = async || store.read(&room).await.expect("read").outcome;
    assert_eq!(tick().await.called, 3, "the bucket was full");
    let begun = tokio::time::Instant::now();
    let before = read().await.clocks().now;

    server.set_clock(-300);
    tick().await;
    let back = read().await;
    assert!(back.clocks().now >= before, "the room's time does not go back");
    server.set_clock(300);
    let jumped = tick().await;
    let forward = read().await;
    assert!(forward.clocks().now.since(before) >= TICK_LATE, "it follows the server's");
    assert!(jumped.lull_began, "five minutes in which nobody could be heard");
    assert!(jumped.called <= 3, "{} were let in", jumped.called);
    tick().await;
    let totals = read().await;
    let by_the_rate = 3 + begun.elapsed().as_secs() + 1;
    let admitted = totals.totals().admitted;
    assert!(admitted <= by_the_rate, "{admitted} were let in of {by_the_rate} at most");
    assert_eq!((totals.totals().absent, totals.totals().absence_ended), (0, 0));
    assert_eq!(totals.waiting() + totals.passes().live(), 60);
}

/// Scripts are flushed all the time while people join: nobody is told anything else.
#[tokio::test]
async fn scripts_flushed_under_load_cost_nobody_a_place() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = made(&store, Settings::default()).await;
    let joining = async {
        let mut seqs = Vec::new();
        for round in 0..40 {
            let calls =
                (0..50).map(|n| store.join(&room, Mark::NONE, vec![subject(round * 50 + n)]));
            for answer in join_all(calls).await {
                seqs.push(seq(&answer.expect("answered").outcome[0]));
            }
        }
        seqs
    };
    let flushing = async {
        loop {
            assert_eq!(server.ask("SCRIPT FLUSH ASYNC"), "+OK");
            sleep(Duration::from_millis(2)).await;
        }
    };
    let mut seqs = tokio::select! {
        seqs = joining => seqs,
        () = flushing => unreachable!("it ends with the joins"),
    };
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=2_000).collect::<Vec<_>>());
}

/// The memory fills up while people join: whoever was told a number has it, everybody else a clear word; with more memory
/// the line goes on with the next number.
#[tokio::test]
async fn a_memory_that_fills_up_loses_no_place_that_was_told() {
    let server = Server::start(Kind::Redis);
    let store = open(&server.url());
    let room = made(&store, Settings::default()).await;
    let used = |info: String| {
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:")?.parse().ok());
        line.unwrap_or(0_u64)
    };
    let limit = used(server.ask("INFO memory")) + 512 * 1024;
    assert_eq!(server.ask(&format!("CONFIG SET maxmemory {limit}")), "+OK");
    let mut told = Vec::new();
    let full = loop {
        let first = told.len() as u64;
        assert!(first < 100_000, "half a megabyte is full by then");
        let people: Vec<_> = (first..first + 100).map(subject).collect();
        match store.join(&room, Mark::NONE, people).await {
            Ok(reply) => told.extend(reply.outcome.iter().map(seq)),
            Err(StoreError::Unavailable(text)) => break text,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert!(full.contains("maxmemory"), "{full}");
    assert_eq!(server.ask("CONFIG SET maxmemory 0"), "+OK");
    let again: Vec<_> = (0..told.len() as u64 + 1).map(subject).collect();
    let again = store.join(&room, Mark::NONE, again).await.expect("joined").outcome;
    let next = told.len() as u64 + 1;
    assert_eq!(again.last(), Some(&JoinOutcome::Joined { seq: next }));
    let kept: Vec<_> = again.iter().map(seq).collect();
    assert_eq!(kept[..told.len()], told);
}
