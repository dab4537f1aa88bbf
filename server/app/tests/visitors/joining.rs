//! A join gives one place to one identity, whatever is repeated, lost or done at once.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{TestApp, Visitor};
use reqwest::Method;

use crate::still;

#[tokio::test]
async fn without_an_identity_nobody_joins() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    app.visitor().join(&room).await.problem(401, "identity_required");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
}

#[tokio::test]
async fn places_are_given_in_order_and_found_again() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    for seq in 1..=3 {
        let visitor = app.visitor();
        visitor.identify().await;
        let first: PlaceView = visitor.join(&room).await.expect(201).json();
        assert_eq!((first.seq, first.status), (seq, PlaceStatus::Waiting));
        // The first answer may have been lost: the same identity finds the same place.
        let again: PlaceView = visitor.join(&room).await.expect(200).json();
        assert_eq!((again.seq, again.position), (seq, Some(seq)));
    }
    let unknown = app.visitor();
    unknown.identify().await;
    unknown.join("no-such-room").await.problem(404, "unknown_room");
    unknown.join("No%20Room").await.problem(404, "unknown_room");
    unknown.join("%ff").await.problem(404, "unknown_room");
}

#[tokio::test]
async fn the_cookies_of_a_join_are_kept_from_scripts() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.identify().await;
    let answer = visitor.join(&room).await.expect(201);
    let cookie = answer.header("set-cookie").expect("the place cookie");
    assert!(cookie.starts_with("jari_place_room="), "{cookie}");
    for attribute in ["Path=/", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(attribute), "{attribute} is not in {cookie}");
    }
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// Q2: 10,000 joins of one subject in parallel give one place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_joins_of_one_subject_give_one_place() {
    const JOINS: usize = 10_000;
    const AT_ONCE: usize = 200;
    let app = TestApp::builder().set("http.join_limit_per_minute", 0).start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let token = visitor.identify().await.visitor_token;
    let path = format!("/v1/rooms/{room}/places");
    let joins = (0..AT_ONCE).map(|_| {
        let (visitor, path, token) = (visitor.clone(), path.clone(), token.clone());
        tokio::spawn(async move {
            let mut created = 0;
            for _ in 0..JOINS / AT_ONCE {
                let request = visitor.request(Method::POST, &path).bearer_auth(&token);
                let response = request.send().await.expect("the server answers");
                created += usize::from(response.status() == 201);
                let place: PlaceView = response.json().await.expect("a place");
                assert_eq!(place.seq, 1);
            }
            created
        })
    });
    let created = futures_util::future::join_all(joins).await;
    let created: usize = created.into_iter().map(|made| made.expect("no panic")).sum();
    let stats = app.operator().stats(&room).await;
    assert_eq!((created, stats.joined_total, stats.waiting), (1, 1, 1));
}

/// `store.joins = "apart"`: what the benchmark measures against is what it says, and gives the same places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_that_travel_apart_are_a_call_each_and_give_the_same_places() {
    const PEOPLE: u64 = 50;
    let app = TestApp::builder().set("store.joins", "apart").start().await;
    let room = app.create_room(still).await;
    let joins = (0..PEOPLE).map(|_| {
        let (visitor, room) = (app.visitor(), room.clone());
        async move { visitor.wait_in(&room).await.seq }
    });
    let mut seqs = futures_util::future::join_all(joins).await;
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=PEOPLE).collect::<Vec<_>>());
    let metrics = Visitor::new(app.ops_url()).get("/metrics").await.expect(200).text();
    let calls = format!(
        r#"jari_store_duration_seconds_count{{operation="join",outcome="answered"}} {PEOPLE}"#
    );
    assert!(metrics.lines().any(|line| line == calls), "{metrics}");
}

#[tokio::test]
async fn blocked_visitors_are_told_so_and_get_nothing() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            still(room);
            room.identity = jari_api::Identity::Entry;
        })
        .await;
    let site = app.integrator().await;
    let block = serde_json::json!({"subjects": ["user-1"]});
    let _ = app.operator().steer(&room, "block", block).await.expect(200);
    let entry = site.entry(&room, "user-1").await;
    app.visitor().join_with(&room, &entry).await.problem(403, "blocked");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
}
