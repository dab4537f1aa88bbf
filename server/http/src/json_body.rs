//! JSON bodies within their limits, each failure with a problem of its own.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use jari_api::Code;
use serde::de::DeserializeOwned;

use crate::problem_response::Refusal;
use crate::state::AppState;

/// Bytes of a body that may be left out: an entry token, or a few words. These are read for anybody who asks, so twenty
/// thousand of them at once must not fill the memory.
const OPTIONAL_MAX_BYTES: usize = 16 * 1024;

/// A JSON body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonBody<T>(pub T);

/// A JSON body that may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionalJsonBody<T>(pub T);

/// Headers, and a JSON body that may be left out. The headers are moved out of the request, not copied.
#[derive(Clone, Debug)]
pub(crate) struct HeadersAndBody<T> {
    pub headers: HeaderMap,
    pub body: T,
}

impl<T: DeserializeOwned> FromRequest<AppState> for JsonBody<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, state: &AppState) -> Result<Self, Refusal> {
        let json = is_json(request.headers());
        let body = read(request.into_body(), state, state.options.body_max_bytes).await?;
        if body.is_empty() {
            return Err(Refusal::new(Code::MalformedBody).detail("a JSON body is expected here"));
        }
        parse(&body, json).map(JsonBody)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<AppState> for OptionalJsonBody<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, state: &AppState) -> Result<Self, Refusal> {
        let HeadersAndBody { body, .. } = HeadersAndBody::from_request(request, state).await?;
        Ok(OptionalJsonBody(body))
    }
}

impl<T: DeserializeOwned + Default> FromRequest<AppState> for HeadersAndBody<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, state: &AppState) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let limit = state.options.body_max_bytes.min(OPTIONAL_MAX_BYTES);
        let body = read(body, state, limit).await?;
        if body.is_empty() {
            return Ok(HeadersAndBody { headers, body: T::default() });
        }
        let body = parse(&body, is_json(&headers))?;
        Ok(HeadersAndBody { headers, body })
    }
}

/// `application/json`, or a type that is JSON underneath (RFC 6839).
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|text| text.split(';').next()).unwrap_or("").trim();
    let essence = essence.to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

async fn read(body: Body, state: &AppState, limit: usize) -> Result<Bytes, Refusal> {
    // Most joins have none, and need no future that waits for one.
    if body.is_end_stream() {
        Ok(Bytes::new())
    } else {
        Box::pin(collect(body, state, limit)).await
    }
}

async fn collect(body: Body, state: &AppState, limit: usize) -> Result<Bytes, Refusal> {
    let collected =
        tokio::time::timeout(state.options.deadlines.body, Limited::new(body, limit).collect());
    match collected.await {
        Err(_) => Err(Refusal::new(Code::RequestTimeout)),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Refusal::new(Code::BodyTooLarge).detail(format!("at most {limit} bytes")))
        }
        // The client went away, or broke the framing.
        Ok(Err(_)) => Err(Refusal::new(Code::BadRequest).detail("the body broke off")),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8], json: bool) -> Result<T, Refusal> {
    if !json {
        return Err(Refusal::new(Code::UnsupportedMediaType));
    }
    // Serde would take an array for a structure as well.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Refusal::new(Code::MalformedBody).detail("a JSON object is expected here"));
    }
    serde_json::from_slice(body)
        .map_err(|error| Refusal::new(Code::MalformedBody).detail(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        for (value, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/merge-patch+json", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            let request = Request::builder().header(CONTENT_TYPE, value);
            let request = request.body(Body::empty()).expect("a request");
            assert_eq!(is_json(request.headers()), json, "{value:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_said() {
        let refused = |body: &str, json| {
            parse::<jari_api::EntryRequest>(body.as_bytes(), json).expect_err("bad").code()
        };
        assert_eq!(refused("{", true), Code::MalformedBody);
        assert_eq!(refused("{}", true), Code::MalformedBody);
        assert_eq!(refused(r#"["a"]"#, true), Code::MalformedBody);
        assert_eq!(refused(r#"{"subject": "a", "admin": true}"#, true), Code::MalformedBody);
        assert_eq!(refused(r#"{"subject": "a"}"#, false), Code::UnsupportedMediaType);
    }
}
