//! A burst before a small gate of the test's own: one that holds, and one that lets everybody in.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post};
use tokio::net::TcpListener;

use super::*;
use crate::held;

/// How many may be inside, and are.
#[derive(Clone)]
struct Gate {
    capacity: u64,
    inside: Arc<AtomicU64>,
    site: Target,
}

impl Gate {
    fn enter(&self) -> bool {
        let more = |inside| (inside < self.capacity).then_some(inside + 1);
        self.inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    /// What the page's own place view says.
    fn place(&self) -> &'static str {
        if self.enter() {
            r#"{"status":"admitted","place_token":"p","pass":{"token":"good"}}"#
        } else {
            r#"{"status":"waiting","place_token":"p","poll_after_ms":30}"#
        }
    }
}

async fn page(State(gate): State<Gate>, uri: http::Uri, headers: http::HeaderMap) -> Response {
    let shown = headers.contains_key("authorization");
    if !shown && !gate.enter() {
        return StatusCode::PRECONDITION_REQUIRED.into_response();
    }
    let mut site = crate::connection::Connection::open(gate.site, Aim::at(gate.site).from, 0)
        .await
        .expect("it listens");
    let answer = site.ask(http::Method::GET, uri.path(), None).await.expect("an answer");
    (answer.0, [("set-cookie", "jari_place_bench=p; Path=/")], answer.1).into_response()
}

async fn stats(State(gate): State<Gate>) -> String {
    let live = gate.inside.load(Ordering::SeqCst);
    let queueing = if live >= gate.capacity { r#"{"why":"live"}"# } else { "null" };
    format!(r#"{{"live":{live},"waiting":0,"queueing":{queueing}}}"#)
}

async fn served(routes: Router) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let target = Target(listener.local_addr().expect("bound"));
    tokio::spawn(async { axum::serve(listener, routes).await });
    target
}

async fn burst(capacity: u64) -> Result<BurstReport> {
    let site = served(held::routes()).await;
    let gate = Gate { capacity, inside: Arc::default(), site };
    let visitor = async || (StatusCode::CREATED, r#"{"visitor_token":"v"}"#);
    let place = async |State(gate): State<Gate>| gate.place();
    let leave = async |State(gate): State<Gate>| {
        gate.inside.fetch_sub(1, Ordering::SeqCst);
        StatusCode::NO_CONTENT
    };
    let routes = Router::new()
        .route("/tickets/{*page}", any(page))
        .route("/.jari/v1/visitors", post(visitor))
        .route("/.jari/v1/rooms/{room}/places", post(place))
        .route("/.jari/v1/rooms/{room}/places/me", get(place).merge(delete(leave)))
        .route("/v1/admin/rooms/{room}/stats", get(stats))
        .with_state(gate);
    let url = served(routes).await;
    let args = BurstArgs {
        aim: Aim::at(url),
        api: url,
        site,
        key: "k".to_owned(),
        people: 60,
        over_ms: 100,
        hold_ms: 200,
        seconds: 3.0,
        connections: 64,
    };
    load(&args).await
}

#[tokio::test(flavor = "multi_thread")]
async fn some_walk_in_the_rest_wait_and_the_site_never_has_more_than_the_gate_lets_in() {
    let report = burst(20).await.expect("it runs");
    assert_eq!((report.people, report.errors.clone()), (60, BTreeMap::new()), "{report}");
    assert_eq!((report.walked_in + report.sent_to_room, report.most_at_site), (60, 20), "{report}");
    assert_eq!(report.went_in, report.sent_to_room, "all of them in time: {report}");
    assert!(report.queueing_ms.is_some_and(|ms| ms < 3_000.0), "{report}");
    assert!(report.first_refused_ms.is_some() && report.most_inside <= 20, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_does_not_hold_is_seen() {
    let report = burst(u64::MAX).await.expect("it runs");
    assert_eq!((report.walked_in, report.queueing_ms), (60, None), "{report}");
    assert!(report.most_at_site > 20, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_not_quiet_before_is_an_error() {
    let error = burst(0).await.expect_err("nobody walks in");
    assert!(error.to_string().contains("0 walked in while it was quiet"), "{error}");
}
