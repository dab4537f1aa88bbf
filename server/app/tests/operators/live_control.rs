//! Steering a room while people are in it.

use jari_api::{Identity, PlaceStatus, PlaceView};
use jari_testkit::{TestApp, Visitor, eventually};
use serde_json::{Value, json};

async fn status(visitor: &Visitor, room: &str) -> PlaceStatus {
    visitor.join(room).await.json::<PlaceView>().status
}

#[tokio::test]
async fn a_pause_stops_admission_and_nothing_else() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let operator = app.operator();
    let paused: Value = operator.steer(&id, "pause", json!({})).await.expect(200).json();
    assert_eq!(paused, json!({"changed": true}));
    let again: Value = operator.steer(&id, "pause", json!({})).await.expect(200).json();
    assert_eq!(again, json!({"changed": false}));
    let visitor = app.visitor();
    assert_eq!(visitor.wait_in(&id).await.status, PlaceStatus::Waiting);
    let view: Value = visitor.get(&format!("/v1/rooms/{id}")).await.expect(200).json();
    assert_eq!(view["line"]["state"], "paused");
    operator.steer(&id, "resume", json!({})).await.expect(200);
    eventually("the line moves on", async || {
        (status(&visitor, &id).await == PlaceStatus::Admitted).then_some(())
    })
    .await;
    app.stop().await;
}

#[tokio::test]
async fn a_closed_room_says_so_and_opens_again() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let words = json!({"message": "See you tomorrow.", "reopens_at": "2099-01-01T00:00:00Z"});
    app.operator().steer(&id, "close", words).await.expect(200);
    let visitor = app.visitor();
    visitor.identify().await;
    let problem = visitor.join(&id).await.problem(410, "room_closed");
    assert_eq!(problem.fields["message"], "See you tomorrow.");
    assert_eq!(problem.fields["reopens_at"], "2099-01-01T00:00:00.000Z");
    app.operator().steer(&id, "open", json!({})).await.expect(200);
    visitor.join(&id).await.expect(201);

    app.operator().steer(&id, "sold-out", json!({"sold_out": true})).await.expect(200);
    let late = app.visitor();
    late.identify().await;
    late.join(&id).await.problem(410, "room_sold_out");
    app.operator().steer(&id, "sold-out", json!({"sold_out": false})).await.expect(200);
    late.join(&id).await.expect(201);
    app.stop().await;
}

/// It would be open again at once, and whoever ordered it would believe it closed.
#[tokio::test]
async fn a_room_is_not_closed_until_a_time_that_has_passed() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let now = jari_api::Utc(jari_ports::Clock::now(app.clock()));
    for at in [json!("2020-01-01T00:00:00Z"), json!(now)] {
        let answer = app.operator().steer(&id, "close", json!({"reopens_at": at})).await;
        let problem = answer.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], "reopens_at", "{at}");
    }
    let view: Value = app.visitor().get(&format!("/v1/rooms/{id}")).await.expect(200).json();
    assert_eq!(view["line"]["state"], "open");
    app.stop().await;
}

#[tokio::test]
async fn a_notice_reaches_those_who_wait() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    app.operator().steer(&id, "announce", json!({"text": "잠시 기다려 주세요"})).await.expect(200);
    let view: PlaceView = visitor.join(&id).await.expect(200).json();
    assert_eq!(
        view.line.notice.as_ref().map(|notice| notice.text.as_str()),
        Some("잠시 기다려 주세요")
    );
    let long = json!({"text": "x".repeat(1_001)});
    app.operator().steer(&id, "announce", long).await.problem(422, "invalid_field");
    app.operator().steer(&id, "announce", json!({"text": ""})).await.expect(200);
    let view: PlaceView = visitor.join(&id).await.expect(200).json();
    assert_eq!(view.line.notice, None);
    app.stop().await;
}

#[tokio::test]
async fn people_are_blocked_allowed_and_revoked_by_the_tenants_names() {
    let app = TestApp::start().await;
    let id = app
        .create_room(|room| {
            room.identity = Identity::Entry;
            room.settings.rate_per_s = 0.0;
            room.settings.burst = 1;
            room.settings.pacer = jari_api::admin::PacerBody::Manual;
            room.settings.capacity = 0;
        })
        .await;
    let site = app.integrator().await;
    let operator = app.operator();
    let who = |name: &str| json!({"subjects": [name]});

    operator.steer(&id, "block", who("mallory")).await.expect(200);
    let mallory = app.visitor();
    let entry = site.entry(&id, "mallory").await;
    mallory.join_with(&id, &entry).await.problem(403, "blocked");
    operator.steer(&id, "unblock", who("mallory")).await.expect(200);
    mallory.join_with(&id, &entry).await.expect(201);

    operator.steer(&id, "allow", who("press")).await.expect(200);
    let press = app.visitor();
    let entry = site.entry(&id, "press").await;
    let view: PlaceView = press.join_with(&id, &entry).await.expect(201).json();
    assert_eq!(view.status, PlaceStatus::Admitted, "the allowed pass a capacity of 0");
    press.gate(&id).await.expect(204);
    operator.steer(&id, "disallow", who("press")).await.expect(200);
    let revoked: Value = operator.steer(&id, "revoke", who("press")).await.expect(200).json();
    assert_eq!(revoked, json!({"changed": true}));
    press.gate(&id).await.problem(428, "pass_required");
    let revoked: Value = operator.steer(&id, "revoke", who("press")).await.expect(200).json();
    assert_eq!(revoked, json!({"changed": false}));

    let none = json!({"subjects": []});
    operator.steer(&id, "block", none).await.problem(422, "invalid_field");
    operator.steer(&id, "block", json!({"subject": "x"})).await.problem(400, "malformed_body");
    app.stop().await;
}

#[tokio::test]
async fn admitting_by_hand_goes_in_turn() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    // The bucket starts full: without this the first people would be admitted by it.
    app.operator()
        .set(&id, json!({"pacer": {"kind": "manual"}, "per_tick": 1, "capacity": 0}))
        .await;
    let people: Vec<_> = (0..3).map(|_| app.visitor()).collect();
    for visitor in &people {
        visitor.wait_in(&id).await;
    }
    app.operator().set(&id, json!({"capacity": 2})).await;
    let called: Value =
        app.operator().steer(&id, "admit", json!({"count": 1})).await.expect(200).json();
    let stats = app.operator().stats(&id).await;
    assert_eq!(called, json!({"called": 1}));
    assert!(stats.serving >= 1 && stats.live <= 2, "{stats:?}");
    assert_eq!(
        status(&people[0], &id).await,
        PlaceStatus::Admitted,
        "the first in line is the first called"
    );
    for bad in [
        json!({}),
        json!({"count": 0}),
        json!({"count": 201}),
        json!({"count": 1, "subjects": ["a"]}),
    ] {
        let answer = app.operator().steer(&id, "admit", bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad} {}", answer.text());
    }
    app.stop().await;
}

#[tokio::test]
async fn steering_an_unknown_room_is_told() {
    let app = TestApp::start().await;
    for action in ["pause", "resume", "open", "close"] {
        app.operator().steer("nowhere", action, json!({})).await.problem(404, "unknown_room");
    }
    app.operator().get("/v1/admin/rooms/nowhere/stats").await.problem(404, "unknown_room");
    app.stop().await;
}

/// An idle room's clock stands still; what an operator says in it is dated all the same.
#[tokio::test]
async fn a_notice_in_an_empty_room_is_dated_when_it_is_given() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    app.clock().advance(jari_units::Millis::from_mins(60));
    let given = jari_ports::Clock::now(app.clock());
    app.operator().steer(&id, "announce", json!({"text": "Soon."})).await.expect(200);
    let view: jari_api::RoomView =
        app.visitor().get(&format!("/v1/rooms/{id}")).await.expect(200).json();
    let notice = view.line.notice.as_ref().expect("it was given");
    assert!(notice.at.0 >= given, "{:?} is before {given:?}", notice.at);
    app.stop().await;
}
