//! `POST /v1/rooms/{room}/admit`: the tenant lets people in beside the tick, by count or by name.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::{AdmitAnswer, AdmitRequest, Code, Granted, Problem};
use jari_line::{AdmitNow, AdmitNowOutcome};
use jari_ports::RoomDefinition;
use jari_units::limits::ADMIT_MAX;

use crate::answers::json;
use crate::api_keys::Caller;
use crate::handlers::admin::caller::ApiCaller;
use crate::handlers::admin::trail::{Step, ordered};
use crate::identity::named_subject;
use crate::json_body::JsonBody;
use crate::problem_response::Refusal;
use crate::request::RoomName;
use crate::state::AppState;

/// Admits the next in turn by count, or certain people wherever they are in line; at most 200.
#[utoipa::path(post, path = "/v1/rooms/{room}/admit", tag = "tenants",
    params(("room" = String, Path)),
    request_body = AdmitRequest,
    responses(
        (status = 200, body = AdmitAnswer),
        (status = 401, description = "api_key_required, api_key_invalid", body = Problem),
        (status = 403, description = "api_key_scope", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 422, description = "invalid_field", body = Problem),
        (status = 503, description = "recovering, store_unavailable", body = Problem)))]
pub(crate) async fn admit(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ApiCaller(caller): ApiCaller,
    JsonBody(body): JsonBody<AdmitRequest>,
) -> Result<Response, Refusal> {
    let entry = state.room_entry(&room)?;
    let definition = entry.definition();
    caller.require_tenant(&definition.tenant)?;
    let answer = admit_people(&state, &caller, &definition, body).await?;
    let (actor, room) = (caller.actor(), &definition.id);
    // Counts only: the names in the answer are people.
    let passes = answer.granted.iter().flatten().filter(|granted| granted.pass).count() as u64;
    let admitted = answer.called.unwrap_or(passes);
    tracing::info!(%room, %actor, admitted, "room {room}: {actor} admitted {admitted} beside the tick");
    Ok(json(StatusCode::OK, &answer))
}

/// Admits as `request` says and notes it in the audit trail; also what the operator's `admit` does.
///
/// # Errors
/// 422 `invalid_field`, 503.
pub(crate) async fn admit_people(
    state: &AppState,
    caller: &Caller,
    room: &RoomDefinition,
    request: AdmitRequest,
) -> Result<AdmitAnswer, Refusal> {
    let told = Step::made(&request);
    let (whom, names) = whom(state, room, request)?;
    let (_, runtime) = state.room(room.id.as_str()).await?;
    let what = ("room.admit", format!("room:{}", room.id));
    let act = async { Ok::<_, Refusal>(runtime.admit_now(whom).await?) };
    Ok(match ordered(state, caller, what, told, act).await? {
        AdmitNowOutcome::Called(called) => {
            AdmitAnswer { called: Some(called), ..AdmitAnswer::default() }
        }
        AdmitNowOutcome::MassAbsence => {
            AdmitAnswer { called: Some(0), mass_absence: true, ..AdmitAnswer::default() }
        }
        AdmitNowOutcome::Granted(grants) => {
            let granted = names.into_iter().zip(grants);
            let granted = granted
                .map(|(subject, grant)| Granted { subject, pass: grant.is_some() })
                .collect();
            AdmitAnswer { granted: Some(granted), ..AdmitAnswer::default() }
        }
    })
}

fn whom(
    state: &AppState,
    room: &RoomDefinition,
    request: AdmitRequest,
) -> Result<(AdmitNow, Vec<String>), Refusal> {
    let refuse = |field: &str, why: String| {
        Err(Refusal::new(Code::InvalidField).with("field", field).detail(why))
    };
    let bounds = 1..=ADMIT_MAX;
    match (request.count, request.subjects) {
        (Some(count), None) if bounds.contains(&count) => Ok((AdmitNow::Count(count), Vec::new())),
        (None, Some(names)) if bounds.contains(&(names.len() as u64)) => {
            let keys = names.iter().map(|name| named_subject(&state.keys(), room, name));
            Ok((AdmitNow::Subjects(keys.collect::<Result<_, _>>()?), names))
        }
        (Some(_), None) => refuse("count", format!("1 to {ADMIT_MAX} at a time")),
        (None, Some(_)) => refuse("subjects", format!("1 to {ADMIT_MAX} at a time")),
        _ => refuse("count", "either a count or subjects".into()),
    }
}
