//! An event stream of the site's: it goes on only while its reader may stay, as a tunnel does. Reads nothing of what is told.
//! Other answers that have begun are not cut: a download that was paid for with a wait is brought to its end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use hyper::body::{Body as HttpBody, Frame};

use super::pulse::Pulse;
use super::stay::{self, Staying};
use crate::header_text::parts;
use crate::state::AppState;

const MEDIA_TYPE: &str = "text/event-stream";

/// Whether an answer is one that tells and tells, and is never done.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let told = headers.get(CONTENT_TYPE).and_then(|told| parts(told, b';').next().flatten());
    told.is_some_and(|media_type| media_type.eq_ignore_ascii_case(MEDIA_TYPE))
}

/// The body of an event stream.
pub(super) struct Events<B> {
    body: B,
    pulse: Pulse,
    /// Done when its reader may stay no longer; `None`: it is.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<B> Events<B> {
    /// `staying`: whose it is, where a gate is before it.
    pub(super) fn new(body: B, state: AppState, staying: Option<Staying>) -> Self {
        let pulse = Pulse::new();
        Events::until(body, pulse.clone(), stay::over(state, staying, pulse))
    }

    fn until(body: B, pulse: Pulse, over: impl Future<Output = ()> + Send + 'static) -> Self {
        Events { body, pulse, over: Some(Box::pin(over)) }
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Events<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        // First: a stream that is never silent ends as well.
        let Some(over) = &mut self.over else { return Poll::Ready(None) };
        if over.as_mut().poll(cx).is_ready() {
            self.over = None;
            // An end and not a fault: its page asks again, and is told the way to the room.
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.pulse.beat();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.over.is_none() || self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::body::Body;
    use http::HeaderValue;
    use http_body_util::BodyExt as _;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[test]
    fn event_streams_are_known_by_their_type() {
        for (told, want) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/event-stream; name=홍", true),
            ("text/event-streams", false),
            ("application/octet-stream", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers
                .insert(CONTENT_TYPE, HeaderValue::from_bytes(told.as_bytes()).expect("a value"));
            assert_eq!(is_event_stream(&headers), want, "{told}");
        }
        assert!(!is_event_stream(&HeaderMap::new()));
    }

    /// However much is told: whoever may stay no longer is told no more.
    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_its_reader_may_stay_no_longer() {
        let (limit, start) = (Duration::from_secs(10), Instant::now());
        let pieces =
            futures_util::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"a")));
        let busy = Body::from_stream(futures_util::StreamExt::then(pieces, async |piece| {
            sleep(Duration::from_millis(10)).await;
            piece
        }));
        let silent =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
        let ended = async |body| {
            let mut events = Events::until(body, Pulse::new(), sleep(limit));
            while let Some(frame) = events.frame().await {
                frame.expect("it is no fault");
            }
            assert!(events.is_end_stream() && events.frame().await.is_none());
            start.elapsed().as_secs()
        };
        assert_eq!(tokio::join!(ended(busy), ended(silent)), (10, 10));
    }
}
