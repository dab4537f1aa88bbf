//! An answer whose reader may take nothing of it. HTTP/2 asks a body for its next piece only while its reader takes pieces, so
//! nothing inside a body would notice such a reader, while the connection lives on by its pings. Knows no site.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Error;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

/// A body that is let go, with all that it holds, where nothing of it is taken for a while. What it waits for itself is its
/// own business.
pub(super) struct Taken<B> {
    shared: Arc<Mutex<Shared<B>>>,
    watch: AbortHandle,
}

struct Shared<B> {
    /// `None`: it was let go.
    body: Option<B>,
    asked: Asked,
}

/// What its reader last did.
#[derive(Clone, Copy)]
enum Asked {
    /// It waits for a piece.
    Waits,
    /// It had a piece, or nothing yet, and has not asked since.
    Since(Instant),
}

impl<B: Send + 'static> Taken<B> {
    /// Lets `body` go once nothing of it was taken for `limit`.
    pub(super) fn or_let_go(body: B, limit: Duration) -> Self {
        let asked = Asked::Since(Instant::now());
        let shared = Arc::new(Mutex::new(Shared { body: Some(body), asked }));
        let watch = tokio::spawn(watch(shared.clone(), limit)).abort_handle();
        Taken { shared, watch }
    }
}

async fn watch<B>(shared: Arc<Mutex<Shared<B>>>, limit: Duration) {
    loop {
        let now = Instant::now();
        let end = match shared.lock().asked {
            Asked::Waits => now + limit,
            Asked::Since(last) => last + limit,
        };
        if end <= now {
            // Not under the lock: what it holds ends with it.
            let gone = shared.lock().body.take();
            return drop(gone);
        }
        sleep_until(end).await;
    }
}

impl<B> Drop for Taken<B> {
    fn drop(&mut self) {
        self.watch.abort();
        // The watch may be dropped later than this.
        let gone = self.shared.lock().body.take();
        drop(gone);
    }
}

impl<B> HttpBody for Taken<B>
where
    B: HttpBody<Data = Bytes, Error = Error> + Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let mut shared = self.shared.lock();
        let Some(body) = &mut shared.body else {
            return Poll::Ready(Some(Err(Error::new("nothing of the answer was taken"))));
        };
        let frame = Pin::new(body).poll_frame(cx);
        shared.asked = match frame {
            Poll::Pending => Asked::Waits,
            Poll::Ready(_) => Asked::Since(Instant::now()),
        };
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.shared.lock().body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.shared.lock().body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc;
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// A piece every `pause`, and a channel that is closed once the body is gone.
    fn pieces(pause: Duration) -> (Body, mpsc::Sender<()>) {
        let (held, gone) = mpsc::channel::<()>(1);
        let pieces = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"a")));
        let pieces = pieces.then(move |piece| {
            let _ = &gone;
            async move {
                sleep(pause).await;
                piece
            }
        });
        (Body::from_stream(pieces), held)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_which_nothing_is_taken_is_let_go() {
        let (body, held) = pieces(Duration::ZERO);
        let mut body = Taken::or_let_go(body, LIMIT);
        for _ in 0..3 {
            assert!(body.frame().await.expect("a piece").is_ok());
            advance(LIMIT * 9 / 10).await;
            assert!(!held.is_closed(), "its reader is only slow");
        }
        let start = Instant::now();
        timeout(LIMIT, held.closed()).await.expect("it is let go");
        assert!(start.elapsed() <= LIMIT / 10 + Duration::from_millis(1), "{:?}", start.elapsed());
        assert!(body.frame().await.expect("an end").is_err(), "and not told as whole");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_never_asked_is_let_go_too() {
        let (body, held) = pieces(Duration::ZERO);
        let _body = Taken::or_let_go(body, LIMIT);
        timeout(LIMIT * 2, held.closed()).await.expect("it is let go");
    }

    /// A reader who waits for the site has nothing to take.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_itself_is_not_its_readers_fault() {
        let (body, held) = pieces(LIMIT * 5);
        let mut body = Taken::or_let_go(body, LIMIT);
        for _ in 0..3 {
            assert!(body.frame().await.expect("a piece").is_ok());
        }
        drop(body);
        timeout(LIMIT, held.closed()).await.expect("it goes with its reader");
    }
}
