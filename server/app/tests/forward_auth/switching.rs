//! WebSockets and event streams go through, with a pass and not without; no other protocol does.

use std::time::Duration;

use futures_util::StreamExt;
use jari_servers::BalancerKind;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::stage::{Stage, status};
use crate::with_each_proxy;

const LONG: Duration = Duration::from_secs(60);

/// What a WebSocket's request has beside its `Upgrade`.
const WEBSOCKET: &str = "Sec-Fetch-Mode: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

/// Protocols that some site may switch to, and ways to hide one beside a WebSocket.
const OTHERS: [&str; 9] = [
    "Upgrade: h2c\r\nConnection: HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
    "Upgrade: H2C\r\n",
    "Upgrade: TLS/1.0\r\n",
    "Upgrade: made-up\r\n",
    "Upgrade: websocket2\r\n",
    "Upgrade: h2c, websocket\r\n",
    "Upgrade: websocket, h2c\r\n",
    "Upgrade: h2c\r\nUpgrade: websocket\r\n",
    "Upgrade: websocket\r\nUpgrade: h2c\r\n",
];

/// Asks for a WebSocket and gives the head of the answer.
async fn switch(stage: &Stage, pass: Option<&str>) -> (TcpStream, String) {
    let asked = format!("Upgrade: websocket\r\n{}", WEBSOCKET.to_owned() + &shown(pass));
    ask_for(stage, "/tickets/socket", &asked).await
}

fn shown(pass: Option<&str>) -> String {
    pass.map_or_else(String::new, |pass| format!("Cookie: jari_pass_shop={pass}\r\n"))
}

/// Asks with these headers, and gives the head of the answer.
async fn ask_for(stage: &Stage, target: &str, headers: &str) -> (TcpStream, String) {
    let mut socket = TcpStream::connect(stage.addr()).await.expect("it listens");
    let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n{headers}\r\n");
    socket.write_all(head.as_bytes()).await.expect("it is open");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        let read = timeout(LONG, socket.read(&mut byte)).await.expect("an answer");
        assert_eq!(read.expect("it is open"), 1, "{}", String::from_utf8_lossy(&answer));
        answer.push(byte[0]);
    }
    (socket, String::from_utf8_lossy(&answer).to_lowercase())
}

async fn a_websocket_echoes_through_and_needs_a_pass(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (_, refused) = switch(&stage, None).await;
    assert_eq!(status(&refused), 428, "{refused}");
    assert!(stage.site.seen().is_empty());
    let (_, place) = stage.admitted().await;
    let (mut socket, head) = switch(&stage, Some(&place.pass.expect("a pass").token)).await;
    assert!(status(&head) == 101 && head.contains("upgrade: websocket"), "{head}");
    socket.write_all(b"hello").await.expect("it is open");
    let mut back = [0; 5];
    timeout(LONG, socket.read_exact(&mut back)).await.expect("an echo").expect("it is open");
    assert_eq!(&back, b"hello");
    assert_eq!(stage.site.last_seen().header("jari-room").as_deref(), Some("shop"));
}

/// A site that switched would have a client on its connection whose requests nobody looks at: a tunnel past the gate.
async fn issue_5_attack_no_protocol_but_websocket_leads_past_the_gate(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (_, place) = stage.admitted().await;
    let pass = shown(Some(&place.pass.expect("a pass").token));
    // The site does switch, to whatever it is asked for.
    let (_, head) = ask_for(&stage, "/switch", &format!("Upgrade: websocket\r\n{WEBSOCKET}")).await;
    assert!(status(&head) == 101 && head.contains("upgrade: websocket"), "{head}");
    for other in OTHERS {
        for (target, rest) in
            [("/switch", ""), ("/tickets/switch", ""), ("/tickets/switch", pass.as_str())]
        {
            let before = stage.site.seen().len();
            let asked = format!("{other}{WEBSOCKET}{rest}");
            let (_, head) = ask_for(&stage, target, &asked).await;
            let seen = stage.site.seen().split_off(before);
            if target == "/tickets/switch" && rest.is_empty() {
                assert!(matches!(status(&head), 403 | 428) && seen.is_empty(), "{other}{head}");
            }
            // Of several in two lines a WebSocket may be what is left, which the site knows how to speak.
            let websocket = other.matches("Upgrade").count() == 2;
            let led_on: &[_] = if websocket { &[200, 403, 101] } else { &[200, 403] };
            assert!(status(&head) == 428 || led_on.contains(&status(&head)), "{other}{head}");
            for request in seen {
                let upgrade = request.header("upgrade");
                let told = upgrade.as_deref().is_none_or(|word| word == "websocket" && websocket);
                assert!(told && request.header("http2-settings").is_none(), "{other}{request:?}");
            }
        }
    }
}

async fn events_come_when_they_happen(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, _) = stage.admitted().await;
    let request =
        visitor.request(Method::GET, "/tickets/events").header("accept", "text/event-stream");
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let mut pieces = answer.bytes_stream();
    let mut text = String::new();
    // The site sends three and then is silent: held back, they would not come.
    while !text.contains("data: 2") {
        let piece = timeout(LONG, pieces.next()).await.expect("it comes").expect("more");
        text.push_str(&String::from_utf8_lossy(&piece.expect("bytes")));
    }
}

/// The room's own stream, below the folder on the site's origin.
async fn the_line_is_told_as_it_moves(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, place) = stage.admitted().await;
    let token = place.place_token.expect("a receipt");
    let request = visitor.request(Method::GET, "/.jari/v1/rooms/shop/events").bearer_auth(token);
    let mut stream = jari_testkit::SseStream::open(request).await;
    let event = timeout(LONG, stream.next()).await.expect("it comes");
    assert!(event.is_some(), "a first event");
}

with_each_proxy! {
    a_websocket_echoes_through_and_needs_a_pass
    issue_5_attack_no_protocol_but_websocket_leads_past_the_gate
    events_come_when_they_happen
    the_line_is_told_as_it_moves
}
