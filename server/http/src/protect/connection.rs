//! One connection to the site. It moves while whoever has it waits for it: it is no task of its own. Knows no other one.

use std::future::{Future, Ready, poll_fn, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready as ready_or_return};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use thiserror::Error;
use tokio::time::Instant;
use tower::Service;

use super::body::Upload;
use super::open_count::Counted;
use super::pulse::Pulse;
use crate::alarm::Alarm;

/// Reads and writes until the connection has ended.
type Io = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A connection on which one request after the other is sent.
pub(super) struct Connection {
    sender: SendRequest<Upload>,
    /// `None`: it has ended.
    io: Option<Io>,
    /// Of whoever waits for the site: one timer for all that is ever asked here.
    pub(super) alarm: Alarm,
    /// Whether something was asked here before, or it lay in the cache: the site may have closed it meanwhile.
    pub(super) is_kept: bool,
    /// How often the pool looked after it since something was asked.
    pub(super) looks: u32,
    /// Among all that are open, as long as it is.
    _counted: Counted,
}

/// Why a request got no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// No answer in time.
    Slow,
    /// The connection ended before anything was sent: here the request is again.
    Unsent(Box<Request<Upload>>, hyper::Error),
    /// The connection broke, what came was no HTTP, or the request's own body did not come.
    Http(hyper::Error),
}

/// A connection that is of no more use.
#[derive(Debug, Error)]
#[error("the connection has ended")]
pub(super) struct Ended;

/// What the pool asks before it takes a connection back.
#[derive(Debug)]
pub(super) struct StillOpen;

impl Connection {
    pub(super) fn new(sender: SendRequest<Upload>, io: Io, counted: Counted) -> Self {
        let alarm = Alarm::new(Instant::now());
        Connection { sender, io: Some(io), alarm, is_kept: false, looks: 0, _counted: counted }
    }

    /// Reads and writes what can be.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(io) = &mut self.io else { return };
        let Poll::Ready(ended) = io.as_mut().poll(cx) else { return };
        self.io = None;
        // Whoever waits for an answer or a body hears why from those.
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection to the site ended: {error}");
        }
    }

    /// Sends a request and waits for the head of its answer, for `limit` since now or the last beat of the body's pulse.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn ask(
        &mut self,
        request: Request<Upload>,
        pulse: Option<&Pulse>,
        limit: Duration,
    ) -> Result<Response<Incoming>, Unanswered> {
        self.is_kept = true;
        self.alarm.set(Instant::now() + limit);
        let mut answer = pin!(self.sender.try_send_request(request));
        let answered = poll_fn(|cx| {
            self.drive(cx);
            // Only what was just driven answers, so nobody needs to be woken by it; the alarm below has the true waker.
            let nobody = &mut Context::from_waker(Waker::noop());
            if let Poll::Ready(answered) = answer.as_mut().poll(nobody) {
                return Poll::Ready(Some(answered));
            }
            loop {
                ready_or_return!(self.alarm.poll(cx));
                let end = pulse.map(|pulse| pulse.end(limit));
                match end.filter(|end| *end > Instant::now()) {
                    Some(end) => self.alarm.set(end),
                    None => return Poll::Ready(None),
                }
            }
        });
        match answered.await {
            None => Err(Unanswered::Slow),
            Some(Ok(response)) => Ok(response),
            Some(Err(mut error)) => match error.take_message() {
                Some(request) => Err(Unanswered::Unsent(Box::new(request), error.into_error())),
                None => Err(Unanswered::Http(error.into_error())),
            },
        }
    }

    /// Whether another request may be sent: the last one and its answer are through.
    pub(super) fn is_free(&mut self) -> bool {
        if !self.sender.is_ready() {
            self.drive(&mut Context::from_waker(Waker::noop()));
        }
        self.io.is_some() && self.sender.is_ready()
    }

    /// Until HTTP is done with the connection: it has ended, or switched to another protocol.
    pub(super) async fn ended(&mut self) {
        poll_fn(|cx| {
            self.drive(cx);
            if self.io.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    pub(super) fn close(&mut self) {
        self.io = None;
    }
}

/// The cache hears by `poll_ready` that a connection is not to be kept.
impl Service<StillOpen> for Connection {
    type Response = ();
    type Error = Ended;
    type Future = Ready<Result<(), Ended>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        Poll::Ready(if self.io.is_some() { Ok(()) } else { Err(Ended) })
    }

    fn call(&mut self, _: StillOpen) -> Self::Future {
        ready(if self.io.is_some() { Ok(()) } else { Err(Ended) })
    }
}
