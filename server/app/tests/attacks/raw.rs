//! Requests written byte by byte.

use std::net::SocketAddr;
use std::time::Duration;

use jari_testkit::TestApp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest that a test waits for bytes, on a machine however busy.
pub(crate) const BYTES_MAX: Duration = Duration::from_secs(60);

pub(crate) fn site_addr(app: &TestApp) -> SocketAddr {
    app.site_url().socket_addrs(|| None).expect("an address")[0]
}

/// Sends `bytes` on a connection of their own and reads until the server closes it.
pub(crate) async fn exchange(app: &TestApp, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(site_addr(app)).await.expect("it listens");
    // A server that has seen enough may close before it has read everything.
    _ = socket.write_all(bytes).await;
    read_to_end(&mut socket).await
}

pub(crate) async fn read_to_end(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(BYTES_MAX, socket.read_to_end(&mut answer)).await;
    // A reset is an end as well.
    _ = read.expect("the server answers and closes");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A GET whose connection ends with it.
pub(crate) fn get(target: &str, headers: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n{headers}Connection: close\r\n\r\n")
        .into_bytes()
}

/// The status of the first answer; 0 where there is none.
pub(crate) fn status(answer: &str) -> u16 {
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}
