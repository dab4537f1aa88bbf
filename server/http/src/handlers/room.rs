//! `GET /v1/rooms/{room}`: what anybody may see of a room, encoded once a second.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use jari_api::{Problem, RoomView, Title};
use jari_ports::RoomDefinition;

use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::room::Live;
use crate::state::AppState;

/// The room and its line.
#[utoipa::path(get, path = "/v1/rooms/{room}", tag = "visitors",
    params(("room" = String, Path)),
    responses(
        (status = 200, body = RoomView),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 503, description = "store_unavailable", body = Problem)))]
pub(crate) async fn show(
    State(state): State<AppState>,
    RoomName(room): RoomName,
) -> Result<Response, Refusal> {
    let (entry, runtime) = state.room(&room).await?;
    let body = runtime.public_view(|live| encode(&state, &entry.definition(), live));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=1")),
        // Pages of other origins that may read it are told so.
        (VARY, HeaderValue::from_static("origin")),
    ];
    Ok((headers, body).into_response())
}

fn encode(state: &AppState, room: &RoomDefinition, live: &Live) -> Bytes {
    let view = RoomView {
        room: room.id.to_string(),
        title: Title { ko: room.title_ko.clone(), en: room.title_en.clone() },
        identity: room.identity.into(),
        line: live.line().clone(),
        server_time: state.clock.now().into(),
    };
    serde_json::to_vec(&view).expect("views hold only text and numbers").into()
}
