//! `GET|DELETE /v1/rooms/{room}/places/me`: how my place stands, and giving it up.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{PlaceView, Problem};

use crate::answers::{json, no_content, with_cookies};
use crate::places;
use crate::problem_response::Refusal;
use crate::request::{Headers, RoomName};
use crate::state::AppState;

/// How my place stands; asking is being present.
#[utoipa::path(get, path = "/v1/rooms/{room}/places/me", tag = "visitors",
    params(("room" = String, Path)),
    responses(
        (status = 200, description = "Also of a place that has ended", body = PlaceView),
        (status = 401, description = "place_required, invalid_token", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 429, description = "too_fast", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn ask(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    Headers(headers): Headers,
) -> Result<Response, Refusal> {
    let told = places::ask(&state, &room, &headers).await?;
    Ok(with_cookies(json(StatusCode::OK, &told.view), told.cookies))
}

/// Gives up my place or pass.
#[utoipa::path(delete, path = "/v1/rooms/{room}/places/me", tag = "visitors",
    params(("room" = String, Path)),
    responses(
        (status = 204, description = "Given up, now or before"),
        (status = 401, description = "place_required, invalid_token, identity_required",
            body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 503, description = "recovering, overloaded, store_unavailable", body = Problem)))]
pub(crate) async fn leave(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    Headers(headers): Headers,
) -> Result<Response, Refusal> {
    let cookies = places::leave(&state, &room, &headers).await?;
    Ok(with_cookies(no_content(), cookies))
}
