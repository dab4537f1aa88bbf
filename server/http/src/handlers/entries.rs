//! `POST /v1/rooms/{room}/entries`: the tenant's server gets its user an entry token.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{Code, EntryCreated, EntryRequest, Problem};
use jari_pass::{EntryToken, Subject};
use jari_ports::Identity;

use crate::answers::json;
use crate::handlers::admin::caller::ApiCaller;
use crate::identity::ENTRY_TTL;
use crate::json_body::JsonBody;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::state::AppState;

/// Makes an entry token, which lets the named user join for ten minutes.
#[utoipa::path(post, path = "/v1/rooms/{room}/entries", tag = "tenants",
    params(("room" = String, Path)),
    request_body = EntryRequest,
    responses(
        (status = 201, body = EntryCreated),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 403, description = "api_key_scope", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 429, description = "tenant_limit", body = Problem)))]
pub(crate) async fn create(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<EntryRequest>,
) -> Result<Response, Refusal> {
    let definition = state.room_entry(&room)?.definition();
    caller.require_tenant(&definition.tenant)?;
    let refuse = |field: &str, why: String| {
        Refusal::new(Code::InvalidField).with("field", field).detail(why)
    };
    if definition.identity != Identity::Entry {
        return Err(refuse("room", "this room takes anonymous visitors, not entry tokens".into()));
    }
    let subject: Subject = body
        .subject
        .try_into()
        .map_err(|error: jari_pass::SubjectError| refuse("subject", error.to_string()))?;
    state.tenant_limits.entry(&definition.tenant)?;
    let now = state.clock.now();
    let expires_at = now + ENTRY_TTL;
    let token = EntryToken { room: definition.id.clone(), subject, issued_at: now, expires_at };
    let created =
        EntryCreated { entry_token: state.keys().sign(&token), expires_at: expires_at.into() };
    Ok(json(StatusCode::CREATED, &created))
}
