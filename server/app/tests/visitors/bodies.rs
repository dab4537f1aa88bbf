//! Requests that cannot be understood: a clear code for each, and never more than a problem.

use jari_testkit::{Answer, TestApp, Visitor};
use reqwest::{Body, Method};

use crate::still;

async fn post(visitor: &Visitor, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
    let request = visitor.request(Method::POST, path).header("content-type", kind).body(body);
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

#[tokio::test]
async fn bodies_are_checked() {
    const JSON: &str = "application/json";
    let app = TestApp::builder().set("http.body_max_bytes", 2_000).start().await;
    let room = app.create_room(still).await;
    let path = format!("/v1/rooms/{room}/places");
    let visitor = app.visitor();
    visitor.identify().await;
    for (body, kind, status, code) in [
        ("{".to_owned(), JSON, 400, "malformed_body"),
        ("[]".to_owned(), JSON, 400, "malformed_body"),
        (r#"{"entry": 7}"#.to_owned(), JSON, 400, "malformed_body"),
        (r#"{"entyr": "a"}"#.to_owned(), JSON, 400, "malformed_body"),
        ("\u{0}".to_owned(), JSON, 400, "malformed_body"),
        ("[".repeat(1_999), JSON, 400, "malformed_body"),
        ("{}".to_owned(), "text/plain", 415, "unsupported_media_type"),
        (" ".repeat(2_001), JSON, 413, "body_too_large"),
    ] {
        post(&visitor, &path, kind, body).await.problem(status, code);
    }
    // Without a declared length it is counted as it comes.
    let chunks = (0..100).map(|_| Ok::<_, std::io::Error>(vec![b' '; 100]));
    let body = Body::wrap_stream(futures_util::stream::iter(chunks));
    post(&visitor, &path, JSON, body).await.problem(413, "body_too_large");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
    let _ = post(&visitor, &path, JSON, "{}").await.expect(201);
}

/// What anybody may send, without a name or a key, is read only as far as a join needs.
#[tokio::test]
async fn a_join_is_held_to_what_a_join_needs() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let path = format!("/v1/rooms/{room}/places");
    let visitor = app.visitor();
    visitor.identify().await;
    let padded = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    post(&visitor, &path, "application/json", padded(16_385)).await.problem(413, "body_too_large");
    let _ = post(&visitor, &path, "application/json", padded(16_384)).await.expect(201);
}

#[tokio::test]
async fn addresses_and_methods_that_are_none_are_problems_too() {
    let app = TestApp::start().await;
    let visitor = app.visitor();
    visitor.get("/v1/nothing").await.problem(404, "not_found");
    let response = visitor.request(Method::PUT, "/v1/visitors").send().await.expect("sent");
    assert_eq!(response.status(), 405);
    assert!(response.headers().contains_key("allow"));
    assert_eq!(response.headers()["content-type"], "application/problem+json");
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let app = TestApp::builder().set("http.request_timeout_ms", 300).start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.identify().await;
    let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let path = format!("/v1/rooms/{room}/places");
    let answer = post(&visitor, &path, "application/json", Body::wrap_stream(never)).await;
    answer.problem(503, "deadline_exceeded");
}
