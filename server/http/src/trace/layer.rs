//! The outermost layer of a server that traces: a span a call, with what the call log says of it too. Adds no header.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use futures_util::future::{BoxFuture, Either, FutureExt};
use jari_api::Code;
use jari_ports::{Parent, SpanKind};
use jari_units::RoomId;
use tower::{Layer, Service};

use super::traceparent::Traceparent;
use super::{OpenSpan, Tracer, work};
use crate::call_log::{CALL_HEADER, UNMATCHED};
use crate::metrics::method_label;
use crate::state::AppState;

#[derive(Clone, Debug)]
pub(crate) struct TraceLayer {
    state: AppState,
    tracer: Arc<Tracer>,
}

#[derive(Clone, Debug)]
pub(crate) struct TraceService<S> {
    inner: S,
    layer: TraceLayer,
}

impl TraceLayer {
    pub(crate) fn new(state: AppState, tracer: Arc<Tracer>) -> Self {
        TraceLayer { state, tracer }
    }

    /// The call's span, where it is traced.
    fn begin(&self, request: &Request) -> Option<OpenSpan> {
        let (trace, parent) = match Traceparent::of(request.headers()) {
            Some(caller) if self.tracer.sampler.takes(&caller) => {
                (caller.trace, Some(Parent { span: caller.span, remote: true }))
            }
            Some(_) => return None,
            None => (self.tracer.sampler.own()?, None),
        };
        let route = request.extensions().get::<MatchedPath>();
        let route = route.map_or(UNMATCHED, MatchedPath::as_str).to_owned();
        let method = method_label(request.method());
        let name = format!("{method} {route}").into();
        let mut span = self.tracer.open(trace, parent, name, SpanKind::Server);
        span.text("http.request.method", method);
        if let Some(room) = self.room(&route, request.uri().path()) {
            span.room(&room);
        }
        span.text("http.route", route);
        Some(span)
    }

    /// The room in the path where it exists: any other text there is the client's own.
    fn room(&self, route: &str, path: &str) -> Option<RoomId> {
        let at = route.split('/').position(|part| part == "{room}")?;
        let room = path.split('/').nth(at)?.parse().ok()?;
        self.state.rooms.get(&room).map(|_| room)
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = TraceService<S>;
    fn layer(&self, inner: S) -> TraceService<S> {
        TraceService { inner, layer: self.clone() }
    }
}

impl<S> Service<Request> for TraceService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Infallible>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.layer.begin(&request) {
            None => Either::Left(self.inner.call(request)),
            Some(span) => Either::Right(traced(span, self.inner.call(request)).boxed()),
        }
    }
}

async fn traced(
    mut span: OpenSpan,
    call: impl Future<Output = Result<Response, Infallible>>,
) -> Result<Response, Infallible> {
    let response = work(Some(span.within()), call).await?;
    let status = response.status();
    span.number("http.response.status_code", status.as_u16().into());
    if let Some(code) = response.extensions().get::<Code>() {
        span.text("jari.code", code.as_str());
    }
    // As the log has it, so that one leads to the other.
    if let Some(call) = response.headers().get(CALL_HEADER).and_then(|call| call.to_str().ok()) {
        span.text("jari.call", call.to_owned());
    }
    if status.is_server_error() {
        span.fail();
    }
    Ok(response)
}
