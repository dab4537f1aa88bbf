//! Counts of rooms, read from their replicas. The same numbers for machines are on `/metrics`.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::Problem;
use jari_api::admin::{RoomStats, StatsList};

use super::caller::Admin;
use crate::answers::json;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::room::RoomRuntime;
use crate::state::AppState;

/// What is going on in one room.
#[utoipa::path(get, path = "/v1/admin/rooms/{room}/stats", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), responses((status = 200, body = RoomStats), (status = 404, body = Problem)))]
pub(crate) async fn of_room(
    State(state): State<AppState>,
    _admin: Admin,
    RoomName(room): RoomName,
) -> Result<Response, Refusal> {
    let (_, runtime) = state.room(&room).await?;
    Ok(json(StatusCode::OK, &stats(&runtime)))
}

/// What is going on in every room.
#[utoipa::path(get, path = "/v1/admin/stats", tag = "admin", security(("api_key" = [])),
    responses((status = 200, body = StatsList)))]
pub(crate) async fn of_all(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Response, Refusal> {
    let mut rooms = Vec::new();
    for entry in state.rooms.list() {
        let runtime = entry.runtime().await?;
        rooms.push(stats(&runtime));
    }
    Ok(json(StatusCode::OK, &StatsList { rooms }))
}

fn stats(room: &RoomRuntime) -> RoomStats {
    room.read(|live| RoomStats::new(room.id(), live.ledger()))
}
