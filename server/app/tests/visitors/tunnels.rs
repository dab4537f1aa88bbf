//! WebSockets through the reverse proxy while the store is away: each goes on or ends as its room's policy says of passes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jari_api::PlaceView;
use jari_gate::{Rule, Rules};
use jari_http::{HostHeader, ProtectOptions, UpstreamLimits, UpstreamTls, Workers};
use jari_testkit::FakeSite;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::store_down::{Broken, admitted, start};

/// Longest that a test waits for bytes, on a machine however busy.
const LONG: Duration = Duration::from_secs(60);
/// Longer than a silence of the gate between two looks.
const PASSES_A_LOOK: Duration = Duration::from_secs(8);

/// Serves a site whose paths below `/wait` and `/refuse` need a pass of the room of that name.
async fn serve(broken: &Broken, site: &FakeSite) -> SocketAddr {
    let rule = |room: &str| Rule {
        host: None,
        path: format!("/{room}/*").parse().expect("a pattern"),
        exclude: Vec::new(),
        room: room.parse().expect("an id"),
    };
    let rules = Rules::new(vec![rule("wait"), rule("refuse")]).expect("rules");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addr = listener.local_addr().expect("bound");
    let second = Duration::from_secs(1);
    let options = ProtectOptions {
        upstream: site.url(),
        public_url: broken.url.clone(),
        rules,
        host_header: HostHeader::Keep,
        limits: UpstreamLimits { connect: second, response: second, idle: LONG, max: 16 },
        tls: UpstreamTls::default(),
    };
    let workers = Arc::new(Workers::start().expect("threads"));
    tokio::spawn(jari_http::serve_site(broken.state.clone(), listener, (options, None), workers));
    addr
}

/// A WebSocket of somebody who was let into `room`.
async fn tunnel(broken: &Broken, addr: SocketAddr, room: &str) -> TcpStream {
    let visitor = admitted(&broken.url, room).await;
    let place: PlaceView = visitor.poll(room).await.expect(200).json();
    let token = place.pass.expect("a pass").token;
    let mut socket = TcpStream::connect(addr).await.expect("it listens");
    let head = format!(
        "GET /{room}/socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("it is open");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let byte = timeout(LONG, socket.read_u8()).await.expect("an answer");
        answer.push(byte.expect("it is open"));
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    socket
}

async fn echo(socket: &mut TcpStream) -> std::io::Result<()> {
    socket.write_all(b"ping").await?;
    socket.read_exact(&mut [0; 4]).await.map(drop)
}

#[tokio::test]
async fn without_the_store_a_websocket_goes_on_where_passes_do() {
    let broken = start().await;
    let site = FakeSite::start().await;
    let addr = serve(&broken, &site).await;
    let mut wait = tunnel(&broken, addr, "wait").await;
    let mut refuse = tunnel(&broken, addr, "refuse").await;
    broken.down.store(true, Ordering::SeqCst);
    let end = timeout(LONG, refuse.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let start = tokio::time::Instant::now();
    while start.elapsed() < PASSES_A_LOOK {
        timeout(LONG, echo(&mut wait)).await.expect("in time").expect("passes go on");
        // Several times within the shortest look at the pass.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
