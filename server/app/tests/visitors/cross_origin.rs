//! Pages of other origins: the visitors' API for those that the room's tenant lists, nothing for anybody else.

use jari_testkit::{Answer, TestApp};
use reqwest::Method;
use serde_json::json;

use crate::open;

const LISTED: &str = "https://app.example";
const OTHER: &str = "https://evil.example";

/// A tenant with a list and its room, and another tenant's room.
async fn stage() -> TestApp {
    let app = TestApp::start().await;
    let body = json!({"name": "Opera", "cors_origins": ["https://APP.example:443/", "http://localhost:3000"]});
    app.operator().put("/v1/admin/tenants/opera", &body).await.expect(200);
    app.create_room(|room| {
        open(room);
        room.tenant = Some("opera".to_owned());
    })
    .await;
    app.create_room(|room| room.room = "other".to_owned()).await;
    app
}

async fn call(app: &TestApp, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = app.visitor().request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

async fn preflight(app: &TestApp, path: &str, origin: &str) -> Answer {
    let asked = [("origin", origin), ("access-control-request-method", "POST")];
    call(app, Method::OPTIONS, path, &asked).await
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[tokio::test]
async fn issue_5_browsers_are_told_beforehand_whose_pages_may_call() {
    let app = stage().await;
    for path in [
        "/v1/visitors",
        "/v1/rooms/room",
        "/v1/rooms/room/places",
        "/v1/rooms/room/places/me",
        "/v1/rooms/room/events",
        "/.jari/v1/rooms/room/places",
    ] {
        let answer = preflight(&app, path, LISTED).await.expect(204);
        assert_eq!(allowed(&answer), Some(LISTED), "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(answer.header("vary"), Some("origin"));
        let (methods, headers) = ("access-control-allow-methods", "access-control-allow-headers");
        assert!(answer.header(methods).is_some_and(|names| names.contains("POST")), "{answer:?}");
        assert!(
            answer.header(headers).is_some_and(|names| names.contains("authorization")),
            "{answer:?}"
        );
        for origin in [OTHER, "null", "https://app.example.evil.example", "http://app.example", "*"]
        {
            let answer = preflight(&app, path, origin).await;
            assert_eq!((answer.status.as_u16(), allowed(&answer)), (405, None), "{path} {origin}");
        }
    }
    // Neither another tenant's rooms, nor what is for servers and operators.
    for path in [
        "/v1/rooms/other/places",
        "/v1/rooms/none/places",
        "/v1/rooms/room/entries",
        "/v1/rooms/room/admit",
        "/v1/gate/room",
        "/v1/admin/rooms",
        "/rooms/room",
    ] {
        let answer = preflight(&app, path, LISTED).await;
        assert!(allowed(&answer).is_none() && answer.status != 204, "{path}: {answer:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn issue_5_answers_may_be_read_by_listed_pages_only() {
    let app = stage().await;
    for (origin, want) in [(LISTED, Some(LISTED)), (OTHER, None)] {
        let visitor =
            call(&app, Method::POST, "/v1/visitors", &[("origin", origin)]).await.expect(201);
        assert_eq!(allowed(&visitor), want);
        let token = visitor.json::<jari_api::VisitorCreated>().visitor_token;
        let bearer = format!("Bearer {token}");
        let headers = [("origin", origin), ("authorization", bearer.as_str())];
        let joined = call(&app, Method::POST, "/v1/rooms/room/places", &headers).await.expect(201);
        assert_eq!(allowed(&joined), want);
        // A refusal as well: a page has to know why, and when to come back.
        let refused =
            call(&app, Method::GET, "/v1/rooms/room/places/me", &[("origin", origin)]).await;
        assert_eq!((refused.status.as_u16(), allowed(&refused)), (401, want));
        let exposed = refused.header("access-control-expose-headers");
        assert_eq!(exposed.is_some_and(|names| names.contains("retry-after")), want.is_some());
        // What a cache may keep for a second says that its answer is not the same for every page.
        let view =
            call(&app, Method::GET, "/v1/rooms/room", &[("origin", origin)]).await.expect(200);
        assert_eq!((allowed(&view), view.header("vary")), (want, Some("origin")));
    }
    let view = call(&app, Method::GET, "/v1/rooms/room", &[]).await.expect(200);
    assert_eq!((allowed(&view), view.header("vary")), (None, Some("origin")));
    let other = call(&app, Method::GET, "/v1/rooms/other", &[("origin", LISTED)]).await.expect(200);
    assert_eq!(allowed(&other), None);
    // What is taken from the list is refused from then on.
    let body = json!({"name": "Opera"});
    app.operator().put("/v1/admin/tenants/opera", &body).await.expect(200);
    let view = call(&app, Method::GET, "/v1/rooms/room", &[("origin", LISTED)]).await.expect(200);
    assert_eq!(allowed(&view), None);
    app.stop().await;
}
