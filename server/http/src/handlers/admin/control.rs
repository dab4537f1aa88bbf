//! Live control of a room: pause, open, close, announce, admit, and single people. Definitions are `rooms`.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::admin::{AnnounceRequest, Changed, CloseRequest, SoldOutRequest, SubjectsRequest};
use jari_api::{AdmitAnswer, AdmitRequest, Problem, Utc};
use jari_line::{Change, ChangeOutcome, ClosedNext, Control, RevokeOutcome};
use jari_units::SubjectKey;
use jari_units::limits::{ADMIT_MAX, NOTICE_MAX_BYTES};
use serde_json::{Value, json as value};

use super::caller::Admin;
use super::rooms::invalid;
use super::trail::{Step, ordered};
use crate::answers::json;
use crate::api_keys::Caller;
use crate::handlers::admit::admit_people;
use crate::identity::named_subject;
use crate::json_body::{JsonBody, OptionalJsonBody};
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::state::AppState;

type Answer = Result<Response, Refusal>;

/// What an operator orders: the action's name, what is looked at before it, and what it says.
struct Order<'a> {
    action: &'a str,
    before: fn(&Control) -> Value,
    told: Value,
}

/// Notes the order, carries it out, and says whether anything changed. What was before is as this node knows it.
async fn carry_out(
    state: &AppState,
    caller: &Caller,
    room: &str,
    order: Order<'_>,
    changes: Vec<Change>,
) -> Answer {
    let (entry, runtime) = state.room(room).await?;
    let what = (order.action, format!("room:{}", entry.definition().id));
    let before = runtime.read(|live| (order.before)(live.ledger().control()));
    let step = Step { before, after: order.told };
    let act = async {
        let mut changed = false;
        for change in changes {
            changed |= runtime.change(change).await? == ChangeOutcome::Changed;
        }
        Ok::<_, Refusal>(changed)
    };
    let changed = ordered(state, caller, what, step, act).await?;
    Ok(json(StatusCode::OK, &Changed { changed }))
}

fn paused(control: &Control) -> Value {
    value!({"paused": control.paused})
}

/// Nothing where the room is not closed.
fn closed(control: &Control) -> Value {
    let Some(next) = &control.closed else { return Value::Null };
    let (reopens_at, message) = (next.reopens_at.map(Utc), next.message.clone());
    value!(CloseRequest { reopens_at, message })
}

fn announced(control: &Control) -> Value {
    let text = control.notice.as_ref().map(|notice| notice.text.clone()).unwrap_or_default();
    value!(AnnounceRequest { text })
}

fn sold(control: &Control) -> Value {
    value!(SoldOutRequest { sold_out: control.sold_out })
}

/// What is known of single people is in the store alone.
fn unknown(_: &Control) -> Value {
    Value::Null
}

/// Stops admission; joining, waiting and passes go on.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/pause", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), responses((status = 200, body = Changed), (status = 404, body = Problem)))]
pub(crate) async fn pause(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
) -> Answer {
    let order = Order { action: "room.pause", before: paused, told: value!({"paused": true}) };
    carry_out(&state, &caller, &room, order, vec![Change::Pause]).await
}

/// Goes on after a pause.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/resume", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), responses((status = 200, body = Changed), (status = 404, body = Problem)))]
pub(crate) async fn resume(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
) -> Answer {
    let order = Order { action: "room.resume", before: paused, told: value!({"paused": false}) };
    carry_out(&state, &caller, &room, order, vec![Change::Resume]).await
}

/// Opens now, whatever `opens_at` says.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/open", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), responses((status = 200, body = Changed), (status = 404, body = Problem)))]
pub(crate) async fn open(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
) -> Answer {
    let order = Order { action: "room.open", before: closed, told: value!({}) };
    carry_out(&state, &caller, &room, order, vec![Change::Open]).await
}

/// Closes: nobody joins or is admitted, those waiting keep their places. `reopens_at` is in the future.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/close", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = CloseRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn close(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    OptionalJsonBody(body): OptionalJsonBody<CloseRequest>,
) -> Answer {
    check_words("message", &body.message)?;
    // The room would be open again in the same moment, and whoever ordered it would believe it closed.
    if body.reopens_at.is_some_and(|at| at.0 <= state.clock.now()) {
        return Err(invalid("reopens_at", "is not in the future"));
    }
    let told = value!(body);
    let reopens_at = body.reopens_at.map(|at| at.0);
    let change = Change::Close(ClosedNext { reopens_at, message: body.message });
    let order = Order { action: "room.close", before: closed, told };
    carry_out(&state, &caller, &room, order, vec![change]).await
}

/// Tells everybody in the room something; an empty text takes it back.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/announce", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = AnnounceRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn announce(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<AnnounceRequest>,
) -> Answer {
    tell(&state, &caller, &room, body).await
}

/// Announces; also what the tenant's `announce` does.
pub(crate) async fn tell(
    state: &AppState,
    caller: &Caller,
    room: &str,
    body: AnnounceRequest,
) -> Answer {
    check_words("text", &body.text)?;
    let order = Order { action: "room.announce", before: announced, told: value!(body) };
    carry_out(state, caller, room, order, vec![Change::Announce(body.text)]).await
}

/// Says that nothing is left, or that something is after all.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/sold-out", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SoldOutRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem)))]
pub(crate) async fn sold_out(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SoldOutRequest>,
) -> Answer {
    sell_out(&state, &caller, &room, body).await
}

/// Sells out; also what the tenant's `sold-out` does.
pub(crate) async fn sell_out(
    state: &AppState,
    caller: &Caller,
    room: &str,
    body: SoldOutRequest,
) -> Answer {
    let order = Order { action: "room.sold-out", before: sold, told: value!(body) };
    carry_out(state, caller, room, order, vec![Change::SoldOut(body.sold_out)]).await
}

/// Admits people now, beside the rate: the next in turn within the capacity, or these.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/admit", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = AdmitRequest,
    responses((status = 200, body = AdmitAnswer), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn admit(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<AdmitRequest>,
) -> Answer {
    let definition = state.room_entry(&room)?.definition();
    let answer = admit_people(&state, &caller, &definition, body).await?;
    Ok(json(StatusCode::OK, &answer))
}

/// Ends these people's places and passes, and refuses them from now on.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/block", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SubjectsRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn block(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SubjectsRequest>,
) -> Answer {
    people(&state, &caller, &room, "room.block", body, Change::Block).await
}

/// Takes a block back.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/unblock", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SubjectsRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn unblock(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SubjectsRequest>,
) -> Answer {
    people(&state, &caller, &room, "room.unblock", body, Change::Unblock).await
}

/// Admits these people whenever they join, and at once if they wait.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/allow", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SubjectsRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn allow(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SubjectsRequest>,
) -> Answer {
    people(&state, &caller, &room, "room.allow", body, Change::Allow).await
}

/// Takes an allowance back; a pass that was given stays.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/disallow", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SubjectsRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn disallow(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SubjectsRequest>,
) -> Answer {
    people(&state, &caller, &room, "room.disallow", body, Change::Disallow).await
}

/// Ends these people's passes; places in line are left alone.
#[utoipa::path(post, path = "/v1/admin/rooms/{room}/revoke", tag = "admin", security(("api_key" = [])),
    params(("room" = String, Path)), request_body = SubjectsRequest,
    responses((status = 200, body = Changed), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn revoke(
    State(state): State<AppState>,
    Admin(caller): Admin,
    RoomName(room): RoomName,
    JsonBody(body): JsonBody<SubjectsRequest>,
) -> Answer {
    let subjects = keys(&state, &room, &body)?;
    let (entry, runtime) = state.room(&room).await?;
    let what = ("room.revoke", format!("room:{}", entry.definition().id));
    let act = async { Ok::<_, Refusal>(runtime.revoke(subjects).await?) };
    let outcomes = ordered(&state, &caller, what, Step::made(value!(body)), act).await?;
    let changed = outcomes.contains(&RevokeOutcome::Revoked);
    Ok(json(StatusCode::OK, &Changed { changed }))
}

async fn people(
    state: &AppState,
    caller: &Caller,
    room: &str,
    action: &str,
    body: SubjectsRequest,
    change: fn(SubjectKey) -> Change,
) -> Answer {
    let changes = keys(state, room, &body)?.into_iter().map(change).collect();
    let order = Order { action, before: unknown, told: value!(body) };
    carry_out(state, caller, room, order, changes).await
}

/// What the people are stored under.
fn keys(state: &AppState, room: &str, body: &SubjectsRequest) -> Result<Vec<SubjectKey>, Refusal> {
    if !(1..=ADMIT_MAX).contains(&(body.subjects.len() as u64)) {
        return Err(invalid("subjects", format!("has 1 to {ADMIT_MAX} entries")));
    }
    let definition = state.room_entry(room)?.definition();
    let key = |name: &String| named_subject(&state.keys(), &definition, name);
    body.subjects.iter().map(key).collect()
}

fn check_words(field: &str, words: &str) -> Result<(), Refusal> {
    if words.len() > NOTICE_MAX_BYTES {
        return Err(invalid(field, format!("is longer than {NOTICE_MAX_BYTES} bytes")));
    }
    Ok(())
}
