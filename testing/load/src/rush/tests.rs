//! A rush against a server that admits at once, and against one that keeps its notices to itself.

use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::target::Target;

/// How many are admitted, and whether streams tell of it.
#[derive(Clone)]
struct Site {
    admitted: watch::Sender<u64>,
    silent: Arc<AtomicBool>,
}

/// The stream of the place that the token names: its number.
async fn stream(State(site): State<Site>, headers: http::HeaderMap) -> Response {
    let token = headers["authorization"].to_str().expect("text").to_owned();
    let seq: u64 = token.trim_start_matches("Bearer ").parse().expect("a number");
    let mut admitted = site.admitted.subscribe();
    let (tx, rx) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(4);
    tokio::spawn(async move {
        let frame = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        _ = tx.send(frame("id: 1-1\nevent: place\ndata: {}\n\n")).await;
        _ = admitted.wait_for(|count| *count >= seq).await;
        if site.silent.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        _ = tx.send(frame("id: 1-5\nevent: admitted\ndata: {}\n\n")).await;
    });
    let frames = futures_util::stream::unfold(rx, async |mut rx| Some((rx.recv().await?, rx)));
    Response::new(Body::from_stream(frames))
}

async fn rush(silent: bool) -> RushReport {
    let seq = Arc::new(AtomicU64::new(0));
    let site = Site { admitted: watch::channel(0).0, silent: Arc::new(silent.into()) };
    // Closed after each place: a kept connection is one that the server has closed.
    let join = async move || {
        let seq = seq.fetch_add(1, Ordering::Relaxed) + 1;
        let place = format!(r#"{{"place_token":"{seq}","seq":{seq}}}"#);
        (StatusCode::CREATED, [(http::header::CONNECTION, "close")], place)
    };
    let joined = join.clone();
    let admit = async move |State(site): State<Site>, _body: Bytes| {
        site.admitted.send_modify(|count| *count += 30);
        r#"{"called":30}"#
    };
    let routes = Router::new()
        .route("/v1/visitors", post(async || (StatusCode::CREATED, r#"{"visitor_token":"x"}"#)))
        .route("/v1/rooms/{room}/places", post(joined))
        .route("/v1/rooms/{room}/admit", post(admit))
        .route("/v1/rooms/{room}/events", get(stream))
        .with_state(site);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = Target(listener.local_addr().expect("bound"));
    tokio::spawn(async { axum::serve(listener, routes).await });
    let args = RushArgs {
        aim: Aim::at(url),
        key: "k".to_owned(),
        stages: vec!["100:0.8".parse().expect("a stage")],
        admit: 30,
        admit_from: 1.0,
        admit_calls: 2,
        scale: 1.0,
        late_max_ms: 1_000,
        people_max: 1_000,
    };
    load(&args).await.expect("it runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_admitted_is_notified_and_the_rest_waits_though_kept_connections_close() {
    let report = rush(false).await;
    assert_eq!((report.arrivals, report.dropped, report.registered), (80, 0, 80), "{report}");
    assert_eq!((report.streams_opened, report.peak_connections), (80, 80), "{report}");
    assert_eq!((report.admitted, report.notified, report.lost), (60, 60, 0), "{report}");
    assert_eq!((report.allow_calls, report.out_of_order), (2, 0), "{report}");
    assert!(report.errors.is_empty(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_never_comes_is_lost() {
    let report = rush(true).await;
    assert_eq!((report.admitted, report.notified, report.lost), (60, 0, 60), "{report}");
}
