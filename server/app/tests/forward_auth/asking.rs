//! How proxies ask: each has its own way, what is decided is the same. Without a proxy between.

use jari_testkit::{Answer, TestApp, Visitor, eventually};
use reqwest::Method;

use crate::stage::{ask, navigation};

async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.create_room(|room| {
        room.room = "shop".to_owned();
        room.settings.rate_per_s = 1_000.0;
    })
    .await;
    app
}

async fn admitted(app: &TestApp) -> Visitor {
    let visitor = app.visitor();
    visitor.wait_in("shop").await;
    eventually("the visitor is admitted", async || {
        visitor.poll("shop").await;
        (visitor.gate("shop").await.status == 204).then_some(())
    })
    .await;
    visitor
}

async fn get(visitor: &Visitor, path: &str) -> Answer {
    ask(visitor.request(Method::GET, path).header("x-original-uri", "/tickets/1?a=b")).await
}

#[tokio::test]
async fn a_proxy_that_knows_few_statuses_is_told_in_one() {
    let app = app().await;
    let (with, without) = (admitted(&app).await, app.visitor());
    for (query, refused) in [("?refused=401", 401), ("?refused=403", 403), ("", 428)] {
        let path = format!("/v1/gate/shop{query}");
        assert_eq!(get(&without, &path).await.status.as_u16(), refused, "{query}");
        let _ = get(&with, &path).await.expect(204);
    }
    let _ = get(&without, "/v1/gate/none?refused=401").await.expect(401);
    for query in ["?refused=200", "?refused=204", "?passed=200", "?refused="] {
        get(&without, &format!("/v1/gate/shop{query}")).await.problem(400, "bad_request");
    }
    // People are sent to the room, with the way back.
    let request =
        without.request(Method::GET, "/v1/gate/shop").header("x-original-uri", "/tickets/1?a=b");
    let answer = ask(navigation(request)).await.expect(303);
    let room = app.url().join("/.jari/rooms/shop?return=%2Ftickets%2F1%3Fa%3Db").expect("a path");
    assert_eq!(answer.header("location"), Some(room.as_str()));
    let _ = ask(navigation(without.request(Method::GET, room.as_str()))).await.expect(200);
}

#[tokio::test]
async fn who_got_a_pass_meanwhile_is_led_to_what_was_asked_for() {
    let app = app().await;
    let with = admitted(&app).await;
    let to = async |original: &str| {
        let request = with.request(Method::GET, "/v1/gate/shop?passed=307");
        let answer = ask(request.header("x-original-uri", original)).await.expect(307);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer.header("location").expect("an address").to_owned()
    };
    assert_eq!(to("/tickets/1?a=b").await, "/tickets/1?a=b");
    // A client that writes the letters themselves into its request.
    assert_eq!(to("/tickets/예?a=매").await, "/tickets/%EC%98%88?a=%EB%A7%A4");
    for elsewhere in ["//evil.example/", "https://evil.example/", "/\\evil.example"] {
        assert_eq!(to(elsewhere).await, "/target", "{elsewhere}");
    }
    let request = app.visitor().request(Method::GET, "/v1/gate/shop?passed=307");
    ask(request).await.problem(428, "pass_required");
}

/// Envoy appends what was asked for, keeps the method, and takes 200 alone for a yes.
#[tokio::test]
async fn below_the_address_of_a_check_is_what_was_asked_for() {
    let app = app().await;
    let (with, without) = (admitted(&app).await, app.visitor());
    for (below, back) in [
        ("/", "%2F"),
        ("/tickets/1?refused=401&passed=307", "%2Ftickets%2F1%3Frefused%3D401%26passed%3D307"),
        ("/a%2Fb/%EC%98%88", "%2Fa%252Fb%2F%25EC%2598%2588"),
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS, Method::DELETE] {
            let path = format!("/v1/gate/shop{below}");
            let answer = ask(with.request(method.clone(), &path)).await.expect(200);
            assert_eq!(answer.header("jari-room"), Some("shop"), "{method} {below}");
            let problem = ask(without.request(method, &path)).await.problem(428, "pass_required");
            let url = problem.fields["room_url"].as_str().expect("an address");
            assert!(url.ends_with(&format!("/.jari/rooms/shop?return={back}")), "{below}: {url}");
        }
    }
    // The way back is judged here as anywhere.
    let answer = ask(without.request(Method::GET, "/v1/gate/shop//evil.example/")).await;
    let problem = answer.problem(428, "pass_required");
    let url = problem.fields["room_url"].as_str().expect("an address");
    assert!(url.ends_with("/.jari/rooms/shop"), "{url}");
    ask(without.request(Method::GET, "/v1/gate/none/x")).await.problem(404, "unknown_room");
    let metrics = Visitor::new(app.ops_url()).get("/metrics").await.text();
    assert!(metrics.contains("jari_returns_dropped_total 1"), "{metrics}");
}
