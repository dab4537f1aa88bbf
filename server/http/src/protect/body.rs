//! Bodies on their way through: passed on piece by piece, given up where nothing moves. Nothing is gathered, and trailers
//! are dropped: they could carry headers that nobody has looked at.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Error;
use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::pulse::Pulse;

/// An upload that is slower than this in the long run holds a connection to the site for nothing.
const UPLOAD_MIN_BYTES_PER_S: u64 = 256;
/// So long an upload may take to get going.
const UPLOAD_GRACE: Duration = Duration::from_secs(30);

/// Takes the trailers out of a body.
fn data_only(frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
    frame.into_data().ok().map(Frame::data)
}

/// A visitor's body: each piece is a sign of life, and it must keep up a walking pace.
#[derive(Debug)]
pub(super) struct Upload {
    body: Body,
    pulse: Pulse,
    started: Instant,
    bytes: u64,
}

impl Upload {
    pub(super) fn new(body: Body, pulse: Pulse) -> Self {
        Upload { body, pulse, started: Instant::now(), bytes: 0 }
    }

    fn is_too_slow(&self) -> bool {
        let took = self.started.elapsed();
        took > UPLOAD_GRACE && self.bytes < took.as_secs() * UPLOAD_MIN_BYTES_PER_S
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
            self.pulse.beat();
            let frame = match frame {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            let Some(frame) = data_only(frame) else { continue };
            self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if self.is_too_slow() {
                return Poll::Ready(Some(Err(Error::new("the upload is too slow"))));
            }
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A site's answer: cut where nothing comes for too long. `held` lives as long as it.
pub(super) struct Download<B, H> {
    body: B,
    limit: Duration,
    silent: Pin<Box<Sleep>>,
    _held: H,
}

impl<B, H> Download<B, H> {
    pub(super) fn new(body: B, limit: Duration, held: H) -> Self {
        Download { body, limit, silent: Box::pin(sleep(limit)), _held: held }
    }
}

impl<B, H> HttpBody for Download<B, H>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
    H: Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                ready!(self.silent.as_mut().poll(cx));
                return Poll::Ready(Some(Err(Error::new("the site sends nothing more"))));
            };
            let end = Instant::now() + self.limit;
            self.silent.as_mut().reset(end);
            match frame {
                Some(Ok(frame)) => {
                    if let Some(frame) = data_only(frame) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(Error::new(error)))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that has nothing in it.
pub(super) fn empty() -> Body {
    Body::new(http_body_util::Empty::new().map_err(|never| match never {}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_which_nothing_moves_is_cut_and_lets_go() {
        let (pieces, stream) = tokio::sync::mpsc::channel::<Bytes>(1);
        let stream = futures_util::stream::unfold(stream, async |mut stream| {
            let piece = stream.recv().await?;
            Some((Ok::<_, Error>(piece), stream))
        });
        let held = std::sync::Arc::new(());
        let limit = Duration::from_secs(10);
        let mut body = Download::new(Body::from_stream(stream), limit, held.clone());
        pieces.send(Bytes::from_static(b"a")).await.expect("it listens");
        let piece = body.frame().await.expect("a piece").expect("it came");
        assert_eq!(piece.into_data().ok(), Some(Bytes::from_static(b"a")));
        let start = Instant::now();
        assert!(body.frame().await.expect("an end").is_err());
        assert_eq!(start.elapsed(), limit);
        drop(body);
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_trickles_is_given_up() {
        let trickle = futures_util::stream::unfold((), async |()| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, Error>(Bytes::from_static(b"a")), ()))
        });
        let mut upload = Upload::new(Body::from_stream(trickle), Pulse::new());
        let start = Instant::now();
        while upload.frame().await.expect("it never ends by itself").is_ok() {}
        assert_eq!(start.elapsed(), UPLOAD_GRACE + Duration::from_secs(1));
    }
}
