//! An answer on its way to somebody who speaks HTTP/2. A stream of which nothing is taken is not asked for more there, while
//! its connection lives on: so a task asks the site's answer instead, and gives up where nobody takes it.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Error;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What has come and waits to be taken; the site's answer, and all that it holds, is in the task.
pub(super) struct Pumped {
    pieces: mpsc::Receiver<Result<Frame<Bytes>, Error>>,
    /// The answer has come to its end.
    whole: Arc<AtomicBool>,
}

impl Pumped {
    /// Gives `body` up where a piece waits to be taken for `limit`.
    pub(super) fn new<B>(body: B, limit: Duration) -> Self
    where
        B: HttpBody<Data = Bytes, Error = Error> + Send + 'static,
    {
        // One piece waits here, and one in the task.
        let (out, pieces) = mpsc::channel(1);
        let whole = Arc::new(AtomicBool::new(false));
        let ended = whole.clone();
        tokio::spawn(async move {
            let mut body = pin!(body);
            loop {
                let piece = tokio::select! {
                    piece = body.frame() => piece,
                    // Whoever asked has gone.
                    () = out.closed() => return,
                };
                let Some(piece) = piece else { break };
                if !matches!(timeout(limit, out.send(piece)).await, Ok(Ok(()))) {
                    return;
                }
            }
            ended.store(true, Ordering::Release);
        });
        Pumped { pieces, whole }
    }
}

impl HttpBody for Pumped {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let piece = ready!(self.pieces.poll_recv(cx));
        if piece.is_none() && !self.whole.load(Ordering::Acquire) {
            return Poll::Ready(Some(Err(Error::new("nobody took the answer"))));
        }
        Poll::Ready(piece)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// A body of so many pieces, that holds a clone of `held`.
    fn pieces(count: usize, held: &Arc<()>) -> Body {
        let held = held.clone();
        Body::from_stream(futures_util::stream::iter((0..count).map(move |_| {
            let _held = &held;
            Ok::<_, Error>(Bytes::from_static(b"a"))
        })))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_slowly_comes_to_its_end() {
        let mut pumped = Pumped::new(pieces(5, &Arc::default()), LIMIT);
        let mut taken = 0;
        while let Some(piece) = pumped.frame().await {
            piece.expect("it came");
            taken += 1;
            sleep(LIMIT - Duration::from_secs(1)).await;
        }
        assert_eq!(taken, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_given_up_and_is_no_whole_answer() {
        let (held, start) = (Arc::new(()), Instant::now());
        let mut pumped = Pumped::new(pieces(5, &held), LIMIT);
        while Arc::strong_count(&held) > 1 {
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(start.elapsed().as_secs(), LIMIT.as_secs());
        assert!(pumped.frame().await.expect("one had come").is_ok());
        assert!(pumped.frame().await.expect("a fault").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_answer_holds_nothing_and_who_goes_away_ends_a_long_one() {
        let held = Arc::new(());
        let _short = Pumped::new(pieces(1, &held), LIMIT);
        let long = Pumped::new(pieces(5, &held), LIMIT);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&held), 2, "the short one's end has come");
        drop(long);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
