//! API keys: list, make, rotate, revoke. The key itself is in one answer only.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::admin::{ApiKeyCreated, ApiKeyList, NewApiKeyBody, RotateBody};
use jari_api::{Code, Problem};
use jari_ports::{ApiKey, ControlError, NewApiKey};
use jari_units::{Millis, TenantId};
use serde_json::json as value;

use super::caller::Admin;
use super::rooms::{check_one_line, invalid};
use super::tenants::check_known;
use super::trail::{Step, entry};
use crate::answers::{json, no_content};
use crate::api_keys::{self, FreshKey};
use crate::json_body::{JsonBody, OptionalJsonBody};
use crate::path::Path;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// Bytes of a key's name: a line in a table.
const NAME_MAX_BYTES: usize = 100;
/// An old key stays good beside its successor for so long at most: whoever needs longer has forgotten it.
const OVERLAP_MAX: Millis = Millis(30 * 24 * 3_600_000);

/// All API keys, revoked ones too. The keys themselves are not known any more.
#[utoipa::path(get, path = "/v1/admin/keys", tag = "admin", security(("api_key" = [])),
    responses((status = 200, body = ApiKeyList)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Response, Refusal> {
    state.api_keys.note_uses().await?;
    let keys = state.control.api_keys().await?;
    let keys = keys.iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &ApiKeyList { keys }))
}

/// Makes an API key. This answer is the only place where it is ever shown.
#[utoipa::path(post, path = "/v1/admin/keys", tag = "admin", security(("api_key" = [])), request_body = NewApiKeyBody,
    responses((status = 201, body = ApiKeyCreated), (status = 422, body = Problem)))]
pub(crate) async fn create(
    State(state): State<AppState>,
    Admin(caller): Admin,
    JsonBody(body): JsonBody<NewApiKeyBody>,
) -> Result<Response, Refusal> {
    if body.name.trim().is_empty() || body.name.len() > NAME_MAX_BYTES {
        return Err(invalid("name", format!("has 1 to {NAME_MAX_BYTES} bytes")));
    }
    check_one_line("name", &body.name)?;
    let tenant: TenantId = match &body.tenant {
        Some(tenant) => tenant
            .parse()
            .map_err(|error: jari_units::IdError| invalid("tenant", error.to_string()))?,
        None => caller.tenant.clone(),
    };
    let mut turn = state.turn().await?;
    check_known(&state, &tenant).await?;
    let fresh = FreshKey::make(&*state.entropy);
    let told = Step::made(value!({"name": body.name, "scope": body.scope, "tenant": tenant}));
    let (id, hash) = (fresh.id.clone(), fresh.hash);
    let key = NewApiKey { id, tenant, scope: body.scope.into(), name: body.name, hash };
    let entry = entry(&state, &caller, "key.create", format!("key:{}", fresh.id), &told);
    state.control.add_api_key(key, state.clock.now(), entry).await?;
    state.api_keys.reload().await?;
    turn.wrote();
    let created = ApiKeyCreated { id: fresh.id, key: fresh.text };
    Ok(json(StatusCode::CREATED, &created))
}

/// Revokes a key: it is refused from now on. Idempotent.
#[utoipa::path(delete, path = "/v1/admin/keys/{id}", tag = "admin", security(("api_key" = [])),
    params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn revoke(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    if id == caller.key_id {
        return Err(invalid("id", "is the calling key's own; revoke it with another one"));
    }
    check_one_line("id", &id)?;
    let mut turn = state.turn().await?;
    let step = Step::made(value!({"revoked": true}));
    let entry = entry(&state, &caller, "key.revoke", format!("key:{id}"), &step);
    match state.control.revoke_api_key(&id, state.clock.now(), entry).await {
        Err(ControlError::NotFound(_)) => return Err(Refusal::new(Code::UnknownKey)),
        revoked => revoked?,
    }
    state.api_keys.reload().await?;
    turn.wrote();
    Ok(no_content())
}

/// Makes a key in place of another, which ends by itself after the overlap. This answer is the only place where it is shown.
#[utoipa::path(post, path = "/v1/admin/keys/{id}/rotate", tag = "admin", security(("api_key" = [])),
    params(("id" = String, Path)), request_body = Option<RotateBody>,
    responses((status = 201, body = ApiKeyCreated), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn rotate(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(id): Path<String>,
    OptionalJsonBody(body): OptionalJsonBody<RotateBody>,
) -> Result<Response, Refusal> {
    check_overlap(body.overlap_ms)?;
    if id == caller.key_id && body.overlap_ms == 0 {
        let problem = "0 would end the calling key before its successor is known to be kept";
        return Err(invalid("overlap_ms", problem));
    }
    let mut turn = state.turn().await?;
    let now = state.clock.now();
    let keys = state.control.api_keys().await?;
    let is_good = |key: &&ApiKey| key.id == id && api_keys::is_good(key, now);
    let old = keys.iter().find(is_good).ok_or_else(|| Refusal::new(Code::UnknownKey))?;
    let fresh = FreshKey::make(&*state.entropy);
    let key = NewApiKey {
        id: fresh.id.clone(),
        tenant: old.tenant.clone(),
        scope: old.scope,
        name: old.name.clone(),
        hash: fresh.hash,
    };
    let told = Step::made(value!({"successor": fresh.id, "overlap_ms": body.overlap_ms}));
    let entry = entry(&state, &caller, "key.rotate", format!("key:{id}"), &told);
    let ends_at = now + Millis(body.overlap_ms);
    state.control.rotate_api_key(&id, key, now, ends_at, entry).await?;
    state.api_keys.reload().await?;
    turn.wrote();
    let created = ApiKeyCreated { id: fresh.id, key: fresh.text };
    Ok(json(StatusCode::CREATED, &created))
}

/// Refuses an overlap that is too long.
pub(super) fn check_overlap(overlap_ms: u64) -> Result<(), Refusal> {
    if overlap_ms > OVERLAP_MAX.0 {
        return Err(invalid("overlap_ms", format!("{overlap_ms} is above {}", OVERLAP_MAX.0)));
    }
    Ok(())
}
