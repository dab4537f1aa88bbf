//! A room that grows: people join as fast as a closed loop lets them, a probe polls beside it, and the server's memory is
//! read all along. Some of the places are kept for later runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, interval, sleep};

use crate::aim::Aim;
use crate::connection::Connection;
use crate::found::{latencies, ms, note};
use crate::prepare::{Person, Preparing, place, visitor, write_people};
use crate::probe::{Probe, Probed};

/// Places that the probe asks for in turn, every 5 ms: each twice a second, as a room with the shortest interval allows.
const PROBED: u32 = 100;
/// Joins before memory is first read, at most: a server that has just started gives back what its start needed only once
/// it works.
const WARMING: u32 = 10_000;
/// Of all joins, one in so many at the most warms up.
const WARMING_SHARE: u32 = 10;
/// Between two points of the timeline.
const SAMPLE: Duration = Duration::from_millis(500);

#[derive(Args, Clone, Debug)]
pub(crate) struct GrowArgs {
    #[command(flatten)]
    aim: Aim,
    /// How many join; the room must direct polls to its shortest interval (250 ms)
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(200..=4_000_000))]
    people: u32,
    /// Keep-alive connections that join
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=2_048))]
    connections: u16,
    /// Places to keep, spread evenly over the line
    #[arg(long, default_value_t = 16_000, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    keep: u32,
    /// Where the kept places are written
    #[arg(long, value_name = "FILE")]
    places_out: Option<PathBuf>,
    /// Pause before memory is read, at both ends: what was needed only for a moment is given back
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    settle_ms: u64,
}

/// A point of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    at_s: f64,
    waiting: u64,
    rss_mb: Option<f64>,
    worst_poll_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GrowReport {
    people: u64,
    seconds: f64,
    /// Identities and joins together.
    joins_per_s: f64,
    join_p50_ms: f64,
    join_p99_ms: f64,
    join_max_ms: f64,
    probe: Probed,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_mb: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_waiter: Option<f64>,
    timeline: Vec<Sample>,
}

pub(crate) fn run(args: &GrowArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &GrowArgs) -> Result<GrowReport> {
    let Aim { urls, from, room, .. } = &args.aim;
    let settle = Duration::from_millis(args.settle_ms);
    let warming = (args.people / WARMING_SHARE).clamp(PROBED, WARMING);
    let people = warming as usize;
    let preparing = Preparing { targets: urls, from: *from, connections: 4, people, room };
    let mut kept = preparing.places().await?;
    sleep(settle).await;
    let before = args.aim.server_usage();
    kept.truncate(PROBED as usize);
    let probe = Probe::start(args.aim.target(0), kept.clone())?;
    let growing = Arc::new(Growing {
        path: format!("/v1/rooms/{room}/places"),
        room: room.as_str().into(),
        people: (args.people - warming).into(),
        every: (args.people / args.keep).max(1).into(),
        next: AtomicU64::new(0),
        joined: AtomicU64::new(warming.into()),
    });
    let started = Instant::now();
    let watched = growing.clone().watch(args, started, &probe).await?;
    let seconds = started.elapsed().as_secs_f64();
    let probe = probe.end();
    sleep(settle).await;
    let rss_mb = before.zip(args.aim.server_usage()).map(|(a, b)| (a.rss_mb, b.rss_mb));
    kept.extend(watched.kept);
    if let Some(path) = &args.places_out {
        kept.sort_by_key(|person| person.seq);
        write_people(path, &kept)?;
    }
    let grown = growing.people as f64;
    Ok(GrowReport {
        people: args.people.into(),
        seconds,
        joins_per_s: grown / seconds,
        join_p50_ms: ms(&watched.took, 0.5),
        join_p99_ms: ms(&watched.took, 0.99),
        join_max_ms: ms(&watched.took, 1.0),
        probe,
        rss_mb,
        bytes_per_waiter: rss_mb.map(|(a, b)| (b - a) * 1_048_576.0 / grown),
        timeline: watched.timeline,
    })
}

/// What was seen while the room grew.
#[derive(Debug)]
struct Watched {
    kept: Vec<Person>,
    took: Histogram<u64>,
    timeline: Vec<Sample>,
}

/// What the connections share.
#[derive(Debug)]
struct Growing {
    path: String,
    room: Arc<str>,
    people: u64,
    /// One in so many is kept.
    every: u64,
    next: AtomicU64,
    joined: AtomicU64,
}

impl Growing {
    /// Lets all connections join, until everybody has.
    async fn watch(
        self: Arc<Self>,
        args: &GrowArgs,
        started: Instant,
        probe: &Probe,
    ) -> Result<Watched> {
        let aim = &args.aim;
        let mut tasks = JoinSet::new();
        for nth in 0..args.connections.into() {
            let connection = Connection::open(aim.target(nth), aim.from, nth).await?;
            tasks.spawn(self.clone().join_on(connection));
        }
        let mut seen = Watched { kept: Vec::new(), took: latencies(), timeline: Vec::new() };
        let mut samples = interval(SAMPLE);
        loop {
            tokio::select! {
                done = tasks.join_next() => {
                    let Some(done) = done else { break };
                    let (kept, took) = done??;
                    seen.kept.extend(kept);
                    seen.took.add(took)?;
                }
                _ = samples.tick() => seen.timeline.push(self.sample(aim, started, probe)),
            }
        }
        seen.timeline.push(self.sample(aim, started, probe));
        Ok(seen)
    }

    /// Whom it kept, and how long each join took.
    async fn join_on(
        self: Arc<Self>,
        mut connection: Connection,
    ) -> Result<(Vec<Person>, Histogram<u64>)> {
        let (mut kept, mut took) = (Vec::new(), latencies());
        loop {
            let nth = self.next.fetch_add(1, Ordering::Relaxed);
            if nth >= self.people {
                return Ok((kept, took));
            }
            let token = visitor(&mut connection).await?;
            let asked = Instant::now();
            let place = place(&mut connection, &self.path, &token).await?;
            note(&mut took, asked.elapsed());
            self.joined.fetch_add(1, Ordering::Relaxed);
            if nth.is_multiple_of(self.every) {
                let room = self.room.clone();
                kept.push(Person { room, token: place.place_token, seq: place.seq });
            }
        }
    }

    fn sample(&self, aim: &Aim, started: Instant, probe: &Probe) -> Sample {
        Sample {
            at_s: started.elapsed().as_secs_f64(),
            waiting: self.joined.load(Ordering::Relaxed),
            rss_mb: aim.server_usage().map(|usage| usage.rss_mb),
            worst_poll_ms: probe.take_worst_ms(),
        }
    }
}

impl fmt::Display for GrowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GrowReport { people, seconds, joins_per_s, probe, .. } = self;
        writeln!(
            f,
            "{people} joined in {seconds:.1} s ({joins_per_s:.0}/s with their identities)"
        )?;
        let GrowReport { join_p50_ms, join_p99_ms, join_max_ms, .. } = self;
        writeln!(
            f,
            "joins       p50 {join_p50_ms:.2} ms, p99 {join_p99_ms:.2} ms, max {join_max_ms:.2} ms"
        )?;
        let Probed { polls, errors, p50_ms, p99_ms, max_ms } = probe;
        write!(f, "polls       {polls} beside it, {errors} errors, ")?;
        write!(f, "p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms, longest {max_ms:.2} ms")?;
        if let (Some((before, after)), Some(each)) = (self.rss_mb, self.bytes_per_waiter) {
            write!(f, "\nmemory      {each:.0} bytes a waiter ({before:.1} -> {after:.1} MB)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::empty;
    use crate::prepare::read_people;
    use crate::target::Target;

    #[tokio::test(flavor = "multi_thread")]
    async fn everybody_joins_and_some_are_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, empty::routes()).await });
        let folder = tempfile::tempdir().expect("a folder");
        let places = folder.path().join("places");
        let args = GrowArgs {
            aim: Aim::at(url),
            people: 400,
            connections: 3,
            keep: 40,
            places_out: Some(places.clone()),
            settle_ms: 0,
        };
        let report = load(&args).await.expect("it runs");
        assert_eq!((report.people, report.probe.errors), (400, 0), "{report}");
        assert!(report.bytes_per_waiter.is_some(), "{report}");
        let last = report.timeline.last().expect("at least one");
        assert_eq!(last.waiting, 400);
        // The probe's own and every tenth of the others.
        assert_eq!(read_people(&[places]).expect("written").len(), PROBED as usize + 30);
    }
}
