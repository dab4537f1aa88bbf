//! WebSockets and event streams go through, with a pass and not without.

use std::time::Duration;

use futures_util::StreamExt;
use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{TestApp, Visitor, eventually};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{ROOM, admitted, ask, browser, stage};

pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Asks for a WebSocket and gives the head of the answer.
pub(crate) async fn switch(app: &TestApp, bearer: Option<&str>) -> (TcpStream, String) {
    let addr = app.site_url().socket_addrs(|| None).expect("an address")[0];
    let mut socket = TcpStream::connect(addr).await.expect("it listens");
    let pass =
        bearer.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!(
        "GET /tickets/socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{pass}\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("it is open");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        let read =
            timeout(LONG, socket.read(&mut byte)).await.expect("an answer").expect("it is open");
        assert_eq!(read, 1, "{}", String::from_utf8_lossy(&answer));
        answer.push(byte[0]);
    }
    (socket, String::from_utf8_lossy(&answer).to_lowercase())
}

pub(crate) async fn pass(visitor: &Visitor) -> String {
    admitted(visitor).await.pass.expect("a pass").token
}

/// Sends more than fits any buffer on the way, and reads it back meanwhile.
pub(crate) async fn echoes_much(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) {
    let sent: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut back = vec![0; sent.len()];
    let echo = async { tokio::join!(to.write_all(&sent), from.read_exact(&mut back)) };
    let (written, read) = timeout(LONG, echo).await.expect("it comes back");
    written.expect("all was taken");
    read.expect("all came back");
    assert_eq!(sent, back);
}

#[tokio::test]
async fn a_websocket_echoes_through_and_needs_a_pass() {
    let (site, app) = stage().await;
    let (_, refused) = switch(&app, None).await;
    assert!(refused.starts_with("http/1.1 428"), "{refused}");
    assert!(site.seen().is_empty());
    let token = pass(&browser(&app)).await;
    let (mut socket, head) = switch(&app, Some(&token)).await;
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    let (mut from, mut to) = socket.split();
    echoes_much(&mut from, &mut to).await;
    assert_eq!(site.last_seen().header("upgrade").as_deref(), Some("websocket"));
    // A server that goes away does not wait for it.
    let _ = app.stop().await;
    let end = timeout(LONG, socket.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}

/// The shortest that a pass may be.
pub(crate) const PASS_TTL_MS: u64 = 5_000;
pub(crate) const PASS_TTL: Duration = Duration::from_millis(PASS_TTL_MS);

/// A tunnel of somebody with a short pass.
pub(crate) async fn tunnel(app: &TestApp) -> (Visitor, TcpStream) {
    // A pass that is used never ends before the window in which to claim it.
    let settings = json!({"pass_ttl_ms": PASS_TTL_MS, "claim_window_ms": PASS_TTL_MS});
    app.operator().set(ROOM, settings).await;
    let visitor = browser(app);
    let token = pass(&visitor).await;
    let (socket, head) = switch(app, Some(&token)).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    (visitor, socket)
}

/// Sends something and reads it back.
pub(crate) async fn echo(socket: &mut TcpStream) {
    let mut back = [0; 4];
    socket.write_all(b"ping").await.expect("it is open");
    timeout(LONG, socket.read_exact(&mut back)).await.expect("in time").expect("it comes back");
    assert_eq!(&back, b"ping");
}

pub(crate) async fn ends(mut socket: TcpStream) {
    let end = timeout(LONG, socket.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}

#[tokio::test]
async fn a_websocket_in_use_keeps_its_pass_and_ends_when_its_owner_leaves() {
    let (_site, app) = stage().await;
    let (visitor, mut socket) = tunnel(&app).await;
    let start = tokio::time::Instant::now();
    while start.elapsed() < 2 * PASS_TTL {
        echo(&mut socket).await;
        // Several times within the shortest look at the pass.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let place: PlaceView = visitor.get("/.jari/v1/rooms/site/places/me").await.expect(200).json();
    assert_eq!(place.status, PlaceStatus::Admitted, "what it sends is use of the pass");
    let leave = visitor.request(Method::DELETE, "/.jari/v1/rooms/site/places/me");
    let left = ask(leave).await;
    assert!(left.status.is_success(), "{}", left.text());
    ends(socket).await;
}

#[tokio::test]
async fn a_websocket_in_which_nothing_moves_ends_with_its_pass() {
    let (_site, app) = stage().await;
    let (visitor, mut socket) = tunnel(&app).await;
    echo(&mut socket).await;
    ends(socket).await;
    let place: PlaceView = visitor.get("/.jari/v1/rooms/site/places/me").await.expect(200).json();
    assert_eq!(place.status, PlaceStatus::Ended);
}

#[tokio::test]
async fn a_websocket_ends_with_its_room() {
    let (_site, app) = stage().await;
    let (_visitor, mut socket) = tunnel(&app).await;
    echo(&mut socket).await;
    let _ = app.operator().delete("/v1/admin/rooms/site").await.expect(204);
    ends(socket).await;
}

/// While the room lets everybody pass nobody needs a pass; once it does not, who has none is sent out.
#[tokio::test]
async fn a_websocket_without_a_pass_ends_once_its_room_wants_one() {
    let (_site, app) = stage().await;
    let settings = json!({"mode": "off", "pass_ttl_ms": PASS_TTL_MS});
    app.operator().set(ROOM, settings).await;
    let (mut socket, head) = switch(&app, None).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    let start = tokio::time::Instant::now();
    while start.elapsed() < PASS_TTL {
        echo(&mut socket).await;
        // Several times within the shortest look at the pass.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    app.operator().set(ROOM, json!({"mode": "on"})).await;
    ends(socket).await;
}

#[tokio::test]
async fn events_come_when_they_happen() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let request = visitor.request(Method::GET, "/tickets/events");
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut pieces = answer.bytes_stream();
    let mut text = String::new();
    while !text.contains("data: 2") {
        let piece =
            timeout(LONG, pieces.next()).await.expect("it comes").expect("more").expect("bytes");
        text.push_str(&String::from_utf8_lossy(&piece));
    }
    assert_eq!(text, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
    // Who goes away frees the site's connection as well.
    drop(pieces);
    eventually("the site can be asked again", async || {
        let request = visitor.request(Method::GET, "/tickets/1");
        (request.send().await.ok()?.status() == 200).then_some(())
    })
    .await;
    assert_eq!(site.last_seen().target, "/tickets/1");
}
