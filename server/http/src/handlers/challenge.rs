//! `GET /v1/rooms/{room}/challenge`: the work that a newcomer does before a join, where the room asks for it.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{ChallengeView, Code, Problem};
use serde_json::Value;

use crate::answers::json;
use crate::challenge;
use crate::identity;
use crate::problem_response::Refusal;
use crate::request::{Headers, RoomName};
use crate::state::AppState;

/// A challenge for the identity that asks; its solution goes with the join. In ALTCHA's format, for its widget and
/// libraries. Asking costs nothing and keeps nothing.
#[utoipa::path(get, path = "/v1/rooms/{room}/challenge", tag = "visitors",
    params(("room" = String, Path)),
    responses(
        (status = 200, description = "Good for ten minutes, for this identity in this room", body = ChallengeView),
        (status = 401, description = "identity_required, invalid_token", body = Problem),
        (status = 404, description = "unknown_room; not_found: the room asks for no challenge", body = Problem)))]
pub(crate) async fn show(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    Headers(headers): Headers,
) -> Result<Response, Refusal> {
    let definition = state.room_entry(&room)?.definition();
    if !definition.challenge.is_on() {
        return Err(Refusal::new(Code::NotFound).detail("this room asks for no challenge"));
    }
    let visitor = identity::joiner(&state, &definition, &headers, None)?.subject;
    let made = challenge::make(&state, &definition, visitor);
    let parameters = match serde_json::to_value(made.parameters) {
        Ok(Value::Object(parameters)) => parameters,
        _ => return Err(Refusal::new(Code::Internal)),
    };
    let signature = made.signature.unwrap_or_default();
    Ok(json(StatusCode::OK, &ChallengeView { parameters, signature }))
}
