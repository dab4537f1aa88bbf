//! Traces, from a whole server to a collector (issue 3).

use std::time::Duration;

use jari_testkit::{FakeCollector, TestApp, ToldSpan, eventually};
use reqwest::Method;
use tokio::time::Instant;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const PLACES: &str = "POST /v1/rooms/{room}/places";

async fn tracing_to(fake: &FakeCollector, ratio: f64) -> TestApp {
    TestApp::builder()
        .set("telemetry.otlp_endpoint", fake.endpoint())
        .set("telemetry.sample_ratio", ratio)
        .set("telemetry.service_name", "shop-line")
        .start()
        .await
}

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// The one span of the caller's trace that is called so.
fn of_caller<'a>(spans: &'a [ToldSpan], name: &str) -> &'a ToldSpan {
    let found: Vec<_> =
        spans.iter().filter(|span| span.trace == TRACE && span.name == name).collect();
    let [span] = found.as_slice() else { panic!("{} of {name} in {spans:#?}", found.len()) };
    span
}

#[tokio::test]
async fn issue_3_a_join_is_traced_from_its_caller_to_the_store() {
    let fake = FakeCollector::start().await;
    let app = tracing_to(&fake, 1.0).await;
    let room = app.create_room(|_| {}).await;
    let key = app.admin_key().to_owned();
    let visitor = app.visitor();
    let identity = visitor.identify().await;
    let request = visitor.request(Method::POST, &format!("/v1/rooms/{room}/places?secret=query"));
    let request = request.header("traceparent", traceparent("01"));
    let answer = request.header("tracestate", "secret=state").send().await.expect("sent");
    assert_eq!(answer.status(), 201);
    let call = answer.headers()["jari-call"].to_str().expect("ASCII").to_owned();
    let place: jari_api::PlaceView = answer.json().await.expect("a place");
    eventually("a tick is traced", async || {
        fake.spans().iter().any(|span| span.name == "tick").then_some(())
    })
    .await;
    app.stop().await;

    let spans = fake.spans();
    let root = of_caller(&spans, PLACES);
    assert_eq!((root.parent.as_str(), root.is_server, root.failed), (CALLER, true, false));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/rooms/{room}/places"),
        ("http.response.status_code", "201"),
        ("jari.room", room.as_str()),
        ("jari.call", call.as_str()),
    ] {
        assert_eq!(root.fields.get(key).map(String::as_str), Some(value), "{key}");
    }
    assert_eq!(root.resource["service.name"], "shop-line");
    let (wait, batch) = (of_caller(&spans, "wait for join"), of_caller(&spans, "batch join"));
    let store = of_caller(&spans, "store join");
    assert_eq!((&wait.parent, &batch.parent, &store.parent), (&root.id, &root.id, &batch.id));
    assert_eq!(batch.fields["jari.batch.calls"], "1");
    for (inner, outer) in [(wait, root), (store, batch)] {
        let within = outer.began_ns <= inner.began_ns && inner.ended_ns <= outer.ended_ns;
        assert!(within, "{inner:?} in {outer:?}");
    }
    let tick = spans.iter().find(|span| span.name == "tick").expect("seen before");
    assert_eq!((tick.parent.as_str(), &tick.fields["jari.room"]), ("", &room));
    let admits = spans.iter().filter(|span| span.name == "store admit");
    assert!(admits.count() > 0, "a tick's store call hangs below it");

    let told = format!("{spans:?}");
    let token = place.place_token.expect("a receipt");
    for secret in [key.as_str(), &token, &identity.visitor_token, "query", "state", "127.0.0.1"] {
        assert!(!told.contains(secret), "{secret} is in a span");
    }
}

#[tokio::test]
async fn issue_3_without_a_share_only_those_are_traced_who_ask() {
    let fake = FakeCollector::start().await;
    let app = tracing_to(&fake, 0.0).await;
    let room = app.create_room(|_| {}).await;
    let path = format!("/v1/rooms/{room}");
    let visitor = app.visitor();
    visitor.get(&path).await.expect(200);
    for flags in ["00", "01"] {
        let request = visitor.request(Method::GET, &path);
        let request = request.header("traceparent", traceparent(flags));
        assert_eq!(request.send().await.expect("sent").status(), 200);
    }
    let unknown = visitor.request(Method::GET, "/v1/rooms/hidden");
    let unknown = unknown.header("traceparent", traceparent("01"));
    assert_eq!(unknown.send().await.expect("sent").status(), 404);
    app.stop().await;
    let spans = fake.spans();
    let routes: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(routes, ["GET /v1/rooms/{room}", "GET /v1/rooms/{room}"]);
    assert_eq!(spans[1].fields["jari.code"], "unknown_room");
    assert!(!format!("{spans:?}").contains("hidden"), "a name that is no room's is the client's");
}

#[tokio::test]
async fn issue_3_joins_that_travel_together_are_linked() {
    let fake = FakeCollector::start().await;
    let app = tracing_to(&fake, 1.0).await;
    let room = app.create_room(|_| {}).await;
    let mut joins = Vec::new();
    for _ in 0..40 {
        let visitor = app.visitor();
        visitor.identify().await;
        let room = room.clone();
        joins.push(tokio::spawn(async move { visitor.join(&room).await.expect(201) }));
    }
    for join in joins {
        join.await.expect("no panic");
    }
    app.stop().await;
    let spans = fake.spans();
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (calls, batches) = (named(PLACES), named("batch join"));
    assert_eq!((calls.len(), named("wait for join").len()), (40, 40));
    let carried: u64 = batches
        .iter()
        .map(|batch| batch.fields["jari.batch.calls"].parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(carried, 40, "every call is in one batch");
    for batch in &batches {
        let count: usize = batch.fields["jari.batch.calls"].parse().expect("a number");
        assert_eq!(
            batch.links.len(),
            (count - 1).min(32),
            "one hangs above, the others are linked"
        );
        assert!(batch.links.iter().all(|link| calls.iter().any(|call| call.trace == *link)));
    }
}

#[tokio::test]
async fn issue_3_a_collector_that_hangs_slows_no_call() {
    let fake = FakeCollector::silent().await;
    let app = tracing_to(&fake, 1.0).await;
    let room = app.create_room(|_| {}).await;
    let visitor = app.visitor();
    let begun = Instant::now();
    for _ in 0..300 {
        visitor.get(&format!("/v1/rooms/{room}")).await.expect(200);
    }
    // The exporter itself is more patient than this with its first request.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let begun = Instant::now();
    app.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
