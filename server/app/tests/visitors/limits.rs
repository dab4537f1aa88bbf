//! Asking or joining too fast: told when to come back, and others are not held to it.

use jari_api::{Identity, PlaceView};
use jari_testkit::{TestApp, eventually};
use reqwest::Method;

use crate::{open, still};

#[tokio::test]
async fn polling_much_faster_than_directed_is_refused() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let (fast, other) = (app.visitor(), app.visitor());
    fast.wait_in(&room).await;
    other.wait_in(&room).await;
    let mut served = 0;
    let refused = loop {
        let answer = fast.poll(&room).await;
        if answer.status != 200 {
            break answer;
        }
        served += 1;
        assert!(served < 50, "nothing held it back");
    };
    assert!(served >= 4, "a reload and a second tab are no offence: {served}");
    let problem = refused.problem(429, "too_fast");
    let after = problem.fields["poll_after_ms"].as_u64().expect("a number");
    assert_eq!(refused.header("retry-after"), Some(after.div_ceil(1_000).to_string().as_str()));
    let _: PlaceView = other.poll(&room).await.expect(200).json();
}

#[tokio::test]
async fn joins_of_one_address_are_limited_and_only_trusted_hops_name_another() {
    let app = TestApp::builder()
        .set("http.join_limit_per_minute", 1)
        .set("http.join_limit_burst", 2)
        .start()
        .await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.identify().await;
    let path = format!("/v1/rooms/{room}/places");
    let join = |from: &'static str| {
        let request = visitor.request(Method::POST, &path).header("x-forwarded-for", from);
        async move { request.send().await.expect("the server answers") }
    };
    for from in ["192.0.2.1", "192.0.2.2"] {
        assert!(join(from).await.status().is_success());
    }
    let refused = join("192.0.2.3").await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    visitor.join(&room).await.problem(429, "too_many_joins");
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_has_its_own_limit() {
    let app = TestApp::builder()
        .set("http.join_limit_per_minute", 1)
        .set("http.join_limit_burst", 1)
        .set("http.trusted_proxies", "127.0.0.0/8")
        .start()
        .await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.identify().await;
    let path = format!("/v1/rooms/{room}/places");
    for (from, status) in [
        ("192.0.2.1", 201),
        ("192.0.2.1", 429),
        ("192.0.2.2", 200),
        ("192.0.2.9, 192.0.2.2", 429),
        ("2001:db8:1:1::1", 200),
        ("2001:db8:1:1::2", 429),
        ("2001:db8:1:2::1", 200),
    ] {
        let request = visitor.request(Method::POST, &path).header("x-forwarded-for", from);
        let answer = request.send().await.expect("the server answers");
        assert_eq!(answer.status(), status, "{from}");
    }
}

/// A site that sends its members here answers for them: they come from wherever they are.
#[tokio::test]
async fn issue_5_whom_a_tenant_vouches_for_is_no_newcomer_of_an_address() {
    let app = TestApp::builder()
        .set("http.newcomer_limit_per_minute", 1)
        .set("http.newcomer_limit_burst", 1)
        .start()
        .await;
    let members = app
        .create_room(|room| {
            still(room);
            room.room = "members".to_owned();
            room.identity = Identity::Entry;
        })
        .await;
    let tenant = app.integrator().await;
    for name in ["kim", "lee", "park"] {
        let entry = tenant.entry(&members, name).await;
        app.visitor().join_with(&members, &entry).await.expect(201);
    }
    let room = app.create_room(still).await;
    app.visitor().wait_in(&room).await;
    let stranger = app.visitor();
    stranger.identify().await;
    stranger.join(&room).await.problem(429, "too_many_newcomers");
}

#[tokio::test]
async fn issue_5_a_pass_that_is_used_more_than_a_person_could_is_held_to_its_pace() {
    let app = TestApp::builder()
        .set("http.pass_limit_per_s", 1)
        .set("http.pass_limit_burst", 5)
        .start()
        .await;
    let room = app.create_room(open).await;
    let (shared, own) = (app.visitor(), app.visitor());
    for visitor in [&shared, &own] {
        visitor.wait_in(&room).await;
        eventually("the visitor is admitted", async || {
            let answer = visitor.poll(&room).await;
            let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
            place.pass.map(drop)
        })
        .await;
    }
    let mut passed = 0;
    let refused = loop {
        let answer = shared.gate(&room).await;
        if answer.status != 204 {
            break answer;
        }
        passed += 1;
        assert!(passed < 200, "nothing held it back");
    };
    assert!(passed >= 5, "a page is many requests at once: {passed}");
    refused.problem(429, "too_many_requests");
    assert!(refused.header("retry-after").is_some());
    own.gate(&room).await.expect(204);
}

#[tokio::test]
async fn connections_above_the_limit_are_told_so() {
    let app =
        TestApp::builder().set("http.max_connections", 2).set("http.stream_max", 1).start().await;
    // Each visitor keeps its connection.
    let (first, second) = (app.visitor(), app.visitor());
    first.identify().await;
    second.identify().await;
    let third = app.visitor();
    let answer = third.get("/openapi.json").await;
    answer.problem(503, "overloaded");
    assert_eq!(answer.header("retry-after"), Some("2"));
    drop(first);
    jari_testkit::eventually("a connection is free again", async || {
        (third.get("/openapi.json").await.status == 200).then_some(())
    })
    .await;
    drop(second);
}
