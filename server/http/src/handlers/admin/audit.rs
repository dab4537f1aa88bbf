//! The audit trail, read only: nothing of this API changes or removes an entry.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::Problem;
use jari_api::admin::AuditPageView;
use serde::Deserialize;
use utoipa::IntoParams;

use super::caller::Admin;
use super::rooms::{check_one_line, invalid};
use crate::answers::json;
use crate::problem_response::Refusal;
use crate::query::Query;
use crate::state::AppState;

/// Entries a page where none is asked for.
const LIMIT_DEFAULT: u32 = 50;
/// Entries a page at most: the port's bound.
const LIMIT_MAX: u32 = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Only entries about this: `room:<id>`, `group:<id>` or `key:<id>`.
    target: Option<String>,
    /// Only entries below this number.
    before_no: Option<u64>,
    /// Entries at most, 1 to 200; 50 where it is left out.
    limit: Option<u32>,
}

/// Who did what, newest first.
#[utoipa::path(get, path = "/v1/admin/audit", tag = "admin", security(("api_key" = [])), params(AuditQuery),
    responses((status = 200, body = AuditPageView), (status = 422, body = Problem)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    _admin: Admin,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Refusal> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit} is not in 1..={LIMIT_MAX}")));
    }
    if let Some(target) = &query.target {
        check_one_line("target", target)?;
    }
    let page = state.control.audit(query.target, query.before_no, limit).await?;
    let entries = page.entries.into_iter().map(Into::into).collect();
    let view = AuditPageView { entries, next_before_no: page.next_before_no };
    Ok(json(StatusCode::OK, &view))
}
