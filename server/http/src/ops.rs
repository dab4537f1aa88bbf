//! The operator's own listener: whether the server lives, whether it can serve, and its numbers. Nothing for visitors.

use std::future::Future;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::metrics::{Observed, TextFormat};
use crate::state::AppState;

/// A store or database that takes longer to say anything cannot serve.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The routes of the operator's listener.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(state)
}

/// Serves them until `stop`.
///
/// # Errors
/// Where the listener breaks.
pub async fn serve(
    state: AppState,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(state)).with_graceful_shutdown(stop).await
}

/// The process lives: it answers at all.
async fn healthz() -> &'static str {
    "alive\n"
}

/// It can serve visitors: the store answers and takes writes, and it is not going away. Records that are down are told and no reason to be
/// passed over: visitors need none, and a database that all nodes share would take all of them away at once.
async fn readyz(State(state): State<AppState>) -> (StatusCode, String) {
    let mut problems = Vec::new();
    if state.drain.is_announced() {
        problems.push("draining".to_owned());
    }
    let (store, records) = tokio::join!(
        timeout(PROBE_TIMEOUT, state.store.probe()),
        timeout(PROBE_TIMEOUT, state.control.revision()),
    );
    let mut warning = None;
    match store {
        Ok(Ok(warned)) => warning = warned.map(|text| format!("warning: {text}\n")),
        Ok(Err(error)) => problems.push(error.to_string()),
        Err(_) => problems.push(format!("the line store gave no answer in {PROBE_TIMEOUT:?}")),
    }
    let warning = warning.unwrap_or_default();
    let operators = match records {
        Ok(Ok(_)) => String::new(),
        Ok(Err(error)) => format!("operators wait: {error}\n"),
        Err(_) => format!("operators wait: the records gave no answer in {PROBE_TIMEOUT:?}\n"),
    };
    let roles = format!("roles: {}\n", state.options.roles);
    match problems.as_slice() {
        [] => (StatusCode::OK, format!("ready\n{roles}{warning}{operators}")),
        _ => {
            let problems = problems.join("\n");
            (StatusCode::SERVICE_UNAVAILABLE, format!("{problems}\n{roles}{operators}"))
        }
    }
}

async fn scrape(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = TextFormat::of(accept);
    let text = state.metrics.scrape(format, observe(&state));
    let kind = HeaderValue::from_static(format.content_type());
    let headers = [(CONTENT_TYPE, kind), (VARY, HeaderValue::from_static("accept"))];
    (headers, text).into_response()
}

fn observe(state: &AppState) -> Observed {
    // A room that nobody has used since the start has no replica yet; its first tick loads it.
    let entries = state.rooms.list();
    let rooms = entries.iter().filter_map(|entry| entry.loaded()).map(|room| room.measured());
    Observed {
        rooms: rooms.collect(),
        store_down: state.store_health.down_for().unwrap_or_default(),
        store_refusing: state.store_health.refusing_for().unwrap_or_default(),
        draining: state.drain.is_announced(),
        roles: state.options.roles,
        leases: state.leases.counts(),
        connections_max: state.options.connections.max,
        streams_max: state.options.streams.max,
    }
}
