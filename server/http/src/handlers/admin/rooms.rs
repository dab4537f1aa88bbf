//! Rooms' definitions: list, make, read, change, delete. Control first, then the store, but for a new room; live control is `control`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::header::ETAG;
use http::{HeaderMap, HeaderValue, StatusCode};
use jari_api::admin::{RoomBody, RoomDefinitionView, RoomList, merge_room};
use jari_api::{Code, Problem};
use jari_ports::{Challenge, ControlError, Handover, Identity, RoomDefinition};
use jari_units::{GroupId, RoomId, TenantId};
use serde_json::Value;

use super::caller::Admin;
use super::if_match::match_version;
use super::tenants::check_known;
use super::trail::{Step, entry};
use crate::answers::{json, no_content};
use crate::api_keys::Caller;
use crate::changes::Turn;
use crate::json_body::JsonBody;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::site_keys;
use crate::state::AppState;

/// Bytes of a title in one language: one line on a phone, in any script.
const TITLE_MAX_BYTES: usize = 200;
/// Bytes of a target: what browsers and proxies take for sure.
const TARGET_URL_MAX_BYTES: usize = 2_000;

/// All rooms.
#[utoipa::path(get, path = "/v1/admin/rooms", tag = "admin", security(("api_key" = [])),
    responses((status = 200, body = RoomList), (status = 401, body = Problem), (status = 403, body = Problem)))]
pub(crate) async fn list(State(state): State<AppState>, _admin: Admin) -> Response {
    let rooms = state.rooms.list();
    let rooms = rooms.iter().map(|entry| (&*entry.definition()).into()).collect();
    json(StatusCode::OK, &RoomList { rooms })
}

/// Makes a room.
#[utoipa::path(post, path = "/v1/admin/rooms", tag = "admin", security(("api_key" = [])), request_body = RoomBody,
    responses((status = 201, body = RoomDefinitionView), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn create(
    State(state): State<AppState>,
    Admin(caller): Admin,
    JsonBody(sent): JsonBody<Value>,
) -> Result<Response, Refusal> {
    let mut turn = state.turn().await?;
    let body = room_body(sent.clone())?;
    let mut room = definition(&state, &caller, &body, &sent).await?;
    room.created_at = state.clock.now();
    key_for_tokens(&state, &mut turn, &caller, &room).await?;
    state.rooms.prepare(&room).await?;
    let made = stored(&room);
    let view = RoomDefinitionView::from(&made);
    let target = format!("room:{}", made.id);
    let entry = entry(&state, &caller, "room.create", target, &Step::made(&view));
    match state.control.put_room(room, entry).await {
        Err(ControlError::Conflict(_)) => {
            let detail = format!("there is a room {:?} already", body.room);
            return Err(Refusal::new(Code::AlreadyExists).detail(detail));
        }
        put => put?,
    };
    turn.wrote();
    state.rooms.upsert(made).await?;
    Ok(versioned(StatusCode::CREATED, &view))
}

/// One room.
#[utoipa::path(get, path = "/v1/admin/rooms/{room}", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)),
    responses((status = 200, body = RoomDefinitionView), (status = 404, body = Problem)))]
pub(crate) async fn read(
    State(state): State<AppState>,
    _admin: Admin,
    RoomName(room): RoomName,
) -> Result<Response, Refusal> {
    let view = RoomDefinitionView::from(&*state.room_entry(&room)?.definition());
    Ok(versioned(StatusCode::OK, &view))
}

/// Changes what the body names; `null` takes a field back to its default. `If-Match` names the version it is meant for.
#[utoipa::path(patch, path = "/v1/admin/rooms/{room}", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path), ("If-Match" = Option<String>, Header)), request_body = RoomBody,
    responses((status = 200, body = RoomDefinitionView), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 412, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn change(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    headers: HeaderMap,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Response, Refusal> {
    let mut turn = state.turn().await?;
    let old = state.room_entry(&room)?.definition();
    match_version(&headers, old.version)?;
    let room = patched(&state, &caller, &old, patch).await?;
    key_for_tokens(&state, &mut turn, &caller, &room).await?;
    let changed = stored(&room);
    let (before, view) = (RoomDefinitionView::from(&*old), RoomDefinitionView::from(&changed));
    let target = format!("room:{}", room.id);
    let entry = entry(&state, &caller, "room.change", target, &Step::changed(&before, &view));
    state.control.put_room(room, entry).await?;
    turn.wrote();
    state.rooms.upsert(changed).await?;
    Ok(versioned(StatusCode::OK, &view))
}

/// Deletes a room with all its places and passes.
#[utoipa::path(delete, path = "/v1/admin/rooms/{room}", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), responses((status = 204), (status = 404, body = Problem)))]
pub(crate) async fn delete(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
) -> Result<Response, Refusal> {
    let mut turn = state.turn().await?;
    let old = state.room_entry(&room)?.definition();
    let step = Step::gone(RoomDefinitionView::from(&*old));
    let entry = entry(&state, &caller, "room.delete", format!("room:{}", old.id), &step);
    state.rooms.doom(&old.id).await?;
    match state.control.delete_room(&old.id, entry).await {
        // An earlier try got as far as this, and is in the trail: what is left of the room goes now.
        Err(ControlError::NotFound(_)) => {}
        deleted => {
            deleted?;
            turn.wrote();
        }
    }
    state.rooms.remove(&old.id).await?;
    Ok(no_content())
}

/// A room that hands tokens over needs a key that signs them.
async fn key_for_tokens(
    state: &AppState,
    turn: &mut Turn<'_>,
    caller: &Caller,
    room: &RoomDefinition,
) -> Result<(), Refusal> {
    match room.handover {
        Handover::Token => site_keys::ensure(state, turn, caller, &room.tenant).await,
        Handover::Cookie => Ok(()),
    }
}

/// A definition as control has it once it is written.
fn stored(room: &RoomDefinition) -> RoomDefinition {
    RoomDefinition { version: room.version + 1, ..room.clone() }
}

fn versioned(status: StatusCode, view: &RoomDefinitionView) -> Response {
    let mut response = json(status, view);
    let etag = HeaderValue::try_from(format!("\"{}\"", view.version));
    response.headers_mut().insert(ETAG, etag.expect("digits in quotes"));
    response
}

async fn patched(
    state: &AppState,
    caller: &Caller,
    old: &Arc<RoomDefinition>,
    patch: Value,
) -> Result<RoomDefinition, Refusal> {
    if !patch.is_object() {
        return Err(Refusal::new(Code::MalformedBody).detail("a patch is a JSON object"));
    }
    let mut body = serde_json::to_value(RoomBody::from(&**old)).expect("a room is plain JSON");
    merge_room(&mut body, patch.clone());
    let body = room_body(body)?;
    let room = definition(state, caller, &body, &patch).await?;
    for (field, changed) in [
        ("room", room.id != old.id),
        ("tenant", room.tenant != old.tenant),
        ("identity", room.identity != old.identity),
    ] {
        if changed {
            return Err(invalid(field, "never changes; make another room"));
        }
    }
    Ok(RoomDefinition { version: old.version, created_at: old.created_at, ..room })
}

fn room_body(body: Value) -> Result<RoomBody, Refusal> {
    let malformed =
        |error: serde_json::Error| Refusal::new(Code::MalformedBody).detail(error.to_string());
    serde_json::from_value(body).map_err(malformed)
}

/// Whether a body or patch names a field of the settings (`pacer.floor`), or one beside them (`group`).
fn names(sent: &Value, field: &str) -> bool {
    let within = |from: &Value| from.pointer(&format!("/{}", field.replace('.', "/"))).is_some();
    within(&sent["settings"]) || within(sent)
}

pub(super) fn invalid(field: &str, problem: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidField).with("field", field).with("problem", problem.into())
}

/// Checks everything that a definition can be wrong in. `sent` is what the caller wrote of it.
async fn definition(
    state: &AppState,
    caller: &Caller,
    body: &RoomBody,
    sent: &Value,
) -> Result<RoomDefinition, Refusal> {
    let id: RoomId = body.room.parse().map_err(|error| bad_id("room", error))?;
    let tenant = match &body.tenant {
        Some(tenant) => tenant.parse::<TenantId>().map_err(|error| bad_id("tenant", error))?,
        None => caller.tenant.clone(),
    };
    check_known(state, &tenant).await?;
    let group = body.group.as_deref().map(str::parse::<GroupId>).transpose();
    let group = group.map_err(|error| bad_id("group", error))?;
    if let Some(group) = &group {
        let groups = state.control.groups().await?;
        if groups.iter().all(|known| known.id != *group) {
            return Err(invalid("group", format!("there is no limit group {group}")));
        }
    }
    for (field, title) in [("title.ko", &body.title.ko), ("title.en", &body.title.en)] {
        if title.len() > TITLE_MAX_BYTES {
            return Err(invalid(field, format!("is longer than {TITLE_MAX_BYTES} bytes")));
        }
        check_one_line(field, title)?;
    }
    if body.title.ko.trim().is_empty() && body.title.en.trim().is_empty() {
        return Err(invalid("title", "needs a text in at least one language"));
    }
    check_target(&body.target_url).map_err(|problem| invalid("target_url", problem))?;
    let challenge = challenge(body)?;
    let settings = body.settings.to_settings(group.is_some()).map_err(|error| {
        let refusal = Refusal::new(Code::InvalidSettings).with("field", "rate_per_s");
        refusal.with("problem", error.to_string())
    })?;
    settings.check().map_err(|error| {
        let field = error.of_sent(|field| names(sent, field));
        let refusal = Refusal::new(Code::InvalidSettings).with("field", field);
        refusal.with("problem", error.problem)
    })?;
    Ok(RoomDefinition {
        id,
        tenant,
        group,
        identity: body.identity.into(),
        title_ko: body.title.ko.clone(),
        title_en: body.title.en.clone(),
        target_url: body.target_url.clone(),
        on_store_failure: body.on_store_failure.into(),
        handover: body.handover.into(),
        challenge,
        settings,
        version: 0,
        created_at: jari_units::Timestamp(0),
    })
}

/// What newcomers are asked for. Whom a tenant's server vouches for is not asked: a setting without an effect would be a trap.
fn challenge(body: &RoomBody) -> Result<Challenge, Refusal> {
    let challenge =
        Challenge { kind: body.challenge.into(), difficulty: body.challenge_difficulty };
    challenge.check().map_err(|error| invalid("challenge_difficulty", error.to_string()))?;
    if challenge.is_on() && Identity::from(body.identity) != Identity::Anonymous {
        let problem = "is for anonymous rooms: who comes with an entry token is vouched for";
        return Err(invalid("challenge", problem));
    }
    Ok(challenge)
}

/// A line of text; no database keeps every control character, and no page shows one.
pub(super) fn check_one_line(field: &str, text: &str) -> Result<(), Refusal> {
    if text.chars().any(|c| c.is_control() || turns(c)) {
        return Err(invalid(field, "has a control character in it"));
    }
    Ok(())
}

/// What ends a line, or turns the writing of what stands behind it round, as in a trail that names who did what.
fn turns(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn bad_id(field: &str, error: jari_units::IdError) -> Refusal {
    invalid(field, error.to_string())
}

/// An absolute http(s) URL, or a path on this origin; never a script, and never another site dressed up as a path.
fn check_target(target: &str) -> Result<(), &'static str> {
    if target.len() > TARGET_URL_MAX_BYTES {
        return Err("is longer than 2000 bytes");
    }
    if target.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\' || byte == b' ') {
        return Err("has a space, a backslash or a control character in it");
    }
    if target.starts_with('/') {
        return if target.starts_with("//") { Err("is no path: it names a host") } else { Ok(()) };
    }
    // As it is written: what parsers make of `http:/x` differs.
    let scheme = target.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_web = matches!(scheme.as_deref(), Some("http" | "https"));
    match url::Url::parse(target) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Err("has a user's name in it")
        }
        Ok(url) if is_web && url.has_host() => Ok(()),
        _ => Err("is neither an http(s) URL nor a path that begins with '/'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_text_stays_one_and_is_read_one_way() {
        for (text, good) in [
            ("서울 오페라", true),
            ("\u{05d0}\u{200f}", true),
            ("👩\u{200d}🚀", true),
            ("a\nb", false),
            ("a\u{2028}b", false),
            ("a\u{202e}b", false),
            ("a\u{2067}b", false),
        ] {
            assert_eq!(check_one_line("name", text).is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn targets_are_http_urls_or_paths_of_this_origin() {
        for (target, good) in [
            ("/", true),
            ("/sale?day=1", true),
            ("https://shop.example/sale", true),
            ("http://127.0.0.1:3000", true),
            ("", false),
            ("shop.example", false),
            ("//shop.example", false),
            ("/\\shop.example", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("https://", false),
            ("HTTPS://shop.example/", true),
            ("http:/shop.example", false),
            ("https:shop.example", false),
            ("https://user@shop.example/", false),
            ("https://:secret@shop.example/", false),
            ("/a\nb", false),
        ] {
            assert_eq!(check_target(target).is_ok(), good, "{target:?}");
        }
    }

    #[test]
    fn a_field_is_named_where_it_was_sent() {
        let sent = serde_json::json!({"room": "a", "group": null, "settings": {"burst": 1, "opens_at": null,
            "pacer": {"kind": "aimd", "floor": 1}}});
        for field in ["burst", "opens_at", "pacer.floor", "group"] {
            assert!(names(&sent, field), "{field}");
        }
        for field in ["mode", "floor", "pacer.start", "pacer.floor.x"] {
            assert!(!names(&sent, field), "{field}");
        }
        assert!(!names(&Value::Null, "burst"));
    }
}
