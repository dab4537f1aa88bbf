//! The load of joins: identities first, then the timed closed loop. Where it may go, `target` decides.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use hdrhistogram::Histogram;
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use crate::connection::Connection;
use crate::prepare::identities;
use crate::report::{Report, latencies};
use crate::target::Target;
use crate::{process, report};

/// Answers that failed after which a connection gives up: a server that is down is not worth ten seconds of errors.
const ERRORS_MAX: u64 = 1_000;

#[derive(Args, Debug, Clone)]
pub(crate) struct JoinsArgs {
    /// The server, on loopback: http://127.0.0.1:8080
    #[arg(long)]
    url: Target,
    /// The room to join; it must be open and its server without a join limit
    #[arg(long, default_value = "bench")]
    room: String,
    /// Keep-alive connections, one request in flight on each
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=2_048))]
    connections: u16,
    /// How long to join
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// People to prepare before the clock runs; when all have joined the run ends early
    #[arg(long, default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    people: u32,
    /// Threads of this generator; on a small machine each one is taken from the server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    threads: u8,
    /// The server's process, to report its CPU and memory
    #[arg(long)]
    pid: Option<u32>,
    /// Write the report here too, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Prepares, joins, prints the report.
pub(crate) fn run(args: JoinsArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.threads.into())
        .enable_all()
        .build()?;
    let json = args.json.clone();
    let report = runtime.block_on(load(args))?;
    writeln!(std::io::stdout(), "{report}")?;
    if let Some(path) = json {
        let text = serde_json::to_vec_pretty(&report)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(crate) async fn load(args: JoinsArgs) -> Result<Report> {
    let (wanted, connections) = (args.people as usize, usize::from(args.connections));
    let people = Arc::new(identities(args.url, wanted, connections).await?);
    let path: Arc<str> = format!("/v1/rooms/{}/places", args.room).into();
    let next = Arc::new(AtomicUsize::new(0));
    let mut connections = Vec::new();
    for _ in 0..args.connections {
        connections.push(Connection::open(args.url).await?);
    }
    let before = args.pid.and_then(process::usage);
    let started = Instant::now();
    let until = started + Duration::from_secs(args.seconds);
    let mut tasks = JoinSet::new();
    for connection in connections {
        let work = Work { path: path.clone(), people: people.clone(), next: next.clone(), until };
        tasks.spawn(work.carry_out(connection));
    }
    let (mut kept, mut errors) = (report::latencies(), BTreeMap::new());
    while let Some(done) = tasks.join_next().await {
        let found = done?;
        kept.add(found.latencies)?;
        for (what, count) in found.errors {
            *errors.entry(what).or_default() += count;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let after = args.pid.and_then(process::usage);
    let report = Report::new(args.connections.into(), seconds, &kept, errors);
    Ok(report.with_server(before, after))
}

/// What one connection does, and what it found.
struct Work {
    path: Arc<str>,
    people: Arc<Vec<String>>,
    next: Arc<AtomicUsize>,
    until: Instant,
}

struct Found {
    latencies: Histogram<u64>,
    errors: BTreeMap<String, u64>,
}

impl Work {
    async fn carry_out(self, mut connection: Connection) -> Found {
        let mut found = Found { latencies: latencies(), errors: BTreeMap::new() };
        let mut failed = 0;
        while failed < ERRORS_MAX {
            // Only a hand-out of numbers: nothing else is ordered by it.
            let Some(token) = self.people.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let asked = Instant::now();
            if asked >= self.until {
                break;
            }
            let what = match connection.post(&self.path, Some(token)).await {
                Ok((StatusCode::CREATED, _)) => {
                    let us = u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX);
                    found.latencies.saturating_record(us);
                    continue;
                }
                Ok((status, _)) => status.as_u16().to_string(),
                // The connection is gone; what it had left is for the others.
                Err(_) => {
                    failed = ERRORS_MAX;
                    "transport".to_owned()
                }
            };
            failed += 1;
            *found.errors.entry(what).or_default() += 1;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::post;
    use tokio::net::TcpListener;

    use super::*;
    use crate::baseline;

    async fn args(routes: Router, people: u32) -> JoinsArgs {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes).await });
        JoinsArgs {
            url,
            room: "bench".to_owned(),
            connections: 8,
            seconds: 20,
            people,
            threads: 1,
            pid: Some(std::process::id()),
            json: None,
        }
    }

    #[tokio::test]
    async fn everybody_joins_once_and_the_run_ends() {
        let report = load(args(baseline::routes(), 501).await).await.expect("it runs");
        assert_eq!((report.ok, report.connections), (501, 8));
        assert!(report.errors.is_empty() && report.seconds < 20.0, "{report}");
        assert!(report.p50_ms <= report.p99_ms && report.p99_ms <= report.max_ms, "{report}");
        assert!(report.server.is_some());
    }

    #[tokio::test]
    async fn refusals_are_errors_not_throughput() {
        let busy = async || StatusCode::SERVICE_UNAVAILABLE;
        let visitor = async || (StatusCode::CREATED, r#"{"visitor_token":"x"}"#);
        let routes = Router::new()
            .route("/v1/visitors", post(visitor))
            .route("/v1/rooms/{room}/places", post(busy));
        let report = load(args(routes, 40).await).await.expect("it runs");
        assert_eq!((report.ok, report.errors), (0, BTreeMap::from([("503".to_owned(), 40)])));
    }

    #[tokio::test]
    async fn a_server_without_identities_is_an_error() {
        let error = load(args(Router::new(), 1).await).await.expect_err("404");
        assert!(error.to_string().contains("404"), "{error}");
    }
}
