//! Register, subscribe, allow: people arrive by a schedule, get an identity, join, open a stream and wait for `admitted`,
//! while a tenant admits so many once a second. Open loop: everything counts from when it was due.

mod allow;
mod notices;
mod person;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use clap::Args;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, interval, sleep, sleep_until};

use self::allow::Call;
use self::notices::Noticed;
use self::report::{RushReport, Sample};
use crate::aim::Aim;
use crate::connection::Connection;
use crate::found::Found;
use crate::pool::Pool;
use crate::schedule::{Schedule, Stage};

/// Connections that register people: as many may be on their way at once.
const REGISTERING: usize = 128;
/// After the last call: notices that are on their way have so long.
const LAST_NOTICES: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Between two points of the timeline.
const SAMPLE: Duration = Duration::from_millis(500);

#[derive(Args, Clone, Debug)]
pub(crate) struct RushArgs {
    #[command(flatten)]
    aim: Aim,
    /// A key that may admit into the room
    #[arg(long, env = "JARI_ADMIN_KEY", hide_env_values = true)]
    key: String,
    /// A stretch of the arrivals: RATE:SECONDS, or FROM-TO:SECONDS for a ramp; may be given several times
    #[arg(long = "stage", value_name = "STAGE", required = true)]
    stages: Vec<Stage>,
    /// How many each call admits
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=200))]
    admit: u64,
    /// The second of the first call; one follows each second
    #[arg(long, default_value_t = 10.0)]
    admit_from: f64,
    /// Calls
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    admit_calls: u32,
    /// Shortens everything but the second between calls: 0.1 is a tenth of the time, the people and the calls
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// An arrival that begins later than this is dropped
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    late_max_ms: u64,
    /// People at once; an arrival above is dropped. A process opens at most 20,000 files
    #[arg(long, default_value_t = 19_700, value_parser = clap::value_parser!(u32).range(1..=19_700))]
    people_max: u32,
}

/// What all tasks of a rush share.
#[derive(Debug)]
struct World {
    aim: Aim,
    places: String,
    late_max: Duration,
    /// Over which people register.
    registering: Pool,
    counts: Counts,
    noticed: Mutex<Vec<Noticed>>,
    /// From when an arrival was due to its place.
    registered: Mutex<Found>,
    /// From asking for a stream to its first event.
    first_bytes: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Counts {
    arrived: AtomicU64,
    registered: AtomicU64,
    opened: AtomicU64,
    /// Streams open now, and at the most.
    open: AtomicU64,
    peak: AtomicU64,
    /// People on their way or waiting.
    living: AtomicU64,
    notified: AtomicU64,
    /// The room's events: the first that a stream told of, and the last.
    first_event: AtomicU64,
    last_event: AtomicU64,
}

impl World {
    fn new(args: &RushArgs) -> World {
        let counts = Counts { first_event: AtomicU64::new(u64::MAX), ..Counts::default() };
        World {
            aim: args.aim.clone(),
            places: format!("/v1/rooms/{}/places", args.aim.room),
            late_max: Duration::from_millis(args.late_max_ms),
            registering: Pool::new(REGISTERING),
            counts,
            noticed: Mutex::default(),
            registered: Mutex::default(),
            first_bytes: Mutex::default(),
        }
    }

    fn sample(&self, started: Instant) -> Sample {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Sample {
            at_s: started.elapsed().as_secs_f64(),
            open: of(&self.counts.open),
            registered: of(&self.counts.registered),
            notified: of(&self.counts.notified),
            event: of(&self.counts.last_event),
        }
    }
}

pub(crate) fn run(args: &RushArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &RushArgs) -> Result<RushReport> {
    let schedule = Schedule::new(&args.stages, args.scale)?;
    let arrivals_s = schedule.seconds();
    let world = Arc::new(World::new(args));
    let before = args.aim.server_usage();
    let mut tenant = Vec::new();
    for nth in 0..args.aim.urls.len() {
        tenant.push(Connection::open(args.aim.target(nth), args.aim.from, nth).await?);
    }
    let started = Instant::now();
    let mut calls = tokio::spawn(allow::calls(args.clone(), tenant, started));
    let arriving = arrive(world.clone(), schedule, args.people_max.into(), started);
    let mut arriving = tokio::spawn(arriving);
    let (mut timeline, mut samples) = (Vec::new(), interval(SAMPLE));
    let calls: Vec<Call> = loop {
        tokio::select! {
            done = &mut calls => break done??,
            _ = samples.tick() => timeline.push(world.sample(started)),
        }
    };
    let people = loop {
        tokio::select! {
            done = &mut arriving => break done?,
            _ = samples.tick() => timeline.push(world.sample(started)),
        }
    };
    let admitted: u64 = calls.iter().map(|call| call.called).sum();
    let until = Instant::now() + LAST_NOTICES;
    while world.counts.notified.load(Ordering::Relaxed) < admitted && Instant::now() < until {
        sleep(LOOK_AGAIN).await;
    }
    timeline.push(world.sample(started));
    let after = args.aim.server_usage();
    // Who still waits is not waited for.
    drop(people);
    let noticed = std::mem::take(&mut *world.noticed.lock());
    let report = RushReport::new(&world, &calls, noticed, timeline, (started, arrivals_s));
    Ok(report.with_server(before, after))
}

/// Lets people come as they are due; they live on in the set.
async fn arrive(
    world: Arc<World>,
    schedule: Schedule,
    people_max: u64,
    started: Instant,
) -> JoinSet<()> {
    let mut people = JoinSet::new();
    let counts = &world.counts;
    for nth in 0..schedule.arrivals() {
        let Some(after) = schedule.due(nth) else { break };
        let due = started + after;
        sleep_until(due).await;
        counts.arrived.fetch_add(1, Ordering::Relaxed);
        let crowded = counts.living.load(Ordering::Relaxed) >= people_max;
        if crowded || due.elapsed() > world.late_max {
            world.registered.lock().dropped += 1;
            continue;
        }
        counts.living.fetch_add(1, Ordering::Relaxed);
        people.spawn(person::live(world.clone(), nth, due));
        // What has ended is forgotten on the way.
        while people.try_join_next().is_some() {}
    }
    people
}

#[cfg(test)]
mod tests;
