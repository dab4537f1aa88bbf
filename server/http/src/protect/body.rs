//! Bodies on their way through: passed on piece by piece, given up where nothing moves. Nothing is gathered, and trailers
//! are dropped: they could carry headers that nobody has looked at.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Error;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::pulse::Pulse;
use crate::alarm::Alarm;

/// An upload's pace is judged over each such while of waiting for it; the first one is for getting going.
const UPLOAD_WINDOW: Duration = Duration::from_secs(10);
/// What an upload must bring in each: 1 KiB/s, which the slowest phone does. Slower ones hold a connection to the site for
/// nothing.
const UPLOAD_WINDOW_MIN_BYTES: u64 = 10 * 1024;

/// Takes the trailers out of a body.
fn data_only(frame: Frame<Bytes>) -> Option<Frame<Bytes>> {
    frame.into_data().ok().map(Frame::data)
}

/// A visitor's body, which most requests have not.
#[derive(Debug)]
pub(super) struct Upload(Option<Box<Coming>>);

/// Each piece is a sign of life, and it must keep up a walking pace. Time in which the site takes nothing is not the
/// visitor's.
#[derive(Debug)]
struct Coming {
    body: Body,
    pulse: Pulse,
    pace: Pace,
}

/// What came within a window of waiting.
#[derive(Debug)]
struct Pace {
    /// The first window.
    beginning: bool,
    bytes: u64,
    waited: Duration,
    waiting_since: Option<Instant>,
    /// When the window is over, if nothing comes before.
    over: Pin<Box<Sleep>>,
}

/// The body came too slowly.
#[derive(Debug, thiserror::Error)]
#[error("the upload is too slow")]
struct TooSlow;

impl Pace {
    fn new() -> Self {
        Pace {
            beginning: true,
            bytes: 0,
            waited: Duration::ZERO,
            waiting_since: None,
            over: Box::pin(sleep(UPLOAD_WINDOW)),
        }
    }

    /// A piece came.
    fn came(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.waited += self.waiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Waits for the next piece; ready where too little has come for too long.
    fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        if self.waiting_since.is_none() {
            self.waiting_since = Some(now);
            self.over.as_mut().reset(now + UPLOAD_WINDOW.saturating_sub(self.waited));
        }
        while self.over.as_mut().poll(cx).is_ready() {
            if !self.beginning && self.bytes < UPLOAD_WINDOW_MIN_BYTES {
                return Poll::Ready(());
            }
            *self = Pace { beginning: false, waiting_since: Some(now), ..Pace::new() };
        }
        Poll::Pending
    }
}

impl Upload {
    pub(super) fn new(body: Body, pulse: Pulse) -> Self {
        Upload(Some(Box::new(Coming { body, pulse, pace: Pace::new() })))
    }

    pub(super) fn none() -> Self {
        Upload(None)
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(Coming { body, pulse, pace }) = self.0.as_deref_mut() else {
            return Poll::Ready(None);
        };
        loop {
            let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) else {
                ready!(pace.poll_too_slow(cx));
                return Poll::Ready(Some(Err(Error::new(TooSlow))));
            };
            pulse.beat();
            let frame = match frame {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            let Some(frame) = data_only(frame) else { continue };
            pace.came(frame.data_ref().map_or(0, Bytes::len));
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|coming| coming.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |coming| coming.body.size_hint())
    }
}

/// Where a body comes from, that moves while somebody waits for it.
pub(super) trait Source {
    /// Moves what can be moved.
    fn drive(&mut self, cx: &mut Context<'_>);
    /// Of whoever waits for it.
    fn alarm(&mut self) -> &mut Alarm;
}

/// A site's answer: cut where nothing comes for too long. Its source lives as long as it.
pub(super) struct Download<B, S> {
    /// Dropped first: a connection is fit for another request once it has seen this body's end, which it sees only while
    /// somebody has the body.
    source: S,
    body: B,
    limit: Duration,
    /// Whether the alarm is set to the end of this wait.
    waits: bool,
}

impl<B, S> Download<B, S> {
    pub(super) fn new(body: B, limit: Duration, source: S) -> Self {
        Download { body, limit, waits: false, source }
    }
}

impl<B, S> Download<B, S>
where
    B: HttpBody<Data = Bytes> + Unpin,
    S: Source,
{
    /// The next frame that is there, or comes of moving the source.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        self.source.drive(cx);
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

impl<B, S> HttpBody for Download<B, S>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
    S: Source + Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let Poll::Ready(frame) = self.poll_next(cx) else {
                if !self.waits {
                    self.waits = true;
                    let end = Instant::now() + self.limit;
                    self.source.alarm().set(end);
                }
                ready!(self.source.alarm().poll(cx));
                return Poll::Ready(Some(Err(Error::new("the site sends nothing more"))));
            };
            self.waits = false;
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

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use http_body_util::BodyExt as _;

    use super::*;

    /// Brings `left` pieces, one each time it is moved.
    struct Pieces {
        out: tokio::sync::mpsc::Sender<Bytes>,
        left: usize,
        alarm: Alarm,
    }

    impl Source for Pieces {
        fn drive(&mut self, _: &mut Context<'_>) {
            if self.left > 0 && self.out.try_send(Bytes::from_static(b"a")).is_ok() {
                self.left -= 1;
            }
        }

        fn alarm(&mut self) -> &mut Alarm {
            &mut self.alarm
        }
    }

    /// Notes when it goes.
    struct Noted(&'static str, std::sync::Arc<parking_lot::Mutex<Vec<&'static str>>>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().push(self.0);
        }
    }

    #[test]
    fn a_connection_goes_back_while_its_body_is_still_there() {
        let gone = std::sync::Arc::default();
        let (body, source) = (Noted("body", Clone::clone(&gone)), Noted("source", gone.clone()));
        drop(Download::new(body, Duration::ZERO, source));
        assert_eq!(*gone.lock(), ["source", "body"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_which_nothing_moves_is_cut_and_lets_go() {
        let (pieces, stream) = tokio::sync::mpsc::channel::<Bytes>(1);
        let stream = futures_util::stream::unfold(stream, async |mut stream| {
            let piece = stream.recv().await?;
            Some((Ok::<_, Error>(piece), stream))
        });
        let limit = Duration::from_secs(10);
        let source = Pieces { out: pieces.clone(), left: 3, alarm: Alarm::new(Instant::now()) };
        let mut body = Download::new(Body::from_stream(stream), limit, source);
        for _ in 0..3 {
            let piece = body.frame().await.expect("a piece").expect("it came");
            assert_eq!(piece.into_data().ok(), Some(Bytes::from_static(b"a")));
        }
        let start = Instant::now();
        assert!(body.frame().await.expect("an end").is_err());
        assert_eq!(start.elapsed(), limit);
        assert_eq!(pieces.strong_count(), 2);
        drop(body);
        assert_eq!(pieces.strong_count(), 1);
    }

    /// A report that a site makes while it is read may take its time between two lines.
    #[tokio::test(start_paused = true)]
    async fn each_piece_of_an_answer_gives_the_whole_time_again() {
        let limit = Duration::from_secs(10);
        let slow = futures_util::stream::unfold(0, move |no| async move {
            tokio::time::sleep(limit * 9 / 10).await;
            (no < 4).then(|| (Ok::<_, Error>(Bytes::from_static(b"a")), no + 1))
        });
        let (out, _unread) = tokio::sync::mpsc::channel(1);
        let source = Pieces { out, left: 0, alarm: Alarm::new(Instant::now()) };
        let mut body = Download::new(Body::from_stream(slow), limit, source);
        let mut count = 0;
        while let Some(piece) = body.frame().await {
            piece.expect("it is not cut");
            count += 1;
        }
        assert_eq!(count, 4);
    }

    /// An upload of so many bytes a second, and when it was given up.
    async fn trickled(bytes: usize, seconds: usize) -> Option<Duration> {
        let trickle = futures_util::stream::unfold(0, move |no| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            (no < seconds).then(|| (Ok::<_, Error>(Bytes::from(vec![0; bytes])), no + 1))
        });
        let mut upload = Upload::new(Body::from_stream(trickle), Pulse::new());
        let start = Instant::now();
        loop {
            match upload.frame().await {
                Some(Ok(_)) => {}
                Some(Err(_)) => return Some(start.elapsed()),
                None => return None,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_trickles_is_given_up() {
        for bytes in [1, 300, 1_000] {
            let end = trickled(bytes, 100).await.expect("an end");
            assert_eq!(end.as_secs(), 2 * UPLOAD_WINDOW.as_secs(), "{bytes}");
        }
        assert_eq!(trickled(1_100, 100).await, None);
        assert_eq!(trickled(1, 9).await, None, "the beginning may be slow");
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_falls_silent_is_given_up() {
        let silent = futures_util::stream::once(async { Ok::<_, Error>(Bytes::from_static(b"a")) })
            .chain(futures_util::stream::pending());
        let mut upload = Upload::new(Body::from_stream(silent), Pulse::new());
        let start = Instant::now();
        while upload.frame().await.expect("it never ends by itself").is_ok() {}
        assert_eq!(start.elapsed().as_secs(), 2 * UPLOAD_WINDOW.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_that_takes_nothing_for_a_while_is_not_the_visitors_fault() {
        let pieces = futures_util::stream::repeat_with(|| Ok::<_, Error>(Bytes::from_static(b"a")));
        let mut upload = Upload::new(Body::from_stream(pieces), Pulse::new());
        for _ in 0..10 {
            assert!(upload.frame().await.expect("more").is_ok());
            tokio::time::sleep(UPLOAD_WINDOW).await;
        }
    }
}
