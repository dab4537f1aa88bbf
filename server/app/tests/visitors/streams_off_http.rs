//! Streams that leave the HTTP stack (issue 3): on the wire nothing may tell them from others but the head of their
//! connection, whatever was asked on it before and whoever is between.

use jari_testkit::{TestApp, eventually};
use serde_json::json;

use crate::raw_stream::Raw;
use crate::{move_line, still};

/// A room in which one person waits, and their place token.
async fn waiting(app: &TestApp) -> (String, String) {
    let room = app.create_room(still).await;
    let place = app.visitor().wait_in(&room).await;
    (room, place.place_token.expect("a receipt"))
}

fn ask(method: &str, version: &str, room: &str, token: &str) -> String {
    format!(
        "{method} /v1/rooms/{room}/events HTTP/{version}\r\nhost: test\r\n\
         authorization: Bearer {token}\r\n\r\n"
    )
}

fn ask_room(room: &str) -> String {
    format!("GET /v1/rooms/{room} HTTP/1.1\r\nhost: test\r\n\r\n")
}

/// Whether the stream of this head is served outside of the HTTP stack.
fn has_left(head: &str) -> bool {
    head.contains("connection: close\r\n") && !head.contains("transfer-encoding")
}

async fn open_streams(app: &TestApp) -> Vec<String> {
    let url = app.ops_url().join("/metrics").expect("a path");
    let text = reqwest::get(url).await.expect("sent").text().await.expect("text");
    let gauges = ["jari_streams ", "jari_connections "];
    let counts = text.lines().filter(|line| gauges.iter().any(|gauge| line.starts_with(gauge)));
    counts.map(str::to_owned).collect()
}

async fn until_streams(app: &TestApp, count: usize) {
    let wanted = format!("jari_streams {count}");
    let what = format!("{count} streams are open");
    eventually(&what, async || open_streams(app).await.contains(&wanted).then_some(())).await;
}

#[tokio::test]
async fn issue_3_a_stream_leaves_with_the_headers_of_its_layers() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    for version in ["1.1", "1.0"] {
        let mut raw = Raw::connect(&app).await;
        raw.send(&ask("GET", version, &room, &token)).await;
        let head = raw.until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && has_left(&head), "{head}");
        for name in ["content-type", "cache-control", "x-accel-buffering", "jari-call", "date"] {
            assert_eq!(head.matches(&format!("\r\n{name}: ")).count(), 1, "{name} in {head}");
        }
        let place = raw.until("\n\n").await;
        assert!(place.starts_with("id: ") && place.contains("event: place\n"), "{place}");
        move_line(&app, &room).await;
        raw.until("event: line\n").await;
    }
    until_streams(&app, 0).await;
}

#[tokio::test]
async fn issue_3_a_reused_connection_becomes_a_stream() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut raw = Raw::connect(&app).await;
    for _ in 0..3 {
        raw.send(&ask_room(&room)).await;
        raw.until("\r\n\r\n").await;
        raw.until("server_time").await;
        raw.until("}").await;
    }
    raw.send(&ask("GET", "1.1", &room, &token)).await;
    let head = raw.until("\r\n\r\n").await;
    assert!(has_left(&head), "{head}");
    raw.until("event: place\n").await;
    until_streams(&app, 1).await;
    assert!(open_streams(&app).await.iter().any(|line| line != "jari_connections 0"));
    let admit = json!({"count": 1});
    let _ = app.operator().steer(&room, "admit", admit).await.expect(200);
    raw.until("event: admitted\n").await;
}

/// What was asked before the stream is answered whole and first; what was asked after it is not answered at all, which
/// `Connection: close` tells the client (RFC 9112, 9.6).
#[tokio::test]
async fn issue_3_pipelined_requests_are_answered_in_order_and_none_after_the_stream() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut raw = Raw::connect(&app).await;
    let before = ask_room(&room).repeat(20);
    let stream = ask("GET", "1.1", &room, &token);
    raw.send(&format!("{before}{stream}{}", ask_room(&room))).await;
    let answers = raw.until("text/event-stream\r\n").await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 21, "{answers}");
    assert_eq!(answers.matches("\"server_time\"").count(), 20, "{answers}");
    raw.until("event: place\n").await;
    move_line(&app, &room).await;
    let more = raw.until("event: line\n").await;
    assert!(!more.contains("HTTP/1.1"), "{more}");
}

/// Of answers that the peer has not taken yet, nothing may be swallowed with the stream's.
#[tokio::test]
async fn issue_3_earlier_answers_that_wait_for_the_peer_are_whole() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let document = app.visitor().get("/openapi.json").await.expect(200).text();
    let mut raw = Raw::connect(&app).await;
    let before = "GET /openapi.json HTTP/1.1\r\nhost: test\r\n\r\n".repeat(20);
    raw.send(&format!("{before}{}", ask("GET", "1.1", &room, &token))).await;
    let answers = raw.until("text/event-stream\r\n").await;
    assert_eq!(answers.matches(&document).count(), 20);
    raw.until("event: place\n").await;
    move_line(&app, &room).await;
    raw.until("event: line\n").await;
}

#[tokio::test]
async fn issue_3_a_head_request_and_a_request_with_a_body_stay() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut raw = Raw::connect(&app).await;
    raw.send(&ask("HEAD", "1.1", &room, &token)).await;
    let head = raw.until("\r\n\r\n").await;
    assert!(head.contains("text/event-stream") && !has_left(&head), "{head}");
    // The connection goes on, and nothing of a stream is on it.
    raw.send(&ask_room(&room)).await;
    assert!(raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 200 OK"));

    let mut raw = Raw::connect(&app).await;
    let ask =
        ask("GET", "1.1", &room, &token).replace("\r\n\r\n", "\r\ncontent-length: 2\r\n\r\n{}");
    raw.send(&ask).await;
    let head = raw.until("\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked") && !has_left(&head), "{head}");
    move_line(&app, &room).await;
    raw.until("event: line\n").await;
}

#[tokio::test]
async fn issue_3_a_stream_of_http2_stays() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().expect("a client");
    let url = app.url().join(&format!("/v1/rooms/{room}/events")).expect("a path");
    let mut answer = client.get(url).bearer_auth(token).send().await.expect("sent");
    assert_eq!((answer.version(), answer.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    assert!(!answer.headers().contains_key("connection"));
    let mut text = String::new();
    move_line(&app, &room).await;
    while !text.contains("event: line\n") {
        let chunk = answer.chunk().await.expect("it is open").expect("it goes on");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(text.contains("event: place\n"), "{text}");
}

#[tokio::test]
async fn issue_3_a_refused_stream_keeps_its_connection() {
    let app = TestApp::start().await;
    let (room, _) = waiting(&app).await;
    let mut raw = Raw::connect(&app).await;
    raw.send(&ask("GET", "1.1", &room, "nonsense")).await;
    assert!(raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 401"));
    raw.until("}").await;
    raw.send(&ask_room(&room)).await;
    assert!(raw.until("\r\n\r\n").await.starts_with("HTTP/1.1 200"));
}

/// Whoever ends or half ends a connection has gone: the slots of the stream and of the connection are free again.
#[tokio::test]
async fn issue_3_closed_and_half_closed_peers_are_noticed() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut raw = Raw::connect(&app).await;
        raw.send(&ask("GET", "1.1", &room, &token)).await;
        raw.until("event: place\n").await;
        open.push(raw);
    }
    until_streams(&app, 3).await;
    let mut half = open.pop().expect("three");
    tokio::io::AsyncWriteExt::shutdown(&mut half.socket).await.expect("half closed");
    half.rest().await;
    until_streams(&app, 2).await;
    drop(open.pop());
    until_streams(&app, 1).await;
    move_line(&app, &room).await;
    open[0].until("event: line\n").await;
}

#[tokio::test]
async fn issue_3_a_drain_reaches_streams_and_waits_for_them() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut raw = Raw::connect(&app).await;
        raw.send(&ask("GET", "1.1", &room, &token)).await;
        raw.until("event: place\n").await;
        open.push(raw);
    }
    app.stop().await;
    let mut waits = std::collections::BTreeSet::new();
    for raw in &mut open {
        let rest = raw.rest().await;
        let (_, last) = rest.split_once("event: reconnect\n").expect("the last event");
        assert_eq!(last.matches("\n\n").count(), 1, "{last}");
        waits.insert(last.to_owned());
    }
    assert!(waits.len() > 10, "they are spread: {waits:?}");
}

#[tokio::test]
async fn issue_3_after_a_restart_a_stream_resumes_with_its_last_event_id() {
    let app = TestApp::start().await;
    let (room, token) = waiting(&app).await;
    let mut raw = Raw::connect(&app).await;
    raw.send(&ask("GET", "1.1", &room, &token)).await;
    move_line(&app, &room).await;
    raw.until("event: line\n").await;
    let app = app.restart().await;
    let rest = raw.rest().await;
    let last_id = rest.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    let mut raw = Raw::connect(&app).await;
    let again = ask("GET", "1.1", &room, &token)
        .replace("\r\n\r\n", &format!("\r\nlast-event-id: {last_id}\r\n\r\n"));
    raw.send(&again).await;
    assert!(has_left(&raw.until("\r\n\r\n").await));
    let place = raw.until("\n\n").await;
    let number = |id: &str| id.split_once('-').and_then(|(_, number)| number.parse::<u64>().ok());
    let id = place.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id");
    assert!(number(id) >= number(last_id), "{id} after {last_id}");
    assert!(place.contains("\"status\":\"waiting\""), "{place}");
}
