//! How an accepted event stream leaves the HTTP stack: the handler marks the connection, what hyper still writes is
//! swallowed, and the socket is kept back when hyper shuts it down. Who writes to it then is the hub's business.
//!
//! hyper-util's connection, which tells HTTP/2 from HTTP/1.1, has no `without_shutdown()`; but an answer with
//! `Connection: close` makes it end and shut its socket down, and that is where the socket leaves.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::OptionalFromRequestParts;
use axum::response::{IntoResponse, IntoResponseParts, Response};
use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use jari_units::Timestamp;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::stream_hub::Accepted;
use crate::timed_io::TimedIo;

/// An ordinary head is half of it.
const HEAD_BYTES: usize = 512;

/// One connection's way out of the HTTP stack. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct WayOut(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Bytes of earlier answers wait for the peer.
    owes: AtomicBool,
    /// The answer that hyper writes now is not for the peer.
    swallows: AtomicBool,
    /// No socket under this connection can be handed on.
    closed: AtomicBool,
    leaving: Mutex<Leaving>,
}

#[derive(Debug, Default)]
struct Leaving {
    stream: Option<(Bytes, Accepted)>,
    socket: Option<TcpStream>,
}

/// A socket that has left, with what its stream is and the head of the answer that nobody has sent yet.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) socket: TcpStream,
    pub(crate) head: Bytes,
    pub(crate) accepted: Accepted,
}

/// In the extensions of an answer whose stream is to leave. Extensions must be clonable; the stream is taken once.
#[derive(Clone, Debug)]
struct Marked(Arc<Mutex<Option<Accepted>>>);

impl WayOut {
    /// Of a connection that cannot leave.
    pub(crate) fn closed() -> Self {
        let way_out = WayOut::default();
        way_out.0.closed.store(true, Ordering::Release);
        way_out
    }

    /// Whether this request's answer can leave: a plain GET of HTTP/1 without a body, and nothing owed to the peer.
    fn is_open_for(&self, parts: &Parts) -> bool {
        let http1 = matches!(parts.version, Version::HTTP_10 | Version::HTTP_11);
        let length = parts.headers.get(CONTENT_LENGTH);
        let bodiless = length.is_none_or(|length| length == "0")
            && !parts.headers.contains_key(TRANSFER_ENCODING);
        let open = !self.0.closed.load(Ordering::Acquire);
        open && http1
            && bodiless
            && parts.method == Method::GET
            && !self.0.owes.load(Ordering::Acquire)
    }

    /// The handler's answer, with the head it would have had.
    #[must_use]
    pub(crate) fn mark(self, accepted: Accepted, head: impl IntoResponseParts) -> Response {
        let mut response = (head, Body::empty()).into_response();
        response.extensions_mut().insert(Marked(Arc::new(Mutex::new(Some(accepted)))));
        response
    }

    /// Behind all layers: takes a marked stream out of its answer, with the head as the layers made it.
    #[must_use]
    pub(crate) fn leave(&self, mut response: Response, now: Timestamp) -> Response {
        let marked = response.extensions_mut().remove::<Marked>();
        let Some(accepted) = marked.and_then(|Marked(stream)| stream.lock().take()) else {
            return response;
        };
        let head = head(response.status(), response.headers(), now);
        self.0.leaving.lock().stream = Some((head, accepted));
        self.0.swallows.store(true, Ordering::Release);
        ([(CONNECTION, HeaderValue::from_static("close"))], Body::empty()).into_response()
    }

    /// What has left, once the connection is done.
    pub(crate) fn left(&self) -> Option<Left> {
        let Leaving { stream, socket } = std::mem::take(&mut *self.0.leaving.lock());
        let ((head, accepted), socket) = stream.zip(socket)?;
        Some(Left { socket, head, accepted })
    }

    fn swallows(&self) -> bool {
        self.0.swallows.load(Ordering::Acquire)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for WayOut {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        _: &S,
    ) -> Result<Option<Self>, std::convert::Infallible> {
        let way_out = parts.extensions.get::<WayOut>();
        Ok(way_out.filter(|way_out| way_out.is_open_for(parts)).cloned())
    }
}

/// The head of a body that ends with its connection (RFC 9112, 6.3): clients of HTTP/1.0 understand it as well.
fn head(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD_BYTES);
    out.put_slice(format!("HTTP/1.1 {status}\r\n").as_bytes());
    // These are the connection's own.
    let own = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];
    for (name, value) in headers.iter().filter(|(name, _)| !own.contains(name)) {
        out.put_slice(name.as_str().as_bytes());
        out.put_slice(b": ");
        out.put_slice(value.as_bytes());
        out.put_slice(b"\r\n");
    }
    if !headers.contains_key(DATE) {
        let since_epoch = std::time::Duration::from_millis(now.0);
        let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH + since_epoch);
        out.put_slice(format!("date: {date}\r\n").as_bytes());
    }
    out.put_slice(b"connection: close\r\n\r\n");
    out.freeze()
}

/// The socket under hyper, until it leaves.
#[derive(Debug)]
pub(crate) struct LeavableIo {
    /// `None` once it has left: hyper is done with it then.
    io: Option<TimedIo<TcpStream>>,
    way_out: WayOut,
}

impl LeavableIo {
    pub(crate) fn new(io: TimedIo<TcpStream>, way_out: WayOut) -> Self {
        LeavableIo { io: Some(io), way_out }
    }

    fn with<T>(
        &mut self,
        act: impl FnOnce(Pin<&mut TimedIo<TcpStream>>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.io {
            Some(io) => act(Pin::new(io)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn write(
        &mut self,
        len: usize,
        act: impl FnOnce(Pin<&mut TimedIo<TcpStream>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.way_out.swallows() {
            return Poll::Ready(Ok(len));
        }
        let outcome = self.with(act);
        self.way_out.0.owes.store(outcome.is_pending(), Ordering::Release);
        outcome
    }
}

impl AsyncRead for LeavableIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|io| io.poll_read(cx, buffer))
    }
}

impl AsyncWrite for LeavableIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(bytes.len(), |io| io.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = slices.iter().map(|slice| slice.len()).sum();
        self.write(len, |io| io.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|io| io.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.way_out.swallows() {
            let socket = self.io.take().map(TimedIo::into_inner);
            self.way_out.0.leaving.lock().socket = socket;
            return Poll::Ready(Ok(()));
        }
        self.with(|io| io.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_the_layers_headers_and_ends_with_its_connection() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("content-length", "0"),
            ("jari-call", "00ff"),
            ("vary", "origin"),
            ("vary", "accept"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let head = head(StatusCode::OK, &headers, Timestamp(1_796_029_200_000));
        insta::assert_snapshot!(std::str::from_utf8(&head).expect("ASCII").replace('\r', ""));
    }
}
