//! The site's end: pooled connections, plain or over TLS, how many requests may be there at once, and how long anything may
//! take. Decides nothing about who is let through.

use std::io;
use std::sync::Arc;
use std::task::Context;

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response, Uri};
use hyper::body::{Body as _, Incoming};

use super::body::{Source, Upload};
use super::connection::Unanswered;
use super::options::{ProtectOptions, UpstreamLimits};
use super::pool::{Lent, NoConnection};
use super::pools::Pools;
use super::pulse::Pulse;
use super::slots::{Holder, Slot, Slots};
use super::troubles::{Reason, Troubles, in_full};
use crate::alarm::Alarm;
use crate::metrics::Metrics;

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
    Connection(NoConnection),
    Slow,
    Http(hyper::Error),
}

#[derive(Debug)]
pub(super) struct Upstream {
    pools: Pools,
    slots: Slots,
    troubles: Troubles,
    limits: UpstreamLimits,
}

/// A request at the site, until its answer is through: its connection and its slot.
pub(super) struct Exchange {
    lent: Box<dyn Lent>,
    _slot: Slot,
}

impl Exchange {
    /// Until HTTP is done with the connection, which has switched.
    pub(super) async fn ended(&mut self) {
        self.lent.connection().ended().await;
    }
}

impl Source for Exchange {
    fn drive(&mut self, cx: &mut Context<'_>) {
        self.lent.connection().drive(cx);
    }

    fn alarm(&mut self) -> &mut Alarm {
        &mut self.lent.connection().alarm
    }
}

impl Upstream {
    /// Of the site whose address is `site`: scheme and authority. So many workers ask it.
    pub(super) fn new(
        site: &Uri,
        options: &ProtectOptions,
        metrics: Arc<Metrics>,
        workers: usize,
    ) -> Self {
        let limits = options.limits;
        let pools = Pools::new(site, limits, &options.tls, workers);
        let slots = Slots::new(limits.max);
        Upstream { pools, slots, troubles: Troubles::new(metrics), limits }
    }

    /// Sends a request of a worker's connection and waits for the head of its answer. The slot, of `holder`'s, is held as
    /// long as the answer's body.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn send(
        &self,
        worker: usize,
        (parts, body): (Parts, Body),
        holder: Holder,
    ) -> Result<(Response<Incoming>, Exchange), Failed> {
        let slot = self.slots.take(holder).await.ok_or(Failed::Busy)?;
        let again = is_repeatable(&parts, &body).then(|| parts.clone());
        let pulse = (!body.is_end_stream()).then(Pulse::new);
        let upload = pulse.clone().map_or_else(Upload::none, |pulse| Upload::new(body, pulse));
        let once = self.once(worker, Request::from_parts(parts, upload), pulse.as_ref());
        let answer = match (once.await, again) {
            // The site closed a kept connection just when it was used: another try asks for nothing twice that matters.
            (Err(Fault::Http(error)), Some(parts)) if why(&error) == Failed::Broken => {
                // Apart: it is rare, and its future as large as the one above.
                let request = Request::from_parts(parts, Upload::none());
                Box::pin(self.once(worker, request, None)).await
            }
            (answer, _) => answer,
        };
        match answer {
            Ok((response, lent)) => Ok((response, Exchange { lent, _slot: slot })),
            Err(fault) => Err(self.told(fault)),
        }
    }

    /// What a fault comes to; where it is the site's, the operator hears of it.
    fn told(&self, fault: Fault) -> Failed {
        let error = match fault {
            Fault::Slow | Fault::Connection(NoConnection::Slow) => {
                self.troubles.note(Reason::Slow, "protect.response_timeout_ms is over");
                return Failed::Slow;
            }
            Fault::Connection(NoConnection::Unreachable(error)) => {
                self.troubles.note(Reason::of_connect(&*error), &in_full(&*error));
                return Failed::Unreachable;
            }
            Fault::Http(error) => error,
        };
        let (failed, text) = (why(&error), in_full(&error));
        let reason = match failed {
            Failed::Broken if error.is_parse() => Reason::NotHttp,
            Failed::Broken => Reason::Broken,
            _ => {
                tracing::debug!(error = %text, "a visitor's upload failed: {text}");
                return failed;
            }
        };
        self.troubles.note(reason, &text);
        failed
    }

    /// Sends it on a connection that takes it. Kept ones that the site has closed meanwhile take nothing, so that nothing is
    /// asked twice.
    async fn once(
        &self,
        worker: usize,
        mut request: Request<Upload>,
        pulse: Option<&Pulse>,
    ) -> Result<(Response<Incoming>, Box<dyn Lent>), Fault> {
        loop {
            let mut lent = self.pools.take(worker).await.map_err(Fault::Connection)?;
            let connection = lent.connection();
            let was_kept = connection.is_kept;
            match connection.ask(request, pulse, self.limits.response).await {
                Ok(response) => return Ok((response, lent)),
                Err(Unanswered::Unsent(unsent, _)) if was_kept => request = *unsent,
                Err(Unanswered::Unsent(_, error) | Unanswered::Http(error)) => {
                    return Err(Fault::Http(error));
                }
                Err(Unanswered::Slow) => return Err(Fault::Slow),
            }
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

fn why(error: &hyper::Error) -> Failed {
    if error.is_user() { of_upload(error) } else { Failed::Broken }
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
