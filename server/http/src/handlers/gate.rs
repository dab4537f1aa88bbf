//! `GET /v1/gate/{room}`: whether a request may pass to what the room protects (forward auth). Each proxy has its own way
//! of asking; what is decided is the same.

use std::net::IpAddr;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use jari_api::{Code, Problem};
use jari_ports::RoomDefinition;
use serde::Deserialize;

use crate::answers::{no_content, with_cookies};
use crate::cookies;
use crate::gate::{self, Passage};
use crate::original_url::{WaysBack, original, room_url};
use crate::problem_response::Refusal;
use crate::query::Query;
use crate::reader::{Page, Reader};
use crate::request::{ClientAddress, Headers, RoomName};
use crate::state::AppState;

/// Before the room in the address of a check.
const PREFIX: &str = "/v1/gate/";

/// How a proxy wants to be answered that does not understand every status.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct GateQuery {
    refused: Option<RefusedAs>,
    passed: Option<PassedAs>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum RefusedAs {
    #[serde(rename = "401")]
    Unauthorized,
    #[serde(rename = "403")]
    Forbidden,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum PassedAs {
    #[serde(rename = "307")]
    Redirect,
}

/// A check: what was asked for, and how a good pass is answered.
struct Asked<'a> {
    method: Method,
    address: IpAddr,
    headers: &'a HeaderMap,
    original: Option<&'a str>,
    passed: StatusCode,
    /// Of a refusal the proxy takes the status alone, and hands nothing on.
    keeps_refusal: bool,
}

/// 204 with a good pass; the first use claims it. Else the way to the room: 303 for people who go from page to page, 428
/// for programs. `refused=401` gives each refusal that status, for proxies that know few; `passed=307` answers a good pass
/// with the way to what was asked for. The cookies of a yes, and of a refusal with `refused`, are also in `Jari-Set-Pass`,
/// `Jari-Set-Place` and `Jari-Set-Visitor`, one in each, for proxies that cannot hand on several `Set-Cookie`. Below this
/// address (`/v1/gate/{room}/tickets/1`), where Envoy asks by any method, the rest is what was asked for, and a good pass gets
/// 200.
#[utoipa::path(get, path = "/v1/gate/{room}", tag = "gate",
    params(("room" = String, Path),
        ("refused" = Option<String>, Query, description = "`401` or `403`: the status of every refusal"),
        ("passed" = Option<String>, Query, description = "`307`: a good pass is led to what was asked for")),
    responses(
        (status = 204, description = "Let the request pass", headers(
            ("jari-room" = String), ("jari-seq" = u64), ("jari-subject" = String), ("jari-pass-expires" = String),
            ("jari-set-pass" = String), ("jari-set-place" = String), ("jari-set-visitor" = String))),
        (status = 303, description = "For people: to the room's page"),
        (status = 400, description = "bad_request: refused or passed is none of those", body = Problem),
        (status = 404, description = "unknown_room", body = Problem),
        (status = 428, description = "pass_required", body = Problem),
        (status = 429, description = "too_many_requests", body = Problem),
        (status = 503, description = "store_unavailable, recovering", body = Problem)))]
pub(crate) async fn check(
    State(state): State<AppState>,
    RoomName(room): RoomName,
    ClientAddress(address): ClientAddress,
    Query(query): Query<GateQuery>,
    method: Method,
    Headers(headers): Headers,
) -> Response {
    let passed = match query.passed {
        Some(PassedAs::Redirect) => StatusCode::TEMPORARY_REDIRECT,
        None => StatusCode::NO_CONTENT,
    };
    let original = original(&headers);
    let original = original.as_deref();
    let keeps_refusal = query.refused.is_some();
    let asked = Asked { method, address, headers: &headers, original, passed, keeps_refusal };
    let mut answer = answer(&state, &room, &asked).await;
    let refused = !answer.status().is_success() && answer.status() != passed;
    if let Some(status) = query.refused.filter(|_| refused) {
        *answer.status_mut() = match status {
            RefusedAs::Unauthorized => StatusCode::UNAUTHORIZED,
            RefusedAs::Forbidden => StatusCode::FORBIDDEN,
        };
    }
    answer
}

/// As Envoy asks: by the method and below the path of the check, and it takes 200 alone for a yes.
pub(crate) async fn check_below(
    State(state): State<AppState>,
    uri: Uri,
    method: Method,
    ClientAddress(address): ClientAddress,
    Headers(headers): Headers,
) -> Response {
    // As it was written: a decoded text would be another address.
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    let below = target.strip_prefix(PREFIX).unwrap_or_default();
    let (room, original) = below.split_at(below.find('/').unwrap_or(below.len()));
    let (original, passed) = (Some(original), StatusCode::OK);
    let keeps_refusal = false;
    let asked = Asked { method, address, headers: &headers, original, passed, keeps_refusal };
    answer(&state, room, &asked).await
}

async fn answer(state: &AppState, room: &str, asked: &Asked<'_>) -> Response {
    let decided = decide(state, room, asked).await;
    decided.unwrap_or_else(|refusal| Reader::of(&asked.method, asked.headers).refused(refusal))
}

async fn decide(state: &AppState, room: &str, asked: &Asked<'_>) -> Result<Response, Refusal> {
    let entry = state.room_entry(room)?;
    let definition = entry.definition();
    match gate::check(state, &entry, asked.headers, asked.address).await? {
        Passage::Refused { reason, poll_after, cookies } => {
            let url = room_url(state, &definition, asked.original);
            let page = Page { location: &url, room_url: &url };
            let reader = Reader::of(&asked.method, asked.headers);
            let secure = state.options.secure();
            let mut sent = reader.sent_to_room(&definition, page, (reason, poll_after), secure);
            if asked.keeps_refusal {
                set_apart(&mut sent, &cookies);
            }
            Ok(with_cookies(sent, cookies))
        }
        passage => {
            let mut response = passed(state, &definition, asked);
            passage.tell_site(&definition.id, response.headers_mut());
            let cookies = passage.into_cookies();
            if response.status().is_success() {
                set_apart(&mut response, &cookies);
            }
            Ok(with_cookies(response, cookies))
        }
    }
}

/// Shows each cookie alone, where the proxy keeps the answer to itself: in one that it hands on, scripts could read what a
/// cookie hides from them.
fn set_apart(response: &mut Response, cookies: &[HeaderValue]) {
    for cookie in cookies {
        if let Some(name) = cookies::apart(cookie) {
            response.headers_mut().insert(name, cookie.clone());
        }
    }
}

fn passed(state: &AppState, room: &RoomDefinition, asked: &Asked<'_>) -> Response {
    let mut response = no_content();
    *response.status_mut() = asked.passed;
    if asked.passed == StatusCode::TEMPORARY_REDIRECT {
        let ways = WaysBack::of(state, room);
        let to = asked.original.and_then(|told| ways.to(told));
        let to = to.and_then(|to| HeaderValue::try_from(to).ok());
        let to = to.or_else(|| HeaderValue::from_str(&room.target_url).ok());
        // A target that is no header is none that anybody could be sent to.
        let Some(to) = to else { return Refusal::new(Code::Internal).into_response() };
        response.headers_mut().insert(LOCATION, to);
    }
    response
}
