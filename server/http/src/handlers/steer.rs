//! `POST /v1/rooms/{room}/announce|sold-out`: a tenant's server says to its own room what an operator may say too.

use axum::extract::State;
use axum::response::Response;
use jari_api::Problem;
use jari_api::admin::{AnnounceRequest, Changed, SoldOutRequest};

use crate::api_keys::Caller;
use crate::handlers::admin::caller::ApiCaller;
use crate::handlers::admin::control;
use crate::json_body::JsonBody;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::state::AppState;

/// Tells everybody in the room something; an empty text takes it back.
#[utoipa::path(post, path = "/v1/rooms/{room}/announce", tag = "tenants", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = AnnounceRequest,
    responses(
        (status = 200, body = Changed),
        (status = 403, description = "api_key_scope", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn announce(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<AnnounceRequest>,
) -> Result<Response, Refusal> {
    own(&state, &caller, &room)?;
    control::tell(&state, &caller, &room, body).await
}

/// Says that nothing is left, or that something is after all.
#[utoipa::path(post, path = "/v1/rooms/{room}/sold-out", tag = "tenants", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SoldOutRequest,
    responses(
        (status = 200, body = Changed),
        (status = 403, description = "api_key_scope", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn sold_out(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<SoldOutRequest>,
) -> Result<Response, Refusal> {
    own(&state, &caller, &room)?;
    control::sell_out(&state, &caller, &room, body).await
}

fn own(state: &AppState, caller: &Caller, room: &str) -> Result<(), Refusal> {
    let definition = state.room_entry(room)?.definition();
    Ok(caller.require_tenant(&definition.tenant)?)
}
