//! The site's end: pooled connections, plain or over TLS, how many requests may be there at once, and how long anything may take. Decides
//! nothing about who is let through.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response, Uri};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream,
    ResolveServerName,
};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower::BoxError;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;

use super::body::{self, Upload};
use super::options::{ProtectOptions, UpstreamLimits, UpstreamTls};
use super::pulse::Pulse;
use super::slots::{Slot, Slots};
use super::troubles::{Reason, Troubles, in_full};
use crate::metrics::Metrics;

/// A connection that nobody used for this long is closed: before sites commonly close it, which is 60 s and more.
const KEEP: Duration = Duration::from_secs(50);

/// Makes connections; boxed, since the pool wants futures that can be moved.
type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

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
    /// The visitor's own body is no HTTP.
    Malformed,
}

/// How a try failed.
enum Fault {
    Slow,
    Client(Error),
}

#[derive(Debug)]
pub(super) struct Upstream {
    client: Client<Connector, Body>,
    slots: Slots,
    troubles: Troubles,
    limits: UpstreamLimits,
}

impl Upstream {
    pub(super) fn new(options: &ProtectOptions, metrics: Arc<Metrics>) -> Self {
        let limits = options.limits;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEEP)
            .pool_max_idle_per_host(limits.max)
            .build(connector(options));
        let slots = Slots::new(limits.max);
        Upstream { client, slots, troubles: Troubles::new(metrics), limits }
    }

    /// Sends a request and waits for the head of its answer. The slot is held as long as the answer's body. `guest` is the
    /// address of who has no pass.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn send(
        &self,
        parts: Parts,
        body: Body,
        guest: Option<IpAddr>,
    ) -> Result<(Response<Incoming>, Slot), Failed> {
        let slot = self.slots.take(guest).await.ok_or(Failed::Busy)?;
        let again = is_repeatable(&parts, &body).then(|| parts.clone());
        let pulse = Pulse::new();
        let body = Body::new(Upload::new(body, pulse.clone()));
        let answer = match (self.once(Request::from_parts(parts, body), &pulse).await, again) {
            // The site closed a kept connection just when it was used: another try asks for nothing twice that matters.
            (Err(Fault::Client(error)), Some(parts)) if why(&error) == Failed::Broken => {
                self.once(Request::from_parts(parts, body::empty()), &Pulse::new()).await
            }
            (answer, _) => answer,
        };
        match answer {
            Ok(answer) => Ok((answer, slot)),
            Err(fault) => Err(self.told(&fault)),
        }
    }

    /// What a fault comes to; where it is the site's, the operator hears of it.
    fn told(&self, fault: &Fault) -> Failed {
        let error = match fault {
            Fault::Slow => {
                self.troubles.note(Reason::Slow, "protect.response_timeout_ms is over");
                return Failed::Slow;
            }
            Fault::Client(error) => error,
        };
        let (failed, text) = (why(error), in_full(error));
        let reason = match failed {
            Failed::Unreachable => Reason::of_connect(error),
            Failed::Broken if of_hyper(error).is_some_and(hyper::Error::is_parse) => {
                Reason::NotHttp
            }
            Failed::Broken => Reason::Broken,
            _ => {
                tracing::debug!(error = %text, "a visitor's upload failed: {text}");
                return failed;
            }
        };
        self.troubles.note(reason, &text);
        failed
    }

    async fn once(
        &self,
        request: Request<Body>,
        pulse: &Pulse,
    ) -> Result<Response<Incoming>, Fault> {
        tokio::select! {
            answer = self.client.request(request) => answer.map_err(Fault::Client),
            () = pulse.stopped(self.limits.response) => Err(Fault::Slow),
        }
    }
}

/// Connections as the upstream's address says: where that is https, no other is made.
fn connector(options: &ProtectOptions) -> Connector {
    let (limit, UpstreamTls { config, name }) = (options.limits.connect, options.tls.clone());
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(limit));
    connector.set_nodelay(true);
    connector.enforce_http(false);
    let names: Arc<dyn ResolveServerName + Send + Sync> = match name {
        Some(name) => Arc::new(FixedServerNameResolver::new(name)),
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let connector = HttpsConnector::new(connector, config, options.is_https(), names);
    BoxCloneSyncService::new(Timeout::new(connector, limit.saturating_mul(2)))
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
    if error.is_connect() {
        return Failed::Unreachable;
    }
    match of_hyper(error) {
        Some(error) if error.is_user() => of_upload(error),
        _ => Failed::Broken,
    }
}

fn of_hyper(error: &Error) -> Option<&hyper::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Whether the visitor's body stopped coming, or came in chunks that are none: hyper tells that by the kind alone.
fn of_upload(error: &hyper::Error) -> Failed {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let malformed = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    };
    if causes.filter_map(|error| error.downcast_ref()).any(malformed) {
        Failed::Malformed
    } else {
        Failed::Upload
    }
}
