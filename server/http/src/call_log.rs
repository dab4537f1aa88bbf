//! One line for each call: what was asked for and how it went. Never a token, cookie, key, query, body or subject.
//!
//! What a client wrote is not logged at all, but for its method where that is a known one: the route is the template,
//! the room only one that exists, the actor the public id of a key that was accepted.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Method};
use jari_api::Code;
use jari_units::RoomId;
use tokio::time::Instant;

use crate::metrics::{Counted, method_label};
use crate::room::counts::count_refusal;
use crate::state::AppState;

/// The answer's own number, so that a person can name a call to an operator.
pub(crate) const CALL_HEADER: HeaderName = HeaderName::from_static("jari-call");
/// What is logged where no route took the call: the path is the client's own text.
pub(crate) const UNMATCHED: &str = "unmatched";

/// Numbers calls and logs them.
#[derive(Clone, Debug)]
pub(crate) struct CallLog {
    state: AppState,
    next: Arc<AtomicU64>,
}

impl CallLog {
    #[must_use]
    pub(crate) fn new(state: AppState) -> Self {
        // Numbers of two runs or nodes do not meet by chance, and tell nobody how many calls there were.
        let mut first = [0; 8];
        state.entropy.fill(&mut first);
        CallLog { state, next: Arc::new(AtomicU64::new(u64::from_le_bytes(first))) }
    }
}

/// The middleware: measures, counts and logs one call.
pub(crate) async fn log_call(
    State(log): State<CallLog>,
    params: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(UNMATCHED, MatchedPath::as_str);
    let room = params.ok().and_then(|params| known_room(&log.state, &params));
    let call = Call::begin(&log, &request, route, room);
    call.end(next.run(request).await)
}

/// A call from its head to its answer's.
pub(crate) struct Call<'a> {
    state: &'a AppState,
    started: Instant,
    number: u64,
    method: Method,
    route: &'a str,
    room: Option<RoomId>,
    key_id: Option<String>,
    in_flight: Counted,
}

impl<'a> Call<'a> {
    pub(crate) fn begin<B>(
        log: &'a CallLog,
        request: &http::Request<B>,
        route: &'a str,
        room: Option<RoomId>,
    ) -> Self {
        let state = &log.state;
        Call {
            state,
            started: Instant::now(),
            number: log.next.fetch_add(1, Ordering::Relaxed),
            method: request.method().clone(),
            route,
            room,
            key_id: state.api_keys.holder(request.headers().get(AUTHORIZATION)),
            in_flight: state.metrics.call_started(route),
        }
    }

    /// Counts and logs it; its number is on the answer.
    pub(crate) fn end(self, mut response: Response) -> Response {
        let Call { state, started, number, method, route, room, key_id, in_flight } = self;
        drop(in_flight);
        let took = started.elapsed();
        let status = response.status().as_u16();
        state.metrics.call_ended(&method, route, status, took);
        let code = response.extensions().get::<Code>().map(|code| code.as_str());
        if let Some(code) = code {
            state.metrics.refused(code);
        }
        if key_id.is_none() {
            count_refusal(state, room.as_ref(), &response);
        }
        let actor = key_id.map_or(Cow::Borrowed("visitor"), |id| format!("key:{id}").into());
        let method = method_label(&method);
        let mut digits = [0; 16];
        hex::encode_to_slice(number.to_be_bytes(), &mut digits).expect("two digits a byte");
        let call = std::str::from_utf8(&digits).expect("digits are ASCII");
        Line { call, method, route, room, status, code, actor: &actor, took }.write();
        let value = HeaderValue::from_str(call).expect("digits are visible");
        response.headers_mut().insert(CALL_HEADER, value);
        response
    }
}

/// The room in the path where it exists: any other text there is the client's own.
fn known_room(state: &AppState, params: &RawPathParams) -> Option<RoomId> {
    let (_, room) = params.iter().find(|(name, _)| *name == "room")?;
    let room: RoomId = room.parse().ok()?;
    state.rooms.get(&room).map(|_| room)
}

struct Line<'a> {
    call: &'a str,
    method: &'static str,
    route: &'a str,
    room: Option<RoomId>,
    status: u16,
    code: Option<&'static str>,
    actor: &'a str,
    took: Duration,
}

impl Line<'_> {
    fn write(&self) {
        let Line { call, method, route, status, actor, .. } = self;
        let room = self.room.as_ref().map_or("", RoomId::as_str);
        let code = self.code.unwrap_or("");
        let duration_ms = self.took.as_secs_f64() * 1_000.0;
        tracing::info!(
            target: "jari::call",
            call, method, route, room, status, code, actor, duration_ms,
            "{method} {route} {status} {duration_ms:.1} ms"
        );
    }
}

/// An event stream from its first byte to its last: logged at both ends, counted in between.
#[derive(Debug)]
pub(crate) struct StreamLog {
    room: RoomId,
    started: Instant,
    _open: crate::metrics::Counted,
}

impl StreamLog {
    #[must_use]
    pub(crate) fn begin(state: &AppState, room: &RoomId) -> Self {
        tracing::info!(target: "jari::call", %room, "stream of {room} began");
        StreamLog {
            room: room.clone(),
            started: Instant::now(),
            _open: state.metrics.stream_opened(),
        }
    }
}

impl Drop for StreamLog {
    fn drop(&mut self) {
        let (room, lasted_ms) = (&self.room, self.started.elapsed().as_millis() as u64);
        tracing::info!(target: "jari::call", %room, lasted_ms, "stream of {room} ended after {lasted_ms} ms");
    }
}
