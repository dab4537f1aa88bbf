//! Closed loops of joins, polls, checks and pages: so many connections, one request in flight on each. What the most is that the
//! server can do; how long a request waits at a given load, `open` tells.

use anyhow::Result;
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use crate::aim::Aim;
use crate::asking::{Asking, People, What, Wrong};
use crate::connection::Connection;
use crate::found::{Found, note};
use crate::report::Report;
use crate::start_signal::StartSignal;

/// Answers that failed after which a connection gives up: a server that is down is not worth ten seconds of errors.
const ERRORS_MAX: u64 = 1_000;

#[derive(Args, Debug, Clone)]
pub(crate) struct ClosedArgs {
    #[command(flatten)]
    aim: Aim,
    #[command(flatten)]
    people: People,
    /// Keep-alive connections, one request in flight on each
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=2_048))]
    connections: u16,
    /// How long to ask
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    /// End after so many requests, if the time is not over before
    #[arg(long, value_name = "N")]
    requests: Option<usize>,
    #[command(flatten)]
    start: StartSignal,
}

/// A load's duration on the command line.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    (0.1..=300.0).contains(&seconds).then_some(seconds).ok_or("0.1 to 300 seconds".to_owned())
}

/// Prepares, asks, prints the report.
pub(crate) fn run(what: What, args: &ClosedArgs) -> Result<()> {
    args.aim.run(load(what, args))
}

pub(crate) async fn load(what: What, args: &ClosedArgs) -> Result<Report> {
    let asking = Asking::prepare(what, &args.aim, &args.people).await?.limited(args.requests);
    let mut connections = Vec::new();
    for nth in 0..args.connections.into() {
        connections.push(Connection::open(args.aim.target(nth), args.aim.from, nth).await?);
    }
    args.start.wait().await?;
    let before = args.aim.server_usage();
    let started = Instant::now();
    let until = started + Duration::from_secs_f64(args.seconds);
    let mut tasks = JoinSet::new();
    for connection in connections {
        tasks.spawn(carry_out(asking.clone(), connection, until));
    }
    let mut found = Found::default();
    while let Some(done) = tasks.join_next().await {
        found.add(&done?)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let report = Report::new(args.connections.into(), seconds, &found);
    Ok(report.with_server(before, args.aim.server_usage()))
}

/// What one connection does, and what it found.
async fn carry_out(asking: Asking, mut connection: Connection, until: Instant) -> Found {
    let (mut found, mut failed) = (Found::default(), 0);
    while failed < ERRORS_MAX {
        let asked = Instant::now();
        if asked >= until {
            break;
        }
        let Some(outcome) = asking.next(&mut connection).await else { break };
        let Err(wrong) = outcome else {
            note(&mut found.latencies, asked.elapsed());
            continue;
        };
        found.error(&wrong.to_string());
        // What a lost connection had left is for the others.
        failed = if wrong == Wrong::Transport { ERRORS_MAX } else { failed + 1 };
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use axum::Router;
    use axum::routing::post;
    use http::StatusCode;
    use tokio::net::TcpListener;

    use super::*;
    use crate::empty;
    use crate::prepare::{Person, write_people};
    use crate::target::Target;

    async fn args(routes: Router, people: u32) -> ClosedArgs {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes).await });
        ClosedArgs {
            aim: Aim::at(url),
            people: People { people, places: Vec::new() },
            connections: 8,
            seconds: 20.0,
            requests: None,
            start: StartSignal::default(),
        }
    }

    #[tokio::test]
    async fn everybody_joins_once_and_the_run_ends() {
        let args = args(empty::routes(), 501).await;
        let report = load(What::Joins, &args).await.expect("it runs");
        assert_eq!((report.ok, report.connections), (501, 8));
        assert!(report.errors.is_empty() && report.seconds < 20.0, "{report}");
        assert!(report.p50_ms <= report.p99_ms && report.p99_ms <= report.max_ms, "{report}");
        assert!(report.server.is_some());
    }

    #[tokio::test]
    async fn people_poll_in_turn_until_the_time_is_over() {
        let args = ClosedArgs { seconds: 0.3, ..args(empty::routes(), 3).await };
        let report = load(What::Polls, &args).await.expect("it runs");
        assert!(report.ok > 3 && report.errors.is_empty(), "{report}");
        assert!((0.3..5.0).contains(&report.seconds), "{report}");
    }

    #[tokio::test]
    async fn checks_and_pages_are_asked_for_with_passes_and_end_after_so_many() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = folder.path().join("passes");
        let person = Person { room: "bench".into(), token: "t".to_owned(), seq: 1 };
        write_people(&places, &[person]).expect("written");
        for what in [What::Gate, What::Site] {
            let people = People { people: 1, places: vec![places.clone()] };
            let args = ClosedArgs { people, requests: Some(77), ..args(empty::routes(), 1).await };
            let report = load(what, &args).await.expect("it runs");
            assert!(report.ok == 77 && report.errors.is_empty(), "{what:?} {report}");
            assert!(load(what, &self::args(empty::routes(), 1).await).await.is_err(), "no passes");
        }
    }

    #[tokio::test]
    async fn refusals_are_errors_not_throughput() {
        let busy = async || StatusCode::SERVICE_UNAVAILABLE;
        let visitor = async || (StatusCode::CREATED, r#"{"visitor_token":"x"}"#);
        let routes = Router::new()
            .route("/v1/visitors", post(visitor))
            .route("/v1/rooms/{room}/places", post(busy));
        let report = load(What::Joins, &args(routes, 40).await).await.expect("it runs");
        assert_eq!((report.ok, report.errors), (0, BTreeMap::from([("503".to_owned(), 40)])));
    }

    #[tokio::test]
    async fn a_server_without_identities_is_an_error() {
        let args = args(Router::new(), 1).await;
        let error = load(What::Joins, &args).await.expect_err("404");
        assert!(error.to_string().contains("404"), "{error}");
    }
}
