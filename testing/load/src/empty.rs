//! Handlers that do nothing: the routes of a visitor and the gate, answering fixed bytes of the same size and headers as
//! Jari's, and a page for a site to be protected. What stands before them, `baseline` decides.

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

/// As long as a visitor token, so that joins carry as many bytes.
const VISITOR: &str = r#"{"visitor_token":"AQIBBQUFBQUFBQUFBQUFBQUFBQAAAAGjGFxQAAAAAaMYXFAAGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s-UTtjvqb9bC-0icEl9g-swCuxg","expires_at":"2027-01-15T08:01:00.000Z"}"#;
const VISITOR_COOKIE: &str = "jari_visitor=AQIBBQUFBQUFBQUFBQUFBQUFBQAAAAGjGFxQAAAAAaMYXFAAGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s-UTtjvqb9bC-0icEl9g-swCuxg; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000";

/// A place view as a waiting person gets it.
const PLACE: &str = r#"{"room":"bench","status":"waiting","seq":120134,"position":120134,"behind":0,"line":{"state":"open","serving":0,"served":0,"waiting":120134,"rate_per_s":0.0},"no_estimate":"unknown","poll_after_ms":9200,"stream":true,"place_token":"AQEBBWJlbmNoAAAAAAAAAAcAAAAAAAAEsQMDAwMDAwMDAwMDAwMDAwMAAAGjGFxQAAAAAaMYXTpgGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s","stream_key":"AQUBBWJlbmNoAAAAAAAAAAcAAAAAAAAEsQMDAwMDAwMDAwMDAwMDAwMAAAGjGF06YAAAAAAAAP7tGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s","server_time":"2027-01-15T08:00:00.000Z"}"#;
const PLACE_COOKIE: &str = "jari_place_bench=AQEBBWJlbmNoAAAAAAAAAAcAAAAAAAAEsQMDAwMDAwMDAwMDAwMDAwMAAAGjGFxQAAAAAaMYXTpgGciHwWi8Y_II3562KEE-lsIJlmGwDKEFEHgqvS1s; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400";

/// Of any state, so that they fit behind Jari's layers as well as before nothing.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let place = |status| async move || answer(status, PLACE, PLACE_COOKIE);
    Router::new()
        .route("/v1/visitors", post(async || answer(StatusCode::CREATED, VISITOR, VISITOR_COOKIE)))
        .route("/v1/rooms/{room}/places", post(place(StatusCode::CREATED)))
        .route("/v1/rooms/{room}/places/me", get(place(StatusCode::OK)))
        .route("/v1/gate/{room}", get(async || passed()))
        .route("/tickets/{page}", get(async || page()))
}

/// What the gate tells of a pass.
fn passed() -> Response {
    let told = [
        ("cache-control", "no-store"),
        ("jari-room", "bench"),
        ("jari-seq", "120134"),
        ("jari-subject", "00112233445566778899aabbccddeeff"),
        ("jari-pass-expires", "2027-01-15T08:10:00.000Z"),
    ];
    (StatusCode::NO_CONTENT, told).into_response()
}

/// As long as a small page.
fn page() -> Response {
    const PAGE: [u8; 2_048] = [b'x'; 2_048];
    ([(header::CONTENT_TYPE, "text/html")], PAGE).into_response()
}

fn answer(status: StatusCode, body: &'static str, cookie: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::SET_COOKIE, HeaderValue::from_static(cookie)),
    ];
    (status, headers, body).into_response()
}
