//! What operators watch: a stream of all rooms, and the rooms' last minutes. Looks only; what it shows `operator_feed`
//! gathers.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use jari_api::admin::HistoryList;
use jari_api::{Code, Problem};
use jari_units::Millis;
use serde::Deserialize;
use utoipa::IntoParams;

use super::caller::Admin;
use super::rooms::invalid;
use crate::answers::json;
use crate::operator_feed::{OPERATORS_MAX, frames, take_seat};
use crate::problem_response::Refusal;
use crate::query::Query;
use crate::state::AppState;

/// Seats do not become free by the second: people close their screens.
const SEAT_AGAIN: Millis = Millis(10_000);
/// Seconds a step of one room's past, and of all rooms' together, where none is asked for.
const STEP_ONE_S: u32 = 1;
const STEP_ALL_S: u32 = 15;
/// With the past of all rooms a step is at least this: a thousand busy rooms are some megabytes then.
const STEP_ALL_MIN_S: u32 = 10;
const STEP_MAX_S: u32 = 60;

/// Streams a `stats` event (a `LiveFrame`) at once and then each second, and `reconnect` when the server goes away.
#[utoipa::path(get, path = "/v1/admin/stats/events", tag = "admin", security(("api_key" = [])),
    responses(
        (status = 200, content_type = "text/event-stream", body = jari_api::admin::LiveFrame),
        (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 503, description = "stream_refused, draining", body = Problem)))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Admin(caller): Admin,
) -> Result<Response, Refusal> {
    if state.drain.has_begun() {
        return Err(Refusal::new(Code::Draining));
    }
    let actor = caller.actor();
    let seat = take_seat(&state, caller.key_id).ok_or_else(|| {
        let refusal = Refusal::new(Code::StreamRefused).poll_after(SEAT_AGAIN);
        refusal.detail(format!("{OPERATORS_MAX} operators are watching already"))
    })?;
    tracing::info!(target: "jari::call", %actor, "{actor} watches all rooms");
    let head = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // nginx would hold frames back otherwise.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((head, Body::from_stream(frames(state, seat))).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// This room only.
    room: Option<String>,
    /// Seconds a step, 1 to 60; for all rooms 10 to 60. Left out: 1 for one room, 15 for all.
    step_s: Option<u32>,
}

/// The last 15 minutes of one room, or of all, from this node's memory.
#[utoipa::path(get, path = "/v1/admin/stats/history", tag = "admin", security(("api_key" = [])), params(HistoryQuery),
    responses((status = 200, body = HistoryList), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn history(
    State(state): State<AppState>,
    _admin: Admin,
    Query(query): Query<HistoryQuery>,
) -> Result<Response, Refusal> {
    let room = query.room.as_deref().map(|room| state.room_entry(room)).transpose()?;
    let room = room.map(|entry| entry.definition().id.clone());
    let (default, min) = match room {
        Some(_) => (STEP_ONE_S, STEP_ONE_S),
        None => (STEP_ALL_S, STEP_ALL_MIN_S),
    };
    let step_s = query.step_s.unwrap_or(default);
    if !(min..=STEP_MAX_S).contains(&step_s) {
        return Err(invalid("step_s", format!("{step_s} is not in {min}..={STEP_MAX_S}")));
    }
    let told = state.operator_feed.history(room.as_ref(), step_s, state.clock.now());
    Ok(json(StatusCode::OK, &told))
}
