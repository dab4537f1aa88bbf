//! What every request passes through first: the cap on requests in flight and the deadline. Knows no endpoint.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jari_api::Code;
use tokio::time::timeout;

use crate::problem_response::Refusal;
use crate::state::AppState;

/// Answers 503 to what is too much or takes too long. A stream's body runs on beyond the deadline: only its head counts.
pub(crate) async fn within_limits(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let Ok(_permit) = state.in_flight.try_acquire() else {
        return Refusal::new(Code::Overloaded).into_response();
    };
    let deadline = state.options.deadlines.request;
    timeout(deadline, next.run(request)).await.unwrap_or_else(|_| {
        tracing::warn!("a request was given up after {deadline:?}");
        Refusal::new(Code::DeadlineExceeded).into_response()
    })
}
