//! Pages of other origins that call from browsers (CORS, <https://fetch.spec.whatwg.org/#http-cors-protocol>): those that the
//! room's tenant lists may use the visitors' API, with credentials. Knows no handler.

use axum::extract::Request;
use axum::response::Response;
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
    FORWARDED, HOST, ORIGIN, USER_AGENT, VARY, VIA,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jari_units::TenantId;

use crate::answers::no_content;
use crate::protect::PREFIX;
use crate::state::AppState;
use crate::tenants::lists;

/// How long a browser need not ask again, in seconds: a list that was made shorter counts after so long at the latest.
const MAX_AGE_S: &str = "600";
const METHODS: &str = "GET, POST, DELETE";
/// What callers of the visitors' API send.
const HEADERS: &str = "authorization, content-type, last-event-id";
/// What a page may read beside the body.
const EXPOSED: &str = "retry-after, jari-call";

/// What a preflight needs to say to a site, and who asks. Nothing else reaches it: a header could turn the question into
/// another request.
const OF_A_PREFLIGHT: [HeaderName; 10] = [
    ORIGIN,
    ACCESS_CONTROL_REQUEST_METHOD,
    ACCESS_CONTROL_REQUEST_HEADERS,
    HOST,
    ACCEPT,
    USER_AGENT,
    VIA,
    FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// Whose part of the visitors' API it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose<'a> {
    /// An identity is for all rooms.
    Anybodys,
    Room(&'a str),
}

/// What CORS has to do with a request.
#[derive(Debug)]
pub(crate) enum Cors {
    /// No page of another origin calls, or it may not.
    Nothing,
    /// The page of this origin may read the answer.
    Allowed(HeaderValue),
    /// A page may call: the answer to the browser, which asked before.
    Answered(Response),
}

/// Looks at a request to this server.
pub(crate) fn look(state: &AppState, request: &Request) -> Cors {
    let Some(origin) = request.headers().get(ORIGIN) else { return Cors::Nothing };
    let Some(whose) = whose(request.uri().path()) else { return Cors::Nothing };
    if !is_listed(state, whose, origin) {
        return Cors::Nothing;
    }
    if !is_preflight(request.method(), request.headers()) {
        return Cors::Allowed(origin.clone());
    }
    let mut response = no_content();
    allow(&mut response, origin.clone());
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_S));
    Cors::Answered(response)
}

/// Lets the page of a listed origin read an answer.
pub(crate) fn allow(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.insert(VARY, HeaderValue::from_static("origin"));
}

/// The origin that a request comes from, where it is on the tenant's list.
pub(crate) fn listed<'a>(
    state: &AppState,
    tenant: &TenantId,
    headers: &'a HeaderMap,
) -> Option<&'a HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let tenant = state.tenants.get(tenant)?;
    lists(&tenant, origin.to_str().ok()?).then_some(origin)
}

/// Whether a browser asks before it calls.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Leaves of a preflight what makes it one.
pub(crate) fn bare(parts: &mut Parts) {
    let mut headers = HeaderMap::with_capacity(OF_A_PREFLIGHT.len());
    for name in OF_A_PREFLIGHT {
        for value in parts.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    parts.headers = headers;
}

fn is_listed(state: &AppState, whose: Whose<'_>, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    match whose {
        Whose::Anybodys => state.tenants.any_lists(origin),
        Whose::Room(room) => state
            .room_entry(room)
            .ok()
            .and_then(|entry| state.tenants.get(&entry.definition().tenant))
            .is_some_and(|tenant| lists(&tenant, origin)),
    }
}

/// The visitors' API, also below the folder on a site's own origin. The tenant's part of it is for servers.
fn whose(path: &str) -> Option<Whose<'_>> {
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    if path == "/v1/visitors" {
        return Some(Whose::Anybodys);
    }
    let below = path.strip_prefix("/v1/rooms/")?;
    let (room, what) = below.split_once('/').unwrap_or((below, ""));
    matches!(what, "" | "challenge" | "places" | "places/me" | "events")
        .then_some(Whose::Room(room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_may_call_what_visitors_need_and_nothing_else() {
        for (path, want) in [
            ("/v1/visitors", Some(Whose::Anybodys)),
            ("/v1/rooms/shop", Some(Whose::Room("shop"))),
            ("/v1/rooms/shop/places", Some(Whose::Room("shop"))),
            ("/.jari/v1/rooms/shop/places/me", Some(Whose::Room("shop"))),
            ("/v1/rooms/shop/events", Some(Whose::Room("shop"))),
            ("/v1/rooms/shop/challenge", Some(Whose::Room("shop"))),
            ("/v1/rooms/shop/entries", None),
            ("/v1/rooms/shop/admit", None),
            ("/v1/rooms/shop/places/me/x", None),
            ("/v1/gate/shop", None),
            ("/v1/admin/rooms", None),
            ("/rooms/shop", None),
            ("/.jari/.jari/v1/visitors", None),
        ] {
            assert_eq!(whose(path), want, "{path}");
        }
    }

    #[test]
    fn of_a_preflight_nothing_is_left_that_could_make_it_another_request() {
        let request = http::Request::builder()
            .method("OPTIONS")
            .uri("/tickets")
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
            .header("x-http-method-override", "GET")
            .header("cookie", "sid=1")
            .header("authorization", "Bearer x")
            .header("upgrade", "websocket");
        let (mut parts, ()) = request.body(()).expect("a request").into_parts();
        assert!(is_preflight(&parts.method, &parts.headers));
        bare(&mut parts);
        let mut left: Vec<_> = parts.headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["access-control-request-method", "origin"]);
        assert!(!is_preflight(&Method::GET, &parts.headers));
    }
}
