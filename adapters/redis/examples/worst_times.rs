//! How long each script blocks its server with a million people waiting: `cargo run -p jari-redis --example worst_times`.
//! Starts a server of its own; the times are what the server itself notes.
#![expect(clippy::print_stdout, reason = "it exists to print its measurements")]

use std::sync::Arc;

use anyhow::{Context, Result};
use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{AdmitNow, AdmitNowOutcome, Change, SeenBits, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::limits::{ADMIT_MAX, JOIN_BATCH_MAX, SEEN_MAX_BYTES};
use jari_units::{Mark, Millis, PassId, RoomId, SubjectKey};
use redis::Value;
use redis::aio::MultiplexedConnection;

const PEOPLE: u64 = 1_000_000;
const BATCH: u64 = JOIN_BATCH_MAX as u64;

/// Microseconds from which the server notes single commands. Noting all would slow the scripts: theirs count too.
const SLOW: &str = "500";

struct Bench {
    /// Taken from its drop: the server lives as long.
    _server: Server,
    clock: Arc<SetClock>,
    store: RedisStore,
    log: MultiplexedConnection,
    room: RoomId,
    /// Seconds of the server's main thread at the last report.
    cpu: f64,
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
        let mut log = client.get_multiplexed_async_connection().await?;
        for (name, value) in [("slowlog-log-slower-than", SLOW), ("slowlog-max-len", "10000")] {
            redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec_async(&mut log).await?;
        }
        Ok(Bench { _server: server, clock, store, log, room: "million".parse()?, cpu: 0.0 })
    }

    /// Prints the scripts' times since the last report: the mean, the processor's part of it, the longest.
    async fn report(&mut self, what: &str) -> Result<()> {
        let entries: Vec<Value> =
            redis::cmd("SLOWLOG").arg("GET").arg(-1).query_async(&mut self.log).await?;
        let longest = entries.iter().filter_map(script_micros).max();
        let cpu = self.main_thread().await? - self.cpu;
        let stats: String = self.info("commandstats").await?;
        let (calls, micros) = scripts(&stats);
        if calls > 0.0 {
            let (mean, cpu) = (micros / calls / 1_000.0, cpu * 1_000.0 / calls);
            let longest =
                longest.map_or("< 0.50".to_owned(), |us| format!("{:6.2}", us as f64 / 1_000.0));
            println!(
                "{what:<52} {calls:>5} calls  mean {mean:>6.2} ms (processor {cpu:>6.2})  max {longest} ms"
            );
        }
        redis::cmd("SLOWLOG").arg("RESET").exec_async(&mut self.log).await?;
        redis::cmd("CONFIG").arg("RESETSTAT").exec_async(&mut self.log).await?;
        self.cpu = self.main_thread().await?;
        Ok(())
    }

    async fn info(&mut self, section: &str) -> Result<String> {
        Ok(redis::cmd("INFO").arg(section).query_async(&mut self.log).await?)
    }

    /// Seconds. Processor time says what a call costs where others use the machine too.
    async fn main_thread(&mut self) -> Result<f64> {
        let said = self.info("cpu").await?;
        let of =
            |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok());
        let (user, sys) = (of("used_cpu_user_main_thread:"), of("used_cpu_sys_main_thread:"));
        Ok(user.unwrap_or_default() + sys.unwrap_or_default())
    }

    async fn tick(&self, ms: u64) -> Result<u64> {
        self.clock.advance(Millis(ms));
        Ok(self.store.admit(&self.room, Mark::NONE).await?.outcome.called)
    }

    async fn see_all(&self) -> Result<()> {
        for first in (0..PEOPLE + BATCH).step_by(SEEN_MAX_BYTES * 8) {
            let bytes = vec![0xff; SEEN_MAX_BYTES.min((PEOPLE as usize) / 8 + 64)];
            let bits = SeenBits::new(first, bytes).context("aligned")?;
            self.store.seen(&self.room, Mark::NONE, bits).await?;
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

/// Calls of scripts and their microseconds, of `cmdstat_evalsha:calls=9,usec=900,...` and its like for EVAL.
fn scripts(stats: &str) -> (f64, f64) {
    let of = |line: &str, name: &str| -> f64 {
        let value = line.split([':', ',']).find_map(|field| field.strip_prefix(name));
        value.and_then(|value| value.parse().ok()).unwrap_or_default()
    };
    let lines = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
    lines.fold((0.0, 0.0), |sum, line| (sum.0 + of(line, "calls="), sum.1 + of(line, "usec=")))
}

/// The microseconds of a slow log's entry, if it is a script's.
fn script_micros(entry: &Value) -> Option<i64> {
    let Value::Array(fields) = entry else { return None };
    let Value::Array(words) = fields.get(3)? else { return None };
    let is_script = matches!(words.first()?, Value::BulkString(name) if name.starts_with(b"EVAL"));
    match fields.get(2)? {
        Value::Int(micros) if is_script => Some(*micros),
        _ => None,
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
    }
    bench.report("join of 512, up to a million").await?;
    let memory: String = redis::cmd("INFO").arg("memory").query_async(&mut bench.log).await?;
    println!(
        "{}",
        memory.lines().find(|line| line.starts_with("used_memory:")).unwrap_or_default()
    );
    for first in (0..100 * BATCH).step_by(JOIN_BATCH_MAX) {
        bench.store.join(&bench.room, Mark::NONE, people(first, BATCH)).await?;
    }
    bench.report("join of 512 who have a place").await?;
    waiting(&mut bench).await?;
    inside(&mut bench).await?;
    ghosts(&mut bench).await
}

async fn waiting(bench: &mut Bench) -> Result<()> {
    bench.settings(|settings| settings.rate_milli = 0).await?;
    for _ in 0..100 {
        bench.tick(1_000).await?;
        bench.see_all().await?;
    }
    bench.report("tick with nothing free, and seen of a million").await?;
    for _ in 0..60 {
        bench.tick(1_000).await?;
    }
    bench.report("tick with nothing free").await?;
    bench.settings(|settings| settings.rate_milli = 200_000).await?;
    bench.see_all().await?;
    bench.report("(settings, seen)").await?;
    for _ in 0..60 {
        bench.tick(1_000).await?;
    }
    bench.report("tick that calls 200").await?;
    let mut feed = bench.store.subscribe(&bench.room, 2_100).await?;
    for _ in 0..40 {
        feed.next().await?;
    }
    bench.report("events, 32 at once").await?;
    for _ in 0..20 {
        bench.store.read(&bench.room).await?;
    }
    bench.report("read, a million waiting and 12,000 inside").await
}

async fn inside(bench: &mut Bench) -> Result<()> {
    let mut ids: Vec<PassId> = Vec::new();
    for first in (200_000..220_000).step_by(ADMIT_MAX as usize) {
        let whom = AdmitNow::Subjects(people(first, ADMIT_MAX));
        let outcome = bench.store.admit_now(&bench.room, Mark::NONE, whom).await?.outcome;
        if let AdmitNowOutcome::Granted(grants) = outcome {
            ids.extend(grants.into_iter().flatten().map(|grant| grant.id));
        }
    }
    bench.report("admit_now of 200 by name").await?;
    for _ in 0..50 {
        bench.store.admit_now(&bench.room, Mark::NONE, AdmitNow::Count(ADMIT_MAX)).await?;
    }
    bench.report("admit_now of 200 by count").await?;
    for some in ids.chunks(JOIN_BATCH_MAX) {
        bench.store.claim(&bench.room, Mark::NONE, some.to_vec()).await?;
    }
    bench.report("claim of 512").await?;
    bench.tick(1_000).await?;
    bench.report("(tick)").await?;
    for some in ids.chunks(JOIN_BATCH_MAX) {
        bench.store.touch(&bench.room, Mark::NONE, some.to_vec()).await?;
    }
    bench.report("touch of 512").await?;
    for some in ids[..10_000].chunks(JOIN_BATCH_MAX) {
        bench.store.end_pass(&bench.room, Mark::NONE, some.to_vec()).await?;
    }
    bench.report("end_pass of 512").await?;
    for first in (300_000..320_000).step_by(JOIN_BATCH_MAX) {
        bench.store.leave(&bench.room, Mark::NONE, people(first, BATCH)).await?;
    }
    bench.report("leave of 512").await
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
