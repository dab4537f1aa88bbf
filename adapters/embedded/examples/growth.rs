//! Measures what a line of a million costs: durable joins a second, the writer's longest stall, the time of a restart.
//! A measurement, not a test: `cargo run --release -p jari-embedded --example growth -- 1000000`.
#![expect(clippy::print_stdout, reason = "it exists to print its measurements")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Instant, SystemTime};

use jari_embedded::EmbeddedStore;
use jari_line::{SeenBits, Settings};
use jari_ports::{Clock, LineStore};
use jari_units::limits::JOIN_BATCH_MAX;
use jari_units::{Mark, RoomId, SubjectKey, Timestamp};

/// Join batches under way at once.
const PARALLEL: u64 = 8;

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Timestamp(since.expect("the clock is past 1970").as_millis() as u64)
    }
}

fn subject(number: u64) -> SubjectKey {
    // An odd multiplier spreads the keys as an HMAC does.
    let high = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let mut key = [0; 16];
    key[..8].copy_from_slice(&high);
    key[8..].copy_from_slice(&number.to_be_bytes());
    SubjectKey(key)
}

async fn join_all(store: &Arc<EmbeddedStore>, room: &RoomId, people: u64) -> Vec<u64> {
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..PARALLEL {
        let (store, room, next) = (Arc::clone(store), room.clone(), Arc::clone(&next));
        tasks.spawn(async move {
            let mut took = Vec::new();
            loop {
                let first = next.fetch_add(JOIN_BATCH_MAX as u64, Relaxed);
                if first >= people {
                    return took;
                }
                let last = (first + JOIN_BATCH_MAX as u64).min(people);
                let batch = (first..last).map(subject).collect();
                let started = Instant::now();
                store.join(&room, Mark::NONE, batch).await.expect("it joins");
                took.push(started.elapsed().as_micros() as u64);
            }
        });
    }
    tasks.join_all().await.concat()
}

/// Ticks and presence as a server brings them, beside the joins.
async fn serve(store: Arc<EmbeddedStore>, room: RoomId, seen: u64) -> u64 {
    let mut slowest = 0;
    loop {
        let bits = SeenBits::new(0, vec![0xff; (seen / 8) as usize]).expect("within a flush");
        let started = Instant::now();
        if store.seen(&room, Mark::NONE, bits).await.is_err() {
            return slowest;
        }
        if store.admit(&room, Mark::NONE).await.is_err() {
            return slowest;
        }
        slowest = slowest.max(started.elapsed().as_millis() as u64);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::main]
async fn main() {
    let people: u64 =
        std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a count"));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(EmbeddedStore::open(dir.path(), Arc::new(SystemClock)).expect("it opens"));
    let room: RoomId = "growth".parse().expect("an id");
    store
        .create(&room, Settings { max_waiting: people, ..Settings::default() })
        .await
        .expect("it answers");
    let ticks = tokio::spawn(serve(Arc::clone(&store), room.clone(), people.min(2_000_000)));

    let started = Instant::now();
    let mut took = join_all(&store, &room, people).await;
    let seconds = started.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize] as f64 / 1_000.0;
    println!("{people} durable joins in {seconds:.2} s: {:.0} joins/s", people as f64 / seconds);
    println!(
        "a batch of {JOIN_BATCH_MAX}: p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    let stats = store.stats();
    println!(
        "writer: longest work {:.1} ms, longest commit {:.1} ms, {} commits, {} checkpoints",
        stats.work_max_us as f64 / 1_000.0,
        stats.commit_max_us as f64 / 1_000.0,
        stats.commits,
        stats.checkpoints
    );
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let stats = store.stats();
    println!(
        "three seconds of ticks later: longest work {:.1} ms, longest commit {:.1} ms",
        stats.work_max_us as f64 / 1_000.0,
        stats.commit_max_us as f64 / 1_000.0
    );
    store.close();
    println!("slowest presence flush and tick together: {} ms", ticks.await.expect("no panic"));
    drop(store);
    for file in std::fs::read_dir(dir.path()).expect("the folder") {
        let file = file.expect("an entry");
        println!("{:?}: {} KiB", file.file_name(), file.metadata().expect("its size").len() / 1024);
    }
    let started = Instant::now();
    let store = EmbeddedStore::open(dir.path(), Arc::new(SystemClock)).expect("it opens");
    println!("restart: {:.2} s", started.elapsed().as_secs_f64());
    let read = store.read(&room).await.expect("it answers").outcome;
    println!("waiting {}, live {}", read.waiting(), read.passes().live());
}
