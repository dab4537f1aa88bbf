//! Connections above the cap: each is told 503 in plain bytes and closed, so that the files kept in reserve are free
//! again at once. Speaks no HTTP beyond that.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections being turned away at once: what may be taken of the reserve of open files.
const AT_ONCE: usize = 64;
/// A peer has so long to send its request and take the answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// An HTTP/1.1 answer; other protocols see the connection close.
const ANSWER: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/problem+json\r\n",
    "cache-control: no-store\r\n",
    "retry-after: 2\r\n",
    "connection: close\r\n",
    "content-length: 149\r\n",
    "\r\n",
    r#"{"type":"about:blank","title":"Too much at once; come back in a moment","#,
    r#""status":503,"code":"overloaded","detail":"connections","poll_after_ms":2000}"#,
);

#[derive(Debug)]
pub(crate) struct TurnedAway(Arc<Semaphore>);

impl Default for TurnedAway {
    fn default() -> Self {
        TurnedAway(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl TurnedAway {
    /// Answers and closes, or only closes where too many are being answered.
    pub(crate) fn turn_away(&self, socket: TcpStream) {
        if let Ok(permit) = self.0.clone().try_acquire_owned() {
            tokio::spawn(async move {
                _ = timeout(PATIENCE, answer(socket)).await;
                drop(permit);
            });
        }
    }
}

async fn answer(mut socket: TcpStream) -> std::io::Result<()> {
    // Closing with unread bytes would reset the connection and take the answer with it.
    let mut request = [0; 4_096];
    _ = socket.read(&mut request).await?;
    socket.write_all(ANSWER.as_bytes()).await?;
    socket.shutdown().await?;
    while socket.read(&mut request).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn the_answer_is_the_problem_it_says() {
        let (head, body) = ANSWER.split_once("\r\n\r\n").expect("head and body");
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{}", body.len());
        let problem: jari_api::Problem = serde_json::from_str(body).expect("a problem");
        let code = jari_api::Code::Overloaded;
        assert_eq!((&*problem.code, &*problem.title), (code.as_str(), code.title()));
        assert_eq!(problem.fields["poll_after_ms"], 2_000);
    }

    #[tokio::test]
    async fn a_client_reads_the_whole_answer_and_then_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut client = TcpStream::connect(address).await.expect("listening");
        let (socket, _) = listener.accept().await.expect("connected");
        TurnedAway::default().turn_away(socket);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("no reset");
        assert_eq!(answer, ANSWER);
    }
}
