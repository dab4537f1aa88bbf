//! People who wait as they are told: each asks again when its last answer said, and newcomers join by the clock and wait
//! too. Open loop: a request counts from when it was due. Opens no stream.

mod queue;
mod report;

use anyhow::{Context, Result, ensure};
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use self::queue::{Heard, Queue, Who};
use self::report::WaitReport;
use crate::aim::Aim;
use crate::asking::People;
use crate::closed::seconds;
use crate::connection::Connection;
use crate::start_signal::StartSignal;

#[derive(Args, Clone, Debug)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    aim: Aim,
    #[command(flatten)]
    people: People,
    /// Their first polls are spread evenly over so long: as long as the room tells most of them to wait
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    spread_ms: u64,
    /// Newcomers a second; each has an identity already, joins, and waits as well
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5_000))]
    joins_per_s: u32,
    /// How long to go on
    #[arg(long, default_value_t = 30.0, value_parser = seconds)]
    seconds: f64,
    /// Keep-alive connections; everybody keeps to one of them
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=2_048))]
    connections: u16,
    #[command(flatten)]
    start: StartSignal,
}

pub(crate) fn run(args: &WaitArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &WaitArgs) -> Result<WaitReport> {
    let aim = &args.aim;
    let newcomers = (f64::from(args.joins_per_s) * args.seconds) as u32;
    let newcomers = People { people: newcomers, places: Vec::new() }.newcomers(aim).await?;
    // Last, so that they have just been heard from when the clock begins.
    let waiting = args.people.waiting(aim).await?;
    ensure!(!waiting.is_empty(), "nobody waits");
    let mut queues: Vec<Queue> = Vec::new();
    for nth in 0..args.connections.into() {
        let connection = Connection::open(aim.target(nth), aim.from, nth).await?;
        queues.push(Queue::new(connection));
    }
    args.start.wait().await?;
    let (before, started) = (aim.server_usage(), Instant::now());
    let until = started + Duration::from_secs_f64(args.seconds);
    let spread = Duration::from_millis(args.spread_ms);
    let count = waiting.len();
    for (nth, person) in waiting.into_iter().enumerate() {
        let due = started + spread.mul_f64(nth as f64 / count as f64);
        queues[nth % usize::from(args.connections)].push(due, Who::waiting(person));
    }
    for (nth, person) in newcomers.into_iter().enumerate() {
        let after = (nth as f64 + 0.5) / f64::from(args.joins_per_s);
        let due = started + Duration::from_secs_f64(after);
        queues[nth % usize::from(args.connections)].push(due, Who::newcomer(person));
    }
    let mut tasks = JoinSet::new();
    for queue in queues {
        tasks.spawn(queue.carry_out(until));
    }
    let mut heard = Heard::default();
    while let Some(done) = tasks.join_next().await {
        heard.add(&done.context("a connection's task ended early")?)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(WaitReport::new(count, seconds, &heard).with_server(before, aim.server_usage()))
}

#[cfg(test)]
mod tests;
