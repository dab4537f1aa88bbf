//! How long each script blocks its server with a million people waiting: `cargo run -p jari-redis --example worst_times`.
//! Starts a server of its own; the times are its main thread's on the processor.
#![expect(clippy::print_stdout, reason = "it exists to print its measurements")]

use std::sync::Arc;

use anyhow::{Context, Result};
use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{AdmitNow, AdmitNowOutcome, Change, Loss, Past, Receipt, SeenBits, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::limits::{ADMIT_MAX, JOIN_BATCH_MAX, SEEN_MAX_BYTES};
use jari_units::{Mark, Millis, PassId, RoomId, SubjectKey};
use redis::aio::MultiplexedConnection;

const PEOPLE: u64 = 1_000_000;
const BATCH: u64 = JOIN_BATCH_MAX as u64;

struct Bench {
    /// Taken from its drop: the server lives as long.
    _server: Server,
    clock: Arc<SetClock>,
    store: RedisStore,
    log: MultiplexedConnection,
    room: RoomId,
    /// Seconds of the server's main thread at the last note, and what each call since the last report took of them.
    cpu: f64,
    calls: Vec<f64>,
}

fn people(first: u64, count: u64) -> Vec<SubjectKey> {
    (first..first + count).map(subject).collect()
}

impl Bench {
    async fn start(kind: Kind) -> Result<Bench> {
        let server =
            Server::start_with(kind, &["--appendonly", "yes", "--appendfsync", "everysec"]);
        let clock = SetClock::at(START);
        let options = RedisOptions::new(server.url()).clock(Arc::clone(&clock) as _);
        let store = RedisStore::open(options)?;
        let client = redis::Client::open(server.url())?;
        let log = client.get_multiplexed_async_connection().await?;
        Ok(Bench {
            _server: server,
            clock,
            store,
            log,
            room: "million".parse()?,
            cpu: 0.0,
            calls: Vec::new(),
        })
    }

    /// Notes what the last call took of the processor. The clock would count what others on the machine take, too.
    async fn note(&mut self) -> Result<()> {
        let now = self.main_thread().await?;
        self.calls.push((now - self.cpu) * 1_000.0);
        self.cpu = self.main_thread().await?;
        Ok(())
    }

    /// Prints the calls since the last report.
    async fn report(&mut self, what: &str) -> Result<()> {
        let mut calls = std::mem::take(&mut self.calls);
        calls.sort_unstable_by(f64::total_cmp);
        if let (Some(median), Some(most)) = (calls.get(calls.len() / 2), calls.last()) {
            println!(
                "{what:<52} {:>5} calls  p50 {median:>6.2} ms  max {most:>6.2} ms",
                calls.len()
            );
        }
        self.cpu = self.main_thread().await?;
        Ok(())
    }

    async fn info(&mut self, section: &str) -> Result<String> {
        Ok(redis::cmd("INFO").arg(section).query_async(&mut self.log).await?)
    }

    /// Seconds of processor time.
    async fn main_thread(&mut self) -> Result<f64> {
        let said = self.info("cpu").await?;
        let of =
            |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok());
        let (user, sys) = (of("used_cpu_user_main_thread:"), of("used_cpu_sys_main_thread:"));
        Ok(user.unwrap_or_default() + sys.unwrap_or_default())
    }

    async fn tick(&mut self, ms: u64) -> Result<u64> {
        self.clock.advance(Millis(ms));
        let called = self.store.admit(&self.room, Mark::NONE).await?.outcome.called;
        self.note().await?;
        Ok(called)
    }

    async fn see_all(&mut self) -> Result<()> {
        for first in (0..PEOPLE + BATCH).step_by(SEEN_MAX_BYTES * 8) {
            let bytes = vec![0xff; SEEN_MAX_BYTES.min((PEOPLE as usize) / 8 + 64)];
            let bits = SeenBits::new(first, bytes).context("aligned")?;
            self.store.seen(&self.room, Mark::NONE, bits).await?;
            self.note().await?;
        }
        Ok(())
    }

    async fn settings(&self, change: impl FnOnce(&mut Settings)) -> Result<()> {
        let mut settings = Settings { capacity: 100_000, ..Settings::default() };
        change(&mut settings);
        self.store.change(&self.room, Mark::NONE, Change::Settings(Box::new(settings))).await?;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    for kind in [Kind::Redis, Kind::Valkey] {
        println!("{kind:?}, appendfsync everysec");
        measure(Bench::start(kind).await?).await?;
    }
    Ok(())
}

async fn measure(mut bench: Bench) -> Result<()> {
    bench.store.create(&bench.room, Settings::default()).await?;
    bench.settings(|_| {}).await?;
    for first in (0..PEOPLE).step_by(JOIN_BATCH_MAX) {
        bench.store.join(&bench.room, Mark::NONE, people(first, BATCH)).await?;
        bench.note().await?;
    }
    bench.report("join of 512, up to a million").await?;
    let memory: String = redis::cmd("INFO").arg("memory").query_async(&mut bench.log).await?;
    println!(
        "{}",
        memory.lines().find(|line| line.starts_with("used_memory:")).unwrap_or_default()
    );
    for first in (0..100 * BATCH).step_by(JOIN_BATCH_MAX) {
        bench.store.join(&bench.room, Mark::NONE, people(first, BATCH)).await?;
        bench.note().await?;
    }
    bench.report("join of 512 who have a place").await?;
    waiting(&mut bench).await?;
    inside(&mut bench).await?;
    lost(&mut bench).await?;
    ghosts(&mut bench).await
}

async fn waiting(bench: &mut Bench) -> Result<()> {
    bench.settings(|settings| settings.rate_milli = 0).await?;
    bench.report("(settings)").await?;
    for _ in 0..30 {
        bench.see_all().await?;
    }
    bench.report("seen that spans a million, all seen before").await?;
    for _ in 0..6 {
        // Two windows later nobody counts as seen.
        for _ in 0..48 {
            bench.tick(4_000).await?;
        }
        bench.report("(ticks)").await?;
        bench.see_all().await?;
        bench.report("seen of a million, none seen before").await?;
    }
    for _ in 0..60 {
        bench.tick(1_000).await?;
    }
    bench.report("tick with nothing free").await?;
    bench.settings(|settings| settings.rate_milli = 200_000).await?;
    bench.see_all().await?;
    bench.calls.clear();
    for _ in 0..60 {
        bench.tick(1_000).await?;
    }
    bench.report("tick that calls 200").await?;
    for _ in 0..20 {
        bench.store.read(&bench.room).await?;
        bench.note().await?;
    }
    bench.report("read, a million waiting and 12,000 inside").await
}

async fn inside(bench: &mut Bench) -> Result<()> {
    let mut ids: Vec<PassId> = Vec::new();
    for first in (200_000..220_000).step_by(ADMIT_MAX as usize) {
        let whom = AdmitNow::Subjects(people(first, ADMIT_MAX));
        let outcome = bench.store.admit_now(&bench.room, Mark::NONE, whom).await?.outcome;
        bench.note().await?;
        if let AdmitNowOutcome::Granted(grants) = outcome {
            ids.extend(grants.into_iter().flatten().map(|grant| grant.id));
        }
    }
    bench.report("admit_now of 200 by name").await?;
    for _ in 0..50 {
        bench.store.admit_now(&bench.room, Mark::NONE, AdmitNow::Count(ADMIT_MAX)).await?;
        bench.note().await?;
    }
    bench.report("admit_now of 200 by count").await?;
    for some in ids.chunks(JOIN_BATCH_MAX) {
        bench.store.claim(&bench.room, Mark::NONE, some.to_vec()).await?;
        bench.note().await?;
    }
    bench.report("claim of 512").await?;
    bench.tick(1_000).await?;
    bench.report("(tick)").await?;
    for some in ids.chunks(JOIN_BATCH_MAX) {
        bench.store.touch(&bench.room, Mark::NONE, some.to_vec()).await?;
        bench.note().await?;
    }
    bench.report("touch of 512").await?;
    for some in ids[..10_000].chunks(JOIN_BATCH_MAX) {
        bench.store.end_pass(&bench.room, Mark::NONE, some.to_vec()).await?;
        bench.note().await?;
    }
    bench.report("end_pass of 512").await?;
    for first in (300_000..320_000).step_by(JOIN_BATCH_MAX) {
        bench.store.leave(&bench.room, Mark::NONE, people(first, BATCH)).await?;
        bench.note().await?;
    }
    bench.report("leave of 512").await
}

/// The room is gone: a node tells all it knows, everybody shows their receipt, and the window ends.
async fn lost(bench: &mut Bench) -> Result<()> {
    let known = bench.store.read(&bench.room).await?.outcome;
    bench.store.delete(&bench.room, known.mark().incarnation).await?;
    bench.report("(delete)").await?;
    let loss = Loss::Seen(Past { mark: known.mark(), origin: Some(known.origin()) });
    let settings = known.settings().clone();
    bench.store.recover(&bench.room, settings.clone(), loss, 1).await?;
    bench.note().await?;
    bench.report("recover from nothing").await?;
    for telling in known.tellings(known.mark()) {
        bench.store.restore(&bench.room, Mark::NONE, 1, telling).await?;
        bench.note().await?;
    }
    bench.report("restore of a part").await?;
    let receipt = |seq: u64| Receipt {
        subject: subject(seq - 1),
        incarnation: known.mark().incarnation,
        seq,
        as_of: known.clocks().now,
        pass: None,
    };
    for first in (1..=PEOPLE).step_by(JOIN_BATCH_MAX) {
        let receipts = (first..(first + BATCH).min(PEOPLE + 1)).map(receipt).collect();
        bench.store.reattach(&bench.room, Mark::NONE, receipts).await?;
        bench.note().await?;
    }
    bench.report("reattach of 512").await?;
    for _ in 0..29 {
        bench.tick(1_000).await?;
    }
    bench.report("tick while it recovers").await?;
    bench.store.read(&bench.room).await?;
    bench.note().await?;
    bench.report("read while it recovers, all receipts shown").await?;
    bench.tick(1_000).await?;
    bench.report("tick that ends the recovery").await?;
    bench.store.recover(&bench.room, settings, Loss::Declared, 1).await?;
    bench.note().await?;
    bench.report("recover that goes on from a million").await?;
    for _ in 0..31 {
        bench.tick(1_000).await?;
    }
    bench.report("(ticks)").await
}

/// Everybody closes the page: all become absent, all passes end, all absences run out, the bitmaps are cut off.
async fn ghosts(bench: &mut Bench) -> Result<()> {
    let mut calls = 0;
    for _ in 0..150 {
        calls += bench.tick(4_000).await?;
    }
    println!("({calls} called meanwhile)");
    bench.report("ticks in which 900,000 become absent, passes end").await?;
    for _ in 0..400 {
        bench.tick(4_000).await?;
    }
    bench.report("ticks in which 900,000 absences run out").await
}
