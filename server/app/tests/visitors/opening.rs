//! Rooms that are not open: who comes is told when or whether they will be.

use jari_api::{LineState, PlaceView, RoomView, Utc};
use jari_ports::Clock;
use jari_testkit::{TestApp, eventually};
use jari_units::Millis;
use serde_json::json;

use crate::{open, still};

#[tokio::test]
async fn joining_before_the_opening_is_told_when() {
    let app = TestApp::start().await;
    let opens_at = Utc(app.clock().now() + Millis::from_mins(10));
    let room = app.create_room(|room| room.settings.opens_at = Some(opens_at)).await;
    let visitor = app.visitor();
    visitor.identify().await;
    let problem = visitor.join(&room).await.problem(409, "not_open");
    assert_eq!(problem.fields["opens_at"], opens_at.to_string());
    let view: RoomView = visitor.get(&format!("/v1/rooms/{room}")).await.expect(200).json();
    assert_eq!((view.line.state, view.line.opens_at), (LineState::NotOpen, Some(opens_at)));

    // The room is idle: its own tick must open it when the time comes.
    app.clock().advance(Millis::from_mins(10));
    eventually("the room opened", async || {
        visitor.join(&room).await.status.is_success().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_closed_room_keeps_its_places_and_says_what_comes_next() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let early = app.visitor();
    early.wait_in(&room).await;
    let reopens_at = Utc(app.clock().now() + Millis::from_mins(600));
    let close = json!({"message": "see you tomorrow", "reopens_at": reopens_at});
    let _ = app.operator().steer(&room, "close", close).await.expect(200);

    let late = app.visitor();
    late.identify().await;
    let problem = late.join(&room).await.problem(410, "room_closed");
    assert_eq!(problem.fields["message"], "see you tomorrow");
    assert_eq!(problem.fields["reopens_at"], reopens_at.to_string());
    let place: PlaceView = early.poll(&room).await.expect(200).json();
    assert_eq!((place.position, place.line.state), (Some(1), LineState::Closed));
    assert_eq!(place.line.message, "see you tomorrow");
}

#[tokio::test]
async fn a_sold_out_room_and_a_full_one_differ() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            still(room);
            room.settings.max_waiting = 1;
        })
        .await;
    app.visitor().wait_in(&room).await;
    let late = app.visitor();
    late.identify().await;
    let full = late.join(&room).await;
    let problem = full.problem(503, "room_full");
    let after = problem.fields["poll_after_ms"].as_u64().expect("a number");
    assert_eq!(full.header("retry-after"), Some(after.div_ceil(1_000).to_string().as_str()));

    let _ = app.operator().steer(&room, "sold-out", json!({"sold_out": true})).await.expect(200);
    late.join(&room).await.problem(410, "room_sold_out");
}

#[tokio::test]
async fn the_public_view_is_kept_for_a_second() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let answer = app.visitor().get(&format!("/v1/rooms/{room}")).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("public, max-age=1"));
    let mut view: RoomView = answer.json();
    view.server_time = Utc::default();
    insta::assert_json_snapshot!(view);
    app.visitor().get("/v1/rooms/none").await.problem(404, "unknown_room");
}
