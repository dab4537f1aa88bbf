//! Open loops of joins and polls: requests are due by the clock, whatever the server does, and their latency counts
//! from then. A server that stalls for a second shows that second in the percentiles.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use crate::aim::Aim;
use crate::asking::{Asking, People, What, Wrong};
use crate::connection::Connection;
use crate::dial::Sources;
use crate::found::{Found, note};
use crate::processes;
use crate::report::Report;
use crate::schedule::{Schedule, Stage};
use crate::start_signal::StartSignal;
use crate::target::Target;

/// A request that could not be sent for so long is dropped, as people give up; it is counted.
const LATE_MAX_MS: u64 = 1_000;
/// A connection that was lost is opened again so often by each worker.
const REOPEN_MAX: u32 = 100;

#[derive(Args, Debug, Clone)]
pub(crate) struct OpenArgs {
    /// What is asked for
    #[arg(value_enum)]
    what: What,
    #[command(flatten)]
    aim: Aim,
    #[command(flatten)]
    people: People,
    /// A stretch of the schedule: RATE:SECONDS, or FROM-TO:SECONDS for a ramp; may be given several times
    #[arg(long = "stage", value_name = "STAGE", required = true)]
    stages: Vec<Stage>,
    /// Connections over which requests leave; when all wait for answers, requests leave late
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u16).range(1..=8_192))]
    connections: u16,
    /// A request that leaves later than this is dropped
    #[arg(long, default_value_t = LATE_MAX_MS, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    late_max_ms: u64,
    /// Processes that share the schedule, each with its own connections, threads and source addresses
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    processes: u8,
    /// Of a process that another one has started: which part of the schedule is its own
    #[arg(long, hide = true, value_parser = part, default_value = "0/1")]
    part: (u64, u64),
    #[command(flatten)]
    start: StartSignal,
}

fn part(text: &str) -> Result<(u64, u64), String> {
    let numbers =
        text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
    numbers.filter(|(nth, of)| nth < of).ok_or_else(|| format!("{text} is no part"))
}

/// Prepares, asks by the clock, prints the report. With several processes this one only starts and adds up.
pub(crate) fn run(args: &OpenArgs) -> Result<()> {
    if args.processes == 1 {
        return args.aim.run(load(args));
    }
    let before = args.aim.server_usage();
    let reports: Vec<Report> = processes::run(args.processes)?;
    let merged = Report::merge(&reports)?.with_server(before, args.aim.server_usage());
    args.aim.tell(&merged)
}

pub(crate) async fn load(args: &OpenArgs) -> Result<Report> {
    let schedule = Schedule::new(&args.stages, 1.0)?;
    let (nth, of) = args.part;
    let own = schedule.arrivals().saturating_sub(nth).div_ceil(of);
    let mut people = args.people.clone();
    // One for each join; nobody else is needed.
    people.people = people.people.min(u32::try_from(own).unwrap_or(u32::MAX).max(1));
    let asking = Asking::prepare(args.what, &args.aim, &people).await?;
    let mut workers = Vec::new();
    for nth in 0..usize::from(args.connections) {
        let (target, from) = (args.aim.target(nth), args.aim.from);
        let connection = Connection::open(target, from, nth).await?;
        workers.push(Line { target, from, nth, connection, reopened: 0 });
    }
    args.start.wait().await?;
    let before = args.aim.server_usage();
    let due = Due {
        schedule: schedule.clone(),
        next: Arc::new(AtomicU64::new(nth)),
        step: of,
        started: Instant::now(),
        late_max: Duration::from_millis(args.late_max_ms),
    };
    let mut tasks = JoinSet::new();
    for line in workers {
        tasks.spawn(work(due.clone(), asking.clone(), line));
    }
    let mut found = Found::default();
    while let Some(done) = tasks.join_next().await {
        found.add(&done?)?;
    }
    let seconds = due.started.elapsed().as_secs_f64();
    let report = Report::open_loop(args.connections.into(), seconds, &found);
    Ok(report.with_server(before, args.aim.server_usage()))
}

/// The schedule as the workers share it.
#[derive(Clone, Debug)]
struct Due {
    schedule: Schedule,
    next: Arc<AtomicU64>,
    step: u64,
    started: Instant,
    late_max: Duration,
}

impl Due {
    fn next(&self) -> Option<Instant> {
        let nth = self.next.fetch_add(self.step, Ordering::Relaxed);
        Some(self.started + self.schedule.due(nth)?)
    }
}

/// One connection, opened again where it was lost.
#[derive(Debug)]
struct Line {
    target: Target,
    from: Sources,
    nth: usize,
    connection: Connection,
    reopened: u32,
}

impl Line {
    async fn reopen(&mut self) -> Result<()> {
        anyhow::ensure!(self.reopened < REOPEN_MAX, "lost too often");
        self.reopened += 1;
        self.connection = Connection::open(self.target, self.from, self.nth).await?;
        Ok(())
    }
}

/// Takes what is due next, waits for it, sends it. A worker that comes back late finds requests that were due meanwhile.
async fn work(due: Due, asking: Asking, mut line: Line) -> Found {
    let mut found = Found::default();
    while let Some(at) = due.next() {
        sleep_until(at).await;
        let late = at.elapsed();
        if late > due.late_max {
            found.dropped += 1;
            continue;
        }
        note(&mut found.late, late);
        match asking.next(&mut line.connection).await {
            None => break,
            Some(Ok(())) => note(&mut found.latencies, at.elapsed()),
            Some(Err(wrong)) => {
                found.error(&wrong.to_string());
                if wrong == Wrong::Transport && line.reopen().await.is_err() {
                    break;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::Request;
    use axum::middleware::{Next, from_fn};
    use tokio::net::TcpListener;
    use tokio::sync::RwLock;

    use super::*;
    use crate::empty;

    async fn served(routes: Router) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes).await });
        url
    }

    fn args(url: Target, stage: &str, connections: u16) -> OpenArgs {
        OpenArgs {
            what: What::Joins,
            aim: Aim::at(url),
            people: People { people: 400_000, places: Vec::new() },
            stages: vec![stage.parse().expect("a stage")],
            connections,
            late_max_ms: LATE_MAX_MS,
            processes: 1,
            part: (0, 1),
            start: StartSignal::default(),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_leave_at_the_rate_whatever_it_costs() {
        let url = served(empty::routes()).await;
        let report = load(&args(url, "500:1", 32)).await.expect("it runs");
        let open = report.open.clone().expect("an open loop");
        assert_eq!(report.ok + open.dropped, 500, "{report}");
        assert!(report.seconds > 0.95, "{report}");
        assert!(report.errors.is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_part_sends_its_own_share_of_the_schedule() {
        let url = served(empty::routes()).await;
        let args = OpenArgs { part: (1, 3), ..args(url, "300:0.5", 16) };
        let report = load(&args).await.expect("it runs");
        assert_eq!(report.ok + report.open.expect("open").dropped, 50);
    }

    /// Coordinated omission: a closed loop asks a stalled server nothing, so that one stall is one slow answer a
    /// connection; an open loop counts everybody who would have come meanwhile.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_stall_of_a_second_is_in_the_open_loops_percentiles() {
        let (gate, seen) = (Arc::new(RwLock::new(())), Arc::new(AtomicU64::new(0)));
        let routes = empty::routes().layer(from_fn(move |request: Request, next: Next| {
            let (gate, seen) = (gate.clone(), seen.clone());
            async move {
                let joins = request.uri().path().ends_with("/places");
                if joins && seen.fetch_add(1, Ordering::Relaxed) == 200 {
                    let _closed = gate.write().await;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                drop(gate.read().await);
                next.run(request).await
            }
        }));
        let url = served(routes).await;
        // Long enough to wait for the stall's end; too few connections to hide it.
        let args = OpenArgs { late_max_ms: 10_000, ..args(url, "200:3", 4) };
        let report = load(&args).await.expect("it runs");
        assert_eq!(report.ok, 600, "{report}");
        // A third of all was due in the stall's second: half of those waited longer than half of it.
        assert!(report.max_ms >= 950.0 && report.p95_ms >= 500.0, "{report}");
    }

    #[test]
    fn parts_are_below_their_number() {
        assert_eq!(part("2/3"), Ok((2, 3)));
        assert!(part("3/3").is_err() && part("x").is_err());
    }
}
