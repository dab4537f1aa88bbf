//! What requests pass through first: the cap on those in flight, the deadline, pages of other origins, and what keeps a
//! change whole. Knows no endpoint, only what is a page: a person who asked for one reads a refusal as one.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jari_api::Code;
use tokio::time::timeout;

use crate::cors::{self, Cors};
use crate::pages::is_page;
use crate::problem_response::Refusal;
use crate::reader::Reader;
use crate::state::AppState;
use crate::trace;

/// Answers 503 to what is too much or takes too long. A stream's body runs on beyond the deadline: only its head counts.
pub(crate) async fn within_limits(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let person =
        is_page(request.uri().path()).then(|| Reader::of(request.method(), request.headers()));
    let answer = limited(&state, request, next).await;
    match person {
        Some(reader) => reader.shown(answer),
        None => answer,
    }
}

async fn limited(state: &AppState, request: Request, next: Next) -> Response {
    let Ok(_permit) = state.in_flight.try_acquire() else {
        return Refusal::new(Code::Overloaded).into_response();
    };
    let reader = match cors::look(state, &request) {
        Cors::Answered(response) => return response,
        Cors::Allowed(origin) => Some(origin),
        Cors::Nothing => None,
    };
    let deadline = state.options.deadlines.request;
    let answered = timeout(deadline, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::warn!("a request was given up after {deadline:?}");
        Refusal::new(Code::DeadlineExceeded).into_response()
    });
    if let Some(origin) = reader {
        cors::allow(&mut response, origin);
    }
    response
}

/// Carries a call out to its end though the caller goes away or the deadline passes: half a change would leave control,
/// the line and the trail apart.
pub(crate) async fn to_its_end(request: Request, next: Next) -> Response {
    let call = tokio::spawn(trace::work(trace::within(), next.run(request)));
    call.await.unwrap_or_else(|error| Refusal::internal(&error).into_response())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::post;
    use futures_util::FutureExt;
    use tokio::sync::Notify;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_change_whose_caller_goes_away_is_carried_out_to_its_end() {
        let (begun, go_on, done) =
            (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
        let steps = (begun.clone(), go_on.clone(), done.clone());
        let change = move || {
            let (begun, go_on, done) = steps.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                done.notify_one();
            }
        };
        let router = Router::new().route("/", post(change)).route_layer(from_fn(to_its_end));
        let request = Request::post("/").body(Body::empty()).expect("a request");
        let mut call = Box::pin(router.oneshot(request));
        assert!(call.as_mut().now_or_never().is_none());
        begun.notified().await;
        drop(call);
        go_on.notify_one();
        let finished = tokio::time::timeout(std::time::Duration::from_secs(5), done.notified());
        finished.await.expect("the second half is carried out as well");
    }
}
