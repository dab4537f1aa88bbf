//! People who wait at a server that tells them when to ask again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::*;
use crate::prepare::{Person, write_people};
use crate::target::Target;

const PAUSE_MS: u64 = 200;

/// When each token asked.
type Asked = Arc<Mutex<HashMap<String, Vec<Instant>>>>;

fn token(headers: &HeaderMap) -> String {
    headers["authorization"].to_str().expect("text").trim_start_matches("Bearer ").to_owned()
}

/// Tells everybody to wait; newcomers get tokens of their own, and are admitted at their first poll.
async fn served(asked: Asked, refuse: bool) -> Target {
    let joined = AtomicU64::new(0);
    let join = move || {
        let nth = joined.fetch_add(1, Ordering::Relaxed);
        let view = format!(r#"{{"status":"waiting","poll_after_ms":1,"place_token":"new-{nth}"}}"#);
        async move { (StatusCode::CREATED, view) }
    };
    let join = Arc::new(join);
    let poll = async move |headers: HeaderMap| {
        let token = token(&headers);
        let waits = token.starts_with("old");
        asked.lock().entry(token).or_default().push(Instant::now());
        if refuse {
            return StatusCode::TOO_MANY_REQUESTS.into_response();
        }
        let status = if waits { "waiting" } else { "admitted" };
        format!(r#"{{"status":"{status}","poll_after_ms":{PAUSE_MS}}}"#).into_response()
    };
    let routes = Router::new()
        .route("/v1/visitors", post(async || (StatusCode::CREATED, r#"{"visitor_token":"v"}"#)))
        .route("/v1/rooms/{room}/places", post(move || join()))
        .route("/v1/rooms/{room}/places/me", get(poll));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = Target(listener.local_addr().expect("bound"));
    tokio::spawn(async { axum::serve(listener, routes).await });
    url
}

async fn waited(refuse: bool) -> (WaitReport, Asked) {
    let asked = Asked::default();
    let folder = tempfile::tempdir().expect("a folder");
    let places = folder.path().join("places");
    let person = |n| Person { room: "bench".into(), token: format!("old-{n}"), seq: n };
    write_people(&places, &(0..7).map(person).collect::<Vec<_>>()).expect("written");
    let args = WaitArgs {
        aim: Aim::at(served(asked.clone(), refuse).await),
        people: People { people: 1, places: vec![places] },
        spread_ms: 100,
        joins_per_s: 10,
        seconds: 1.0,
        connections: 3,
        start: StartSignal::default(),
    };
    (load(&args).await.expect("it runs"), asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_asks_when_told_and_nobody_sooner() {
    let (report, asked) = waited(false).await;
    assert!(report.errors.is_empty(), "{report}");
    assert_eq!((report.people, report.joined, report.ended), (7, 10, 0), "{report}");
    let asked = asked.lock();
    let old: Vec<_> = asked.iter().filter(|(token, _)| token.starts_with("old")).collect();
    assert_eq!(old.len(), 7, "each at least once");
    for (token, times) in old {
        for two in times.windows(2) {
            assert!(two[1] - two[0] >= Duration::from_millis(PAUSE_MS), "{token}");
        }
    }
    // How many had time for it depends on the machine.
    let new = asked.iter().filter(|(token, _)| token.starts_with("new"));
    let polls: Vec<usize> = new.map(|(_, times)| times.len()).collect();
    assert!(polls.iter().all(|polls| *polls == 1), "who is admitted asks no more");
    assert_eq!(polls.len() as u64, report.admitted, "{report}");
    assert!(report.told_ms > 1.0 && report.told_ms <= PAUSE_MS as f64, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_polls_are_errors() {
    let (report, _) = waited(true).await;
    assert_eq!(report.polls, 0, "{report}");
    assert!(report.errors["poll 429"] >= 7, "{report}");
}
