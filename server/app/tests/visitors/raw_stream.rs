//! A client that speaks HTTP/1 by hand: for what no HTTP client shows, such as the bytes of a head.

use std::time::Duration;

use jari_testkit::TestApp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Longest that a test waits for bytes.
const BYTES_MAX: Duration = Duration::from_secs(20);

const RECEIVED_BYTES: u32 = 8 * 1_024;

/// A connection and what came on it so far.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
    pub(crate) text: String,
}

impl Raw {
    pub(crate) async fn connect(app: &TestApp) -> Raw {
        Raw::connect_to(app.url().socket_addrs(|| None).expect("an address")[0]).await
    }

    pub(crate) async fn connect_to(address: std::net::SocketAddr) -> Raw {
        let socket = TcpSocket::new_v4().expect("a socket");
        // Small, so that answers of some length wait in the server.
        socket.set_recv_buffer_size(RECEIVED_BYTES).expect("it may be small");
        let socket = socket.connect(address).await.expect("it listens");
        Raw { socket, text: String::new() }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).await.expect("it is open");
    }

    /// Waits until `what` has come and gives all before and with it, taken off.
    pub(crate) async fn until(&mut self, what: &str) -> String {
        loop {
            if let Some(at) = self.text.find(what) {
                let rest = self.text.split_off(at + what.len());
                return std::mem::replace(&mut self.text, rest);
            }
            assert!(self.read().await, "it ended before {what:?}:\n{}", self.text);
        }
    }

    /// Waits for the end and gives what came before it.
    pub(crate) async fn rest(&mut self) -> String {
        while self.read().await {}
        std::mem::take(&mut self.text)
    }

    async fn read(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        let read = timeout(BYTES_MAX, self.socket.read(&mut bytes)).await;
        // A reset is an end as well.
        let count = read.unwrap_or_else(|_| panic!("nothing came after\n{}", self.text));
        let count = count.unwrap_or(0);
        self.text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }
}
