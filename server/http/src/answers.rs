//! Bodies and headers of answers that several handlers give. No refusals: those have their own file.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// JSON that nobody may keep.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("views hold only text and numbers");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, body).into_response()
}

/// An answer without a body.
pub(crate) fn no_content() -> Response {
    (StatusCode::NO_CONTENT, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))])
        .into_response()
}

/// Adds cookies to an answer.
pub(crate) fn with_cookies(mut response: Response, cookies: Vec<HeaderValue>) -> Response {
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}
