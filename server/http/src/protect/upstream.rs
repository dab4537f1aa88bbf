//! The site's end: pooled connections, how many requests may be there at once, and how long anything may take. Decides
//! nothing about who is let through.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::body::{self, Upload};
use super::options::UpstreamLimits;
use super::pulse::Pulse;

/// A request waits so long for one of the others to be done.
const SLOT_WAIT: Duration = Duration::from_secs(2);
/// A connection that nobody used for this long is closed: before sites commonly close it, which is 60 s and more.
const KEEP: Duration = Duration::from_secs(50);

/// Why the site gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// Too many are there.
    Busy,
    /// No connection.
    Unreachable,
    /// No answer in time.
    Slow,
    /// The connection broke, or what came was no HTTP.
    Broken,
    /// The visitor's own body did not come.
    Upload,
}

#[derive(Debug)]
pub(super) struct Upstream {
    client: Client<HttpConnector, Body>,
    slots: Arc<Semaphore>,
    limits: UpstreamLimits,
}

impl Upstream {
    pub(super) fn new(limits: UpstreamLimits) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(limits.connect));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP)
            .pool_max_idle_per_host(limits.max)
            .build(connector);
        Upstream { client, slots: Arc::new(Semaphore::new(limits.max)), limits }
    }

    /// Sends a request and waits for the head of its answer. The permit is held as long as the answer's body.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn send(
        &self,
        parts: Parts,
        body: Body,
    ) -> Result<(Response<Incoming>, OwnedSemaphorePermit), Failed> {
        let slot = timeout(SLOT_WAIT, self.slots.clone().acquire_owned()).await;
        let Ok(Ok(slot)) = slot else { return Err(Failed::Busy) };
        let again = is_repeatable(&parts, &body).then(|| parts.clone());
        let pulse = Pulse::new();
        let body = Body::new(Upload::new(body, pulse.clone()));
        let answer = match (self.once(Request::from_parts(parts, body), &pulse).await, again) {
            // The site closed a kept connection just when it was used: another try asks for nothing twice that matters.
            (Err(Failed::Broken), Some(parts)) => {
                self.once(Request::from_parts(parts, body::empty()), &Pulse::new()).await
            }
            (answer, _) => answer,
        };
        answer.map(|answer| (answer, slot))
    }

    async fn once(
        &self,
        request: Request<Body>,
        pulse: &Pulse,
    ) -> Result<Response<Incoming>, Failed> {
        tokio::select! {
            answer = self.client.request(request) => answer.map_err(|error| why(&error)),
            () = pulse.stopped(self.limits.response) => Err(Failed::Slow),
        }
    }
}

/// Whether sending it twice does what sending it once does (RFC 9110, 9.2.2), and it can be sent again.
fn is_repeatable(parts: &Parts, body: &Body) -> bool {
    let idempotent = matches!(
        parts.method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE
    );
    idempotent && body.is_end_stream()
}

fn why(error: &Error) -> Failed {
    tracing::debug!(%error, "the site gave no answer: {error}");
    if error.is_connect() {
        return Failed::Unreachable;
    }
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    match source {
        Some(error) if hyper::Error::is_user(error) => Failed::Upload,
        _ => Failed::Broken,
    }
}
