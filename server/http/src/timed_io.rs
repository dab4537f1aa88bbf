//! A socket that gives up on a peer that says too little at first, or takes nothing for too long. Knows no HTTP.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// As long as the HTTP/2 preface (RFC 9113, 3.4): so many bytes tell it from HTTP/1.1.
const PREFACE_BYTES: usize = 24;

#[derive(Debug)]
pub(crate) struct TimedIo<S> {
    socket: S,
    /// Until the protocol can be known: nobody else watches the clock before.
    silent: Option<Pin<Box<Sleep>>>,
    /// Bytes that must come before that.
    unknown_bytes: usize,
    write_stall: Duration,
    /// While a write waits for the peer.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedIo<S> {
    pub(crate) fn new(socket: S, first_bytes: Duration, write_stall: Duration) -> Self {
        let silent = Some(Box::pin(sleep(first_bytes)));
        TimedIo { socket, silent, unknown_bytes: PREFACE_BYTES, write_stall, stalled: None }
    }

    /// The socket alone, for who watches the clock by other means.
    pub(crate) fn into_inner(self) -> S {
        self.socket
    }

    /// Passes a write's outcome on; a write that waits too long fails.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let limit = self.write_stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(timed_out("the peer takes no bytes")))
    }
}

fn timed_out(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.socket).poll_read(cx, buffer);
        let came = buffer.filled().len() - before;
        self.unknown_bytes = self.unknown_bytes.saturating_sub(came);
        if self.unknown_bytes == 0 {
            self.silent = None;
        }
        let Some(silent) = &mut self.silent else { return outcome };
        if outcome.is_ready() {
            return outcome;
        }
        ready!(silent.as_mut().poll(cx));
        Poll::Ready(Err(timed_out("the peer says nothing")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.watch(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.watch(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.socket).poll_flush(cx);
        self.watch(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.watch(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (ours, _peer) = duplex(64);
        let mut io = TimedIo::new(ours, LIMIT, LIMIT);
        let start = Instant::now();
        let error = io.write_all(&[0; 65]).await.expect_err("nobody reads");
        assert_eq!((error.kind(), start.elapsed()), (io::ErrorKind::TimedOut, LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_that_takes_some_is_kept() {
        let (ours, mut peer) = duplex(64);
        let mut io = TimedIo::new(ours, LIMIT, LIMIT);
        let reader = tokio::spawn(async move {
            let mut taken = [0; 32];
            for _ in 0..20 {
                tokio::time::sleep(LIMIT / 2).await;
                peer.read_exact(&mut taken).await.expect("sent");
            }
        });
        io.write_all(&[0; 20 * 32]).await.expect("it goes on, slowly");
        reader.await.expect("all was taken");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_only_until_the_protocol_is_known() {
        let (ours, mut peer) = duplex(64);
        let mut io = TimedIo::new(ours, LIMIT, LIMIT);
        let mut byte = [0; 1];
        peer.write_all(&[b'x'; PREFACE_BYTES]).await.expect("open");
        io.read_exact(&mut [0; PREFACE_BYTES]).await.expect("it came in time");
        let later = tokio::spawn(async move {
            tokio::time::sleep(LIMIT * 3).await;
            peer.write_all(b"y").await
        });
        io.read_exact(&mut byte).await.expect("an idle connection is hyper's to close");
        later.await.expect("no panic").expect("open");

        let (ours, mut slow) = duplex(64);
        let mut io = TimedIo::new(ours, LIMIT, LIMIT);
        slow.write_all(b"PRI").await.expect("open");
        io.read_exact(&mut [0; 3]).await.expect("that much came");
        let error = io.read_exact(&mut byte).await.expect_err("it never came");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
