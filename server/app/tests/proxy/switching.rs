//! WebSockets and event streams go through, with a pass and not without.

use std::time::Duration;

use futures_util::StreamExt;
use jari_testkit::{TestApp, Visitor, eventually};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{admitted, browser, stage};

const LONG: Duration = Duration::from_secs(60);

/// Asks for a WebSocket and gives the head of the answer.
async fn switch(app: &TestApp, bearer: Option<&str>) -> (TcpStream, String) {
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

async fn pass(visitor: &Visitor) -> String {
    admitted(visitor).await.pass.expect("a pass").token
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
    let sent: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let (mut from, mut to) = socket.split();
    let mut back = vec![0; sent.len()];
    let echo = async { tokio::join!(to.write_all(&sent), from.read_exact(&mut back)) };
    let (written, read) = timeout(LONG, echo).await.expect("it comes back");
    written.expect("all was taken");
    read.expect("all came back");
    assert_eq!(sent, back);
    assert_eq!(site.last_seen().header("upgrade").as_deref(), Some("websocket"));
    // A server that goes away does not wait for it.
    let _ = app.stop().await;
    let end = timeout(LONG, socket.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
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
