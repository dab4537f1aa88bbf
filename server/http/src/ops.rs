//! The operator's own listener: whether the server lives, whether it can serve, and its numbers. Nothing for visitors.

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::net::TcpListener;

use crate::metrics::{Observed, TextFormat};
use crate::starting::Starting;
use crate::state::AppState;

/// The routes of the operator's listener.
pub fn router(node: Arc<Starting>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(node)
}

/// Serves them until `stop`, from before the node is there: a start may wait.
///
/// # Errors
/// Where the listener breaks.
pub async fn serve(
    node: Arc<Starting>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(node)).with_graceful_shutdown(stop).await
}

/// The process lives: it answers at all.
async fn healthz() -> &'static str {
    "alive\n"
}

/// It can serve visitors, and is not going away.
async fn readyz(State(node): State<Arc<Starting>>) -> (StatusCode, String) {
    let Some(state) = node.app() else {
        return (StatusCode::SERVICE_UNAVAILABLE, node.told());
    };
    let verdict = state.readiness.look(state).await;
    let draining = state.drain.is_announced().then(|| "draining".to_owned());
    let problems: Vec<_> = draining.into_iter().chain(verdict.problems.iter().cloned()).collect();
    let (status, head) = match problems.as_slice() {
        [] => (StatusCode::OK, "ready".to_owned()),
        problems => (StatusCode::SERVICE_UNAVAILABLE, problems.join("\n")),
    };
    let roles = format!("roles: {}", state.options.roles);
    let lines = [head, roles].into_iter().chain(verdict.notes.iter().cloned());
    (status, lines.map(|line| line + "\n").collect())
}

async fn scrape(State(node): State<Arc<Starting>>, headers: HeaderMap) -> Response {
    let Some(state) = node.app() else {
        return (StatusCode::SERVICE_UNAVAILABLE, node.told()).into_response();
    };
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = TextFormat::of(accept);
    let text = state.metrics.scrape(format, observe(state));
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
        rooms_away: entries.iter().filter(|entry| entry.down_for().is_some()).count(),
        draining: state.drain.is_announced(),
        roles: state.options.roles,
        leases: state.leases.counts(),
        connections_max: state.options.connections.max,
        streams_max: state.options.streams.max,
    }
}
