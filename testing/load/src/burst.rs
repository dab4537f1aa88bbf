//! Everybody at once at a quiet site whose room is `auto`: whoever walks in looks at a page and leaves, everybody else waits in
//! the room as they are told, and goes in when it is their turn. Open loop: people come by the clock. Meanwhile the room is
//! asked whether it queues, and the site how much it has to do at once.

mod person;
mod report;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use clap::Args;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};

use self::report::BurstReport;
use self::watch::{Sample, Watch};
use crate::aim::Aim;
use crate::closed::seconds;
use crate::found::{Found, note};
use crate::held::HOLD_MAX_MS;
use crate::pool::Pool;
use crate::target::Target;

/// Before the burst so many come one by one: the room must be quiet then, and let them walk in.
const QUIET_PEOPLE: usize = 5;
const QUIET_HOLD_MS: u64 = 20;
const QUIET_EVERY: Duration = Duration::from_millis(100);
/// Who was not let in would wait: a room that is quiet answers well within this, on a machine however busy.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// Between two looks at the room and the site.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Args, Clone, Debug)]
pub(crate) struct BurstArgs {
    /// `--url` is where the visitors of the site come in
    #[command(flatten)]
    aim: Aim,
    /// Jari's own address, where the room tells how it does
    #[arg(long, value_name = "URL")]
    api: Target,
    /// The site behind, which counts: `baseline --plain`
    #[arg(long, value_name = "URL")]
    site: Target,
    /// A key that may look at the room
    #[arg(long, env = "JARI_ADMIN_KEY", hide_env_values = true)]
    key: String,
    /// People in the burst
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    people: u32,
    /// They come evenly within so long
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    over_ms: u64,
    /// The site works on each of their pages for so long
    #[arg(long, default_value_t = 1_500, value_parser = clap::value_parser!(u64).range(1..=HOLD_MAX_MS))]
    hold_ms: u64,
    /// How long to go on, whoever still waits
    #[arg(long, default_value_t = 15.0, value_parser = seconds)]
    seconds: f64,
    /// Keep-alive connections that all of them share; each page that is worked on keeps one
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u16).range(1..=2_048))]
    connections: u16,
}

/// What all people of a burst share.
#[derive(Debug)]
struct World {
    aim: Aim,
    pool: Pool,
    started: Instant,
    counts: Counts,
    /// From when an arrival was due to the answer of those who were sent to the room, and what went wrong.
    refusals: Mutex<Found>,
    /// Since the start: the first who was not let in.
    first_refused: Mutex<Option<Duration>>,
}

#[derive(Debug, Default)]
struct Counts {
    walked_in: AtomicU64,
    sent_to_room: AtomicU64,
    /// Of those who were sent there: whose turn came.
    went_in: AtomicU64,
}

impl World {
    fn new(args: &BurstArgs) -> World {
        World {
            aim: args.aim.clone(),
            pool: Pool::new(args.connections.into()),
            started: Instant::now(),
            counts: Counts::default(),
            refusals: Mutex::default(),
            first_refused: Mutex::default(),
        }
    }

    fn refused(&self, due: Instant) {
        self.counts.sent_to_room.fetch_add(1, Ordering::Relaxed);
        note(&mut self.refusals.lock().latencies, due.elapsed());
        self.first_refused.lock().get_or_insert(self.started.elapsed());
    }
}

pub(crate) fn run(args: &BurstArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &BurstArgs) -> Result<BurstReport> {
    let mut watch = Watch::open(args).await?;
    quiet(args, &mut watch).await?;
    let world = Arc::new(World::new(args));
    let until = world.started + Duration::from_secs_f64(args.seconds);
    let arriving = tokio::spawn(arrive(world.clone(), args.clone()));
    let mut samples: Vec<Sample> = Vec::new();
    while Instant::now() < until {
        samples.push(watch.look(world.started).await?);
        sleep(LOOK_EVERY).await;
    }
    // Who still waits is not waited for.
    drop(arriving.await?);
    let held = watch.site().await?;
    Ok(BurstReport::new(&world, args.people.into(), &samples, held))
}

/// A few people at a quiet room: each walks in. What they do is no part of the burst.
async fn quiet(args: &BurstArgs, watch: &mut Watch) -> Result<()> {
    let world = Arc::new(World::new(args));
    for nth in 0..QUIET_PEOPLE {
        let visit = person::live(world.clone(), nth, Instant::now(), QUIET_HOLD_MS);
        if timeout(QUIET_MAX, visit).await.is_err() {
            break;
        }
        sleep(QUIET_EVERY).await;
    }
    let walked_in = world.counts.walked_in.load(Ordering::Relaxed);
    let wrong = world.refusals.lock().errors.clone();
    ensure!(walked_in == QUIET_PEOPLE as u64, "{walked_in} walked in while it was quiet {wrong:?}");
    let sample = watch.look(world.started).await?;
    ensure!(!sample.queueing, "the room queued before the burst");
    Ok(())
}

/// Lets people come as they are due; they live on in the set.
async fn arrive(world: Arc<World>, args: BurstArgs) -> JoinSet<()> {
    let mut people = JoinSet::new();
    let over = Duration::from_millis(args.over_ms);
    for nth in 0..args.people {
        let due = world.started + over.mul_f64(f64::from(nth) / f64::from(args.people));
        sleep_until(due).await;
        note(&mut world.refusals.lock().late, due.elapsed());
        people.spawn(person::live(world.clone(), nth as usize, due, args.hold_ms));
        // What has ended is forgotten on the way.
        while people.try_join_next().is_some() {}
    }
    people
}

#[cfg(test)]
mod tests;
