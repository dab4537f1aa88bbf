//! `GET /v1/rooms/{room}/events`: the room's line and one's own place, as they change.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use jari_api::{Code, Problem};
use jari_line::Standing;
use jari_units::{Incarnation, Millis, Seq};
use serde::Deserialize;

use crate::call_log::StreamLog;
use crate::event_frames::EventId;
use crate::event_stream::{EventStream, StreamedRoom, events};
use crate::identity;
use crate::places::know_incarnation;
use crate::problem_response::Refusal;
use crate::query::Query;
use crate::request::RoomName;
use crate::state::AppState;
use crate::stream_hub::{Accepted, Kept};
use crate::stream_keys::KeyRefused;
use crate::take_over::WayOut;

/// Who is refused a stream asks by polling, this soon.
const POLL_INSTEAD: Millis = Millis(1_000);

#[derive(Debug, Deserialize)]
pub(crate) struct StreamQuery {
    key: Option<String>,
}

/// Streams `line`, `place`, `admitted`, `ended` and `reconnect` events.
#[utoipa::path(get, path = "/v1/rooms/{room}/events", tag = "visitors",
    params(
        ("room" = String, Path),
        ("key" = Option<String>, Query, description = "A stream key instead of a token")),
    responses(
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 401, description = "place_required, invalid_token", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 503, description = "stream_refused, draining, recovering, store_unavailable",
            body = Problem)))]
pub(crate) async fn open(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
    way_out: Option<WayOut>,
) -> Result<Response, Refusal> {
    let entry = state.room_entry(&room)?;
    let definition = entry.definition();
    let (incarnation, seq) = place(&state, &definition.id, &query, &headers)?;
    if state.drain.has_begun() {
        return Err(Refusal::new(Code::Draining));
    }
    let runtime = entry.runtime().await?;
    know_incarnation(&runtime, incarnation).await?;
    if let Some(EventId(seen)) = last_event_id(&headers) {
        // Another node may have told more than this one has heard: what people see never goes back.
        runtime.reach(seen).await;
    }
    let offered = runtime.read(|live| {
        let position = match live.ledger().standing(incarnation, seq) {
            Standing::InLine { position } => Some(position),
            _ => None,
        };
        state.stream_slots.offers(position, live.ledger().waiting())
    });
    let slot = offered.then(|| state.stream_slots.take()).flatten();
    let slot = slot.ok_or_else(|| Refusal::new(Code::StreamRefused).poll_after(POLL_INSTEAD))?;
    let log = StreamLog::begin(&state, &definition.id);
    let room = StreamedRoom { state, entry, runtime };
    let head = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // nginx would hold frames back otherwise.
        (http::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    if let Some(way_out) = way_out {
        let kept = Kept::new(slot, log);
        return Ok(way_out.mark(Accepted { room, incarnation, seq, kept }, head));
    }
    let subscription = room.runtime.subscribe(seq);
    let stream = EventStream { room, incarnation, seq, subscription };
    Ok((head, Body::from_stream(events(stream, (slot, log)))).into_response())
}

/// Whose stream: by a one-time key, else by the place's receipt.
fn place(
    state: &AppState,
    room: &jari_units::RoomId,
    query: &StreamQuery,
    headers: &HeaderMap,
) -> Result<(Incarnation, Seq), Refusal> {
    let Some(text) = &query.key else {
        let place = identity::receipt(state, room, headers)?;
        return Ok((place.incarnation, place.seq));
    };
    let key = identity::stream_key(state, room, text)?;
    match state.stream_keys.use_up(key.nonce, state.clock.now()) {
        Ok(()) => Ok((key.incarnation, key.seq)),
        // Whoever saw the key in a log comes too late.
        Err(KeyRefused::Used) => Err(Refusal::invalid_token("expired")),
        Err(KeyRefused::Crowded) => Err(Refusal::new(Code::StreamRefused).poll_after(POLL_INSTEAD)),
    }
}

fn last_event_id(headers: &HeaderMap) -> Option<EventId> {
    EventId::parse(headers.get("last-event-id")?.to_str().ok()?)
}
