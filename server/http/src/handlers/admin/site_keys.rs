//! The keys that sign tokens for a tenant's sites: list, rotate, end. A private key is in no answer.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::admin::{RotateBody, SiteKeyList, SiteKeyView};
use jari_api::{Code, Problem};
use jari_pass::{KeyTimes, rotation, signer};
use jari_ports::ControlError;
use jari_units::{Millis, TenantId};
use serde_json::json as value;

use super::caller::Admin;
use super::keys::check_overlap;
use super::rooms::{check_one_line, invalid};
use super::tenants::known;
use super::trail::{Step, entry};
use crate::answers::{json, no_content};
use crate::json_body::OptionalJsonBody;
use crate::path::Path;
use crate::problem_response::Refusal;
use crate::site_keys::fresh;
use crate::state::AppState;

/// Keys of a tenant that are good at once: every site reads them all, and more are a mistake.
const KEYS_MAX: usize = 8;

/// The keys, ended ones too.
#[utoipa::path(get, path = "/v1/admin/tenants/{tenant}/site-keys", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path)), responses((status = 200, body = SiteKeyList), (status = 404, body = Problem)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    _admin: Admin,
    Path(tenant): Path<String>,
) -> Result<Response, Refusal> {
    let tenant = known(&state, &tenant).await?.id;
    of(&state, &tenant).await
}

/// Makes a new key, which signs once every site can know it; the others end after the overlap.
#[utoipa::path(post, path = "/v1/admin/tenants/{tenant}/site-keys/rotate", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path)), request_body = Option<RotateBody>,
    responses((status = 200, body = SiteKeyList), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn rotate(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(tenant): Path<String>,
    OptionalJsonBody(body): OptionalJsonBody<RotateBody>,
) -> Result<Response, Refusal> {
    check_overlap(body.overlap_ms)?;
    let mut turn = state.turn().await?;
    let tenant = known(&state, &tenant).await?.id;
    let now = state.clock.now();
    if body.overlap_ms > 0 && state.site_keys.count(&tenant, now) >= KEYS_MAX {
        let problem = format!("{KEYS_MAX} keys are good already: wait for one to end, or take 0");
        return Err(invalid("overlap_ms", problem));
    }
    let (signs_from, others_end_at) = rotation(now, Millis(body.overlap_ms));
    let key = fresh(&*state.entropy, tenant.clone(), (now, signs_from));
    let told = Step::made(value!({"key": key.id, "overlap_ms": body.overlap_ms}));
    let entry = entry(&state, &caller, "site-key.rotate", format!("tenant:{tenant}"), &told);
    state.control.add_site_key(key, others_end_at, entry).await?;
    turn.wrote();
    state.site_keys.reload().await?;
    of(&state, &tenant).await
}

/// Ends a key that was replaced, before its overlap is over: nothing that it signed is good from now on. Idempotent.
#[utoipa::path(delete, path = "/v1/admin/tenants/{tenant}/site-keys/{id}", tag = "admin", security(("api_key" = [])),
    params(("tenant" = String, Path), ("id" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn end(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path((tenant, id)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    check_one_line("id", &id)?;
    let mut turn = state.turn().await?;
    let tenant = known(&state, &tenant).await?.id;
    let now = state.clock.now();
    let told = Step::made(value!({"key": id}));
    let entry = entry(&state, &caller, "site-key.end", format!("tenant:{tenant}"), &told);
    match state.control.end_site_key(&tenant, &id, now, entry).await {
        Err(ControlError::NotFound(_)) => return Err(Refusal::new(Code::UnknownKey)),
        Err(ControlError::InUse(_)) => {
            return Err(invalid("id", "is the newest key's: rotate it, and it ends by itself"));
        }
        ended => ended?,
    }
    turn.wrote();
    state.site_keys.reload().await?;
    Ok(no_content())
}

async fn of(state: &AppState, tenant: &TenantId) -> Result<Response, Refusal> {
    let all = state.control.site_keys().await?;
    let of: Vec<_> = all.iter().filter(|key| key.tenant == *tenant).collect();
    let times: Vec<_> = of
        .iter()
        .map(|key| KeyTimes { signs_from: key.signs_from, ends_at: key.ends_at })
        .collect();
    let signing = signer(&times, state.clock.now());
    let views = of.iter().enumerate();
    let keys = views.map(|(at, key)| SiteKeyView::new(key, signing == Some(at))).collect();
    Ok(json(StatusCode::OK, &SiteKeyList { keys }))
}
