//! `POST /v1/rooms/{room}/signal`: the tenant's site says how it is doing, and the `signal` pacer heeds it.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{Code, Problem, SignalAnswer, SignalRequest};
use jari_line::{SITE, SignalOutcome};
use jari_units::{Millis, limits};

use crate::answers::json;
use crate::handlers::admin::caller::ApiCaller;
use crate::json_body::JsonBody;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::state::AppState;

/// A word that counts for less is over before the next tick.
const SPAN_MIN: Millis = limits::TICK;

/// Takes the site's word on its load, which counts for `for_ms` or until the next one. Made to be called every second.
#[utoipa::path(post, path = "/v1/rooms/{room}/signal", tag = "tenants",
    params(("room" = String, Path)),
    request_body = SignalRequest,
    responses(
        (status = 200, body = SignalAnswer),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 403, description = "api_key_scope", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 409, description = "pacer_heeds_none", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn signal(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<SignalRequest>,
) -> Result<Response, Refusal> {
    let entry = state.room_entry(&room)?;
    caller.require_tenant(&entry.definition().tenant)?;
    let span = Millis(body.for_ms);
    if !(SPAN_MIN..=limits::SIGNAL_SPAN_MAX).contains(&span) {
        let detail = format!("{SPAN_MIN} to {}", limits::SIGNAL_SPAN_MAX);
        return Err(Refusal::new(Code::InvalidField).with("field", "for_ms").detail(detail));
    }
    let runtime = entry.runtime().await?;
    let outcome = runtime.signal(SITE, body.level.into(), span).await?;
    if outcome == SignalOutcome::Unheeded {
        return Err(Refusal::new(Code::PacerHeedsNone));
    }
    let rate_milli = runtime.read(|live| live.ledger().rate_milli());
    Ok(json(StatusCode::OK, &SignalAnswer { rate_per_s: jari_api::admin::rate_per_s(rate_milli) }))
}
