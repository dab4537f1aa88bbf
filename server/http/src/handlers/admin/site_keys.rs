//! The keys that sign tokens for a tenant's sites: list and rotate. A private key is in no answer.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use jari_api::Problem;
use jari_api::admin::{RotateBody, SiteKeyList};
use jari_pass::rotation;
use jari_units::{Millis, TenantId};
use serde_json::json as value;

use super::caller::Admin;
use super::keys::check_overlap;
use super::rooms::invalid;
use super::tenants::known;
use super::trail::{Step, entry};
use crate::answers::json;
use crate::json_body::OptionalJsonBody;
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

async fn of(state: &AppState, tenant: &TenantId) -> Result<Response, Refusal> {
    let keys = state.control.site_keys().await?;
    let keys = keys.iter().filter(|key| key.tenant == *tenant).map(Into::into).collect();
    Ok(json(StatusCode::OK, &SiteKeyList { keys }))
}
