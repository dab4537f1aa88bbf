//! Limit groups: what several rooms share. Which room is in which group is the room's definition.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use jari_api::admin::{GroupBody, GroupList, GroupView};
use jari_api::{Code, Problem};
use jari_line::GroupSettings;
use jari_ports::LimitGroup;
use jari_units::GroupId;

use super::caller::Admin;
use super::if_match::match_version;
use super::rooms::invalid;
use super::trail::{Step, entry};
use crate::answers::{json, no_content};
use crate::json_body::JsonBody;
use crate::path::Path;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// The line's own bound on counts of a room; a group is not larger.
const COUNT_MAX: u64 = 100_000_000;

/// All limit groups.
#[utoipa::path(get, path = "/v1/admin/groups", tag = "admin", security(("api_key" = [])),
    responses((status = 200, body = GroupList)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    _admin: Admin,
) -> Result<Response, Refusal> {
    let groups = state.control.groups().await?;
    let groups = groups.iter().map(|group| view(&state, group)).collect();
    Ok(json(StatusCode::OK, &GroupList { groups }))
}

/// One limit group.
#[utoipa::path(get, path = "/v1/admin/groups/{group}", tag = "admin", security(("api_key" = [])),
    params(("group" = String, Path)), responses((status = 200, body = GroupView), (status = 404, body = Problem)))]
pub(crate) async fn read(
    State(state): State<AppState>,
    _admin: Admin,
    Path(group): Path<String>,
) -> Result<Response, Refusal> {
    let found = find(&state, &group).await?.ok_or_else(|| unknown(&group))?;
    Ok(json(StatusCode::OK, &view(&state, &found)))
}

/// Makes a limit group, or sets all limits of one.
#[utoipa::path(put, path = "/v1/admin/groups/{group}", tag = "admin", security(("api_key" = [])),
    params(("group" = String, Path), ("If-Match" = Option<String>, Header)), request_body = GroupBody,
    responses((status = 200, body = GroupView), (status = 412, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn put(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(group): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<GroupBody>,
) -> Result<Response, Refusal> {
    let id: GroupId =
        group.parse().map_err(|error: jari_units::IdError| invalid("group", error.to_string()))?;
    let mut turn = state.turn().await?;
    let old = find(&state, &group).await?;
    let version = old.as_ref().map_or(0, |old| old.version);
    match_version(&headers, version)?;
    let settings = body.to_settings().map_err(|error| invalid("rate_per_s", error.to_string()))?;
    check(&settings)?;
    let new = LimitGroup { id, settings, version };
    let stored = LimitGroup { version: version + 1, ..new.clone() };
    let view = view(&state, &stored);
    let before = old.map(|old| GroupView::new(&old, Vec::new()));
    let step = Step::changed(before, &view);
    let entry = entry(&state, &caller, "group.set", format!("group:{}", new.id), &step);
    state.control.put_group(new, entry).await?;
    turn.wrote();
    state.rooms.upsert_group(stored).await?;
    Ok(json(StatusCode::OK, &view))
}

/// Deletes a limit group that no room is in.
#[utoipa::path(delete, path = "/v1/admin/groups/{group}", tag = "admin", security(("api_key" = [])),
    params(("group" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn delete(
    State(state): State<AppState>,
    Admin(caller): Admin,
    Path(group): Path<String>,
) -> Result<Response, Refusal> {
    let mut turn = state.turn().await?;
    let old = find(&state, &group).await?.ok_or_else(|| unknown(&group))?;
    let step = Step::gone(GroupView::new(&old, Vec::new()));
    let entry = entry(&state, &caller, "group.delete", format!("group:{}", old.id), &step);
    state.control.delete_group(&old.id, entry).await?;
    turn.wrote();
    state.rooms.remove_group(&old.id).await;
    Ok(no_content())
}

async fn find(state: &AppState, group: &str) -> Result<Option<LimitGroup>, Refusal> {
    let groups = state.control.groups().await?;
    Ok(groups.into_iter().find(|known| known.id.as_str() == group))
}

fn unknown(group: &str) -> Refusal {
    let shown: String = group.chars().take(jari_units::limits::ID_MAX_LEN).collect();
    Refusal::new(Code::UnknownGroup).detail(format!("there is no limit group {shown:?}"))
}

fn view(state: &AppState, group: &LimitGroup) -> GroupView {
    let rooms = state.rooms.list().into_iter().map(|entry| entry.definition());
    let rooms = rooms.filter(|room| room.group.as_ref() == Some(&group.id));
    GroupView::new(group, rooms.map(|room| room.id.to_string()).collect())
}

fn check(settings: &GroupSettings) -> Result<(), Refusal> {
    for (field, value, min) in [("capacity", settings.capacity, 0), ("burst", settings.burst, 1)] {
        if !(min..=COUNT_MAX).contains(&value) {
            return Err(invalid(field, format!("{value} is not in {min}..={COUNT_MAX}")));
        }
    }
    Ok(())
}
