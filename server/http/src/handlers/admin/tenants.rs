//! Tenants: whose rooms and keys they are. What each may reach is checked where its key is used.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use jari_api::admin::{TenantBody, TenantList, TenantView};
use jari_api::{Code, Problem};
use jari_gate::{ORIGINS_MAX, RETURN_URLS_MAX};
use jari_ports::{ControlError, Tenant, TenantLimits};
use jari_units::TenantId;

use super::caller::Admin;
use super::if_match::match_version;
use super::rooms::{check_one_line, invalid};
use super::trail::{Step, entry};
use crate::answers::{json, no_content};
use crate::json_body::JsonBody;
use crate::path::Path;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// Bytes of a tenant's name: a line in a table.
const NAME_MAX_BYTES: usize = 100;
/// Of an address that is refused, so much is shown.
const SHOWN_MAX_CHARS: usize = 100;
/// Rooms that a tenant may be allowed: more than an installation holds in memory.
const ROOMS_MAX: u64 = 100_000;

/// All tenants.
#[utoipa::path(get, path = "/v1/admin/tenants", tag = "admin", security(("api_key" = [])),
    responses((status = 200, body = TenantList)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Response, Refusal> {
    let tenants = state.control.tenants().await?;
    let tenants = tenants.iter().map(|tenant| view(&state, tenant)).collect();
    Ok(json(StatusCode::OK, &TenantList { tenants }))
}

/// One tenant.
#[utoipa::path(get, path = "/v1/admin/tenants/{tenant}", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path)), responses((status = 200, body = TenantView), (status = 404, body = Problem)))]
pub(crate) async fn read(
    State(state): State<AppState>,
    _admin: Admin,
    Path(tenant): Path<String>,
) -> Result<Response, Refusal> {
    let found = known(&state, &tenant).await?;
    Ok(json(StatusCode::OK, &view(&state, &found)))
}

/// Makes a tenant, or sets all that is known of one.
#[utoipa::path(put, path = "/v1/admin/tenants/{tenant}", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path), ("If-Match" = Option<String>, Header)), request_body = TenantBody,
    responses((status = 200, body = TenantView), (status = 409, body = Problem), (status = 412, body = Problem),
        (status = 422, body = Problem)))]
pub(crate) async fn put(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(tenant): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<TenantBody>,
) -> Result<Response, Refusal> {
    let parsed = tenant.parse::<TenantId>();
    let id = parsed.map_err(|error| invalid("tenant", error.to_string()))?;
    check(&body)?;
    let return_urls = read_all("return_urls", &body.return_urls, RETURN_URLS_MAX)?;
    let cors_origins = read_all("cors_origins", &body.cors_origins, ORIGINS_MAX)?;
    let mut turn = state.turn().await?;
    let old = find(&state, &tenant).await?;
    let version = old.as_ref().map_or(0, |old| old.version);
    match_version(&headers, version)?;
    let limits = TenantLimits {
        joins_per_minute: body.joins_per_minute,
        entries_per_minute: body.entries_per_minute,
    };
    let TenantBody { name, rooms_max, .. } = body;
    let new = Tenant { id, name, rooms_max, limits, return_urls, cors_origins, version };
    let stored = Tenant { version: version + 1, ..new.clone() };
    let view = view(&state, &stored);
    let before = old.map(|old| TenantView::new(&old, Vec::new()));
    let step = Step::changed(before, TenantView::new(&stored, Vec::new()));
    let entry = entry(&state, &caller, "tenant.set", format!("tenant:{}", new.id), &step);
    state.control.put_tenant(new, entry).await?;
    state.tenants.upsert(stored);
    turn.wrote();
    state.tenant_limits.set(&state.control.tenants().await?);
    Ok(json(StatusCode::OK, &view))
}

/// Deletes a tenant that has no room and no key that is good.
#[utoipa::path(delete, path = "/v1/admin/tenants/{tenant}", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn delete(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(tenant): Path<String>,
) -> Result<Response, Refusal> {
    let mut turn = state.turn().await?;
    let old = known(&state, &tenant).await?;
    let step = Step::gone(TenantView::new(&old, Vec::new()));
    let entry = entry(&state, &caller, "tenant.delete", format!("tenant:{}", old.id), &step);
    match state.control.delete_tenant(&old.id, entry).await {
        Err(ControlError::InUse(_)) => {
            let detail = format!("delete the rooms of {} and revoke its keys first", old.id);
            return Err(Refusal::new(Code::TenantInUse).detail(detail));
        }
        deleted => deleted?,
    }
    state.tenants.remove(&old.id);
    turn.wrote();
    state.site_keys.reload().await?;
    Ok(no_content())
}

/// Refuses what names a tenant that there is none of.
pub(super) async fn check_known(state: &AppState, tenant: &TenantId) -> Result<(), Refusal> {
    match find(state, tenant.as_str()).await? {
        Some(_) => Ok(()),
        None => Err(invalid("tenant", format!("there is no tenant {tenant}"))),
    }
}

/// The tenant that a path names.
pub(super) async fn known(state: &AppState, tenant: &str) -> Result<Tenant, Refusal> {
    find(state, tenant).await?.ok_or_else(|| unknown(tenant))
}

async fn find(state: &AppState, tenant: &str) -> Result<Option<Tenant>, Refusal> {
    let tenants = state.control.tenants().await?;
    Ok(tenants.into_iter().find(|known| known.id.as_str() == tenant))
}

fn unknown(tenant: &str) -> Refusal {
    let shown: String = tenant.chars().take(jari_units::limits::ID_MAX_LEN).collect();
    Refusal::new(Code::UnknownTenant).detail(format!("there is no tenant {shown:?}"))
}

fn view(state: &AppState, tenant: &Tenant) -> TenantView {
    let rooms = state.rooms.list().into_iter().map(|entry| entry.definition());
    let rooms = rooms.filter(|room| room.tenant == tenant.id);
    TenantView::new(tenant, rooms.map(|room| room.id.to_string()).collect())
}

/// Each once, in the one spelling that is kept.
fn read_all<T>(field: &'static str, texts: &[String], max: usize) -> Result<Vec<T>, Refusal>
where
    T: FromStr<Err: Display> + PartialEq,
{
    if texts.len() > max {
        return Err(invalid(field, format!("has more than {max}")));
    }
    let mut all = Vec::with_capacity(texts.len());
    for text in texts {
        let shown: String = text.chars().take(SHOWN_MAX_CHARS).collect();
        let read =
            text.parse::<T>().map_err(|error| invalid(field, format!("{shown:?} {error}")))?;
        if !all.contains(&read) {
            all.push(read);
        }
    }
    Ok(all)
}

fn check(body: &TenantBody) -> Result<(), Refusal> {
    if body.name.trim().is_empty() || body.name.len() > NAME_MAX_BYTES {
        return Err(invalid("name", format!("has 1 to {NAME_MAX_BYTES} bytes")));
    }
    check_one_line("name", &body.name)?;
    if body.rooms_max > ROOMS_MAX {
        return Err(invalid("rooms_max", format!("{} is above {ROOMS_MAX}", body.rooms_max)));
    }
    Ok(())
}
