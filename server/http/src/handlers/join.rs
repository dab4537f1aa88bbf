//! `POST /v1/rooms/{room}/places`: a place in line.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{JoinRequest, PlaceView, Problem};

use crate::answers::{json, with_cookies};
use crate::json_body::HeadersAndBody;
use crate::places::{self, Shown};
use crate::problem_response::Refusal;
use crate::request::{ClientAddress, RoomName};
use crate::state::AppState;

/// Joins the line. Idempotent: the same identity always finds its place.
#[utoipa::path(post, path = "/v1/rooms/{room}/places", tag = "visitors",
    params(("room" = String, Path)),
    request_body = Option<JoinRequest>,
    responses(
        (status = 201, description = "A new place or pass", body = PlaceView),
        (status = 200, description = "The place or pass there was", body = PlaceView),
        (status = 401, description = "identity_required, invalid_token", body = Problem),
        (status = 403, description = "blocked, challenge_required", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 409, description = "not_open", body = Problem),
        (status = 410, description = "room_closed, room_sold_out", body = Problem),
        (status = 429, description = "too_many_joins, too_many_newcomers, tenant_limit", body = Problem),
        (status = 503, description = "room_full, recovering, overloaded, store_unavailable",
            body = Problem)))]
pub(crate) async fn join(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ClientAddress(address): ClientAddress,
    HeadersAndBody { headers, body }: HeadersAndBody<JoinRequest>,
) -> Result<Response, Refusal> {
    let (entry_token, solution) = (body.entry.as_deref(), body.altcha.as_deref());
    let shown = Shown { entry_token, solution };
    let told = places::join(&state, &room, &headers, shown, address).await?;
    let status = if told.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(with_cookies(json(status, &told.view), told.cookies))
}
