//! `POST /v1/passes/...`: a tenant's server looks after the passes of those who are inside.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{
    ExtendAnswer, ExtendRequest, PassStatus, PassesAnswer, PassesRequest, Problem, VerifiedPass,
    VerifyRequest,
};

use crate::answers::json;
use crate::handlers::admin::caller::ApiCaller;
use crate::json_body::JsonBody;
use crate::passes;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// Whether what a visitor showed is good. A one-time token is good once; repeated with the same nonce, the answer is too.
#[utoipa::path(post, path = "/v1/passes/verify", tag = "passes", security(("api_key" = [])),
    request_body = VerifyRequest,
    responses(
        (status = 200, body = VerifiedPass),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 403, description = "api_key_scope: the room named is another tenant's", body = Problem),
        (status = 404, description = "unknown_pass, unknown_room", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 428, description = "pass_required", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn verify(
    State(state): State<AppState>,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<VerifyRequest>,
) -> Result<Response, Refusal> {
    let verified = passes::verify(&state, &caller, &body).await;
    let outcome = match &verified {
        Ok(_) => "live",
        Err(refusal) => refusal.reason().unwrap_or(refusal.code().as_str()),
    };
    state.metrics.site_asked("verify", outcome, 1);
    Ok(json(StatusCode::OK, &verified?))
}

/// Slides the ends of passes in use, in one call for many people.
#[utoipa::path(post, path = "/v1/passes/touch", tag = "passes", security(("api_key" = [])),
    request_body = PassesRequest,
    responses(
        (status = 200, body = PassesAnswer),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn touch(
    State(state): State<AppState>,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<PassesRequest>,
) -> Result<Response, Refusal> {
    let passes = passes::touch(&state, &caller, body.passes).await?;
    Ok(counted(&state, "touch", &PassesAnswer { passes }))
}

/// Ends passes: their owners are done, and others come in. Idempotent.
#[utoipa::path(post, path = "/v1/passes/end", tag = "passes", security(("api_key" = [])),
    request_body = PassesRequest,
    responses(
        (status = 200, body = PassesAnswer),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 503, description = "recovering, store_unavailable, records_unavailable", body = Problem)))]
pub(crate) async fn end(
    State(state): State<AppState>,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<PassesRequest>,
) -> Result<Response, Refusal> {
    let passes = passes::end(&state, &caller, body.passes).await?;
    Ok(counted(&state, "end", &PassesAnswer { passes }))
}

/// Keeps a pass from ending by itself while its owner pays, 15 minutes in all.
#[utoipa::path(post, path = "/v1/passes/extend", tag = "passes", security(("api_key" = [])),
    request_body = ExtendRequest,
    responses(
        (status = 200, body = ExtendAnswer),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 404, description = "unknown_pass", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 428, description = "pass_required: it has ended", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn extend(
    State(state): State<AppState>,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<ExtendRequest>,
) -> Result<Response, Refusal> {
    let answer = passes::extend(&state, &caller, &body).await?;
    let outcome = if answer.extended { "live" } else { "limit_reached" };
    state.metrics.site_asked("extend", outcome, 1);
    Ok(json(StatusCode::OK, &answer))
}

fn counted(state: &AppState, call: &'static str, answer: &PassesAnswer) -> Response {
    let words = [
        (PassStatus::Live, "live"),
        (PassStatus::Ended, "ended"),
        (PassStatus::Recovering, "recovering"),
        (PassStatus::Unknown, "unknown"),
    ];
    for (status, word) in words {
        let count = answer.passes.iter().filter(|pass| pass.status == status).count() as u64;
        state.metrics.site_asked(call, word, count);
    }
    json(StatusCode::OK, answer)
}
