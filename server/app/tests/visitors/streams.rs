//! The event stream: what a place is told as it happens, who may open one, and how it ends.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{TestApp, eventually};
use reqwest::Method;
use serde_json::json;

use crate::{open, still};

#[tokio::test]
async fn a_stream_tells_the_place_then_the_line_then_the_turn() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let (first, second) = (app.visitor(), app.visitor());
    first.wait_in(&room).await;
    second.wait_in(&room).await;
    let mut stream = second.events(&room).await;
    let place = stream.next().await.expect("the place comes first");
    assert_eq!((place.event.as_str(), place.json()["position"].as_u64()), ("place", Some(2)));
    for secret in ["place_token", "stream_key", "pass", "visitor_token"] {
        assert!(place.json().get(secret).is_none(), "{secret} is in a frame");
    }
    assert_eq!(place.json()["line"]["waiting"], 2, "the line as it is now comes with it");
    assert!(place.id.contains('-'), "{place:?}");

    let admit = json!({"count": 1});
    let _ = app.operator().steer(&room, "admit", admit.clone()).await.expect(200);
    let line = loop {
        let line = stream.next_of("line").await.json();
        if line["serving"] == 1 {
            break line;
        }
    };
    assert_eq!((line["served"].as_u64(), line["waiting"].as_u64()), (Some(1), Some(1)));
    let _ = app.operator().steer(&room, "admit", admit).await.expect(200);
    let place = stream.next_of("place").await;
    assert_eq!(place.json()["status"], "admitted");
    assert_eq!(stream.next().await.expect("then the news").event, "admitted");
    let told: PlaceView = second.poll(&room).await.expect(200).json();
    assert!(told.pass.is_some());
}

#[tokio::test]
async fn leaving_ends_the_stream() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let receipt = visitor.wait_in(&room).await.place_token.expect("the receipt");
    let mut stream = visitor.events(&room).await;
    let _ = visitor.leave(&room).await.expect(204);
    stream.next_of("ended").await;
    assert_eq!(stream.next().await, None);
    // Who asks again with the old receipt is told at once.
    let path = format!("/v1/rooms/{room}/events");
    let answer = app.visitor().request(Method::GET, &path).bearer_auth(receipt).send().await;
    let text = answer.expect("sent").text().await.expect("it ends by itself");
    assert!(text.contains("event: ended"), "{text}");
}

#[tokio::test]
async fn a_stream_key_opens_one_stream() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let place = app.visitor().wait_in(&room).await;
    let key = place.stream_key.expect("a key");
    let path = |key: &str| format!("/v1/rooms/{room}/events?key={key}");
    let nobody = app.visitor();
    let opened = nobody.request(Method::GET, &path(&key)).send().await.expect("sent");
    assert_eq!(opened.status(), 200);
    nobody.get(&path(&key)).await.problem(401, "invalid_token");
    nobody.get(&path(&place.place_token.expect("a receipt"))).await.problem(401, "invalid_token");
    nobody.get(&format!("/v1/rooms/{room}/events")).await.problem(401, "place_required");
    let late = app.visitor().wait_in(&room).await.stream_key.expect("a key");
    app.clock().advance(jari_units::Millis::from_secs(30));
    nobody.get(&path(&late)).await.problem(401, "invalid_token");
}

#[tokio::test]
async fn a_stream_that_is_not_worth_it_is_refused_and_not_offered() {
    let app = TestApp::builder()
        .set("http.stream_small_room", 1)
        .set("http.stream_near_front", 1)
        .start()
        .await;
    let room = app.create_room(still).await;
    let (front, back) = (app.visitor(), app.visitor());
    front.wait_in(&room).await;
    let place = back.wait_in(&room).await;
    assert!(!place.stream && place.stream_key.is_none());
    let refused = back.get(&format!("/v1/rooms/{room}/events")).await;
    assert!(refused.problem(503, "stream_refused").fields.contains_key("poll_after_ms"));
    let place: PlaceView = front.poll(&room).await.expect(200).json();
    assert!(place.stream);
    front.events(&room).await;
}

#[tokio::test]
async fn a_server_that_goes_away_says_when_to_come_back() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.wait_in(&room).await;
    let mut stream = visitor.events(&room).await;
    let stopping = tokio::spawn(app.stop());
    let reconnect = stream.next_of("reconnect").await;
    assert!(reconnect.json()["after_ms"].as_u64().is_some_and(|ms| ms < 5_000), "{reconnect:?}");
    assert_eq!(stream.next().await, None);
    stopping.await.expect("it stops");
}

/// A live stream counts as polling: nobody becomes absent who listens.
#[tokio::test]
async fn who_streams_is_present() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            still(room);
            room.settings.presence_window_ms = 10_000;
            room.settings.poll_near_ms = 250;
        })
        .await;
    let visitor = app.visitor();
    visitor.wait_in(&room).await;
    let mut stream = visitor.events(&room).await;
    // Two windows and more, in steps that the room does not take for an outage.
    for _ in 0..6 {
        let before = app.operator().stats(&room).await.now;
        app.clock().advance(jari_units::Millis(3_500));
        eventually("the room ticks", async || {
            let now = app.operator().stats(&room).await.now;
            (now.0.since(before.0).0 >= 3_500).then_some(())
        })
        .await;
    }
    let _ = app.operator().steer(&room, "admit", json!({"count": 1})).await.expect(200);
    stream.next_of("admitted").await;
}

#[tokio::test]
async fn a_deleted_rooms_streams_end() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let visitor = app.visitor();
    let place = visitor.wait_in(&room).await;
    assert_ne!(place.status, PlaceStatus::Ended);
    let mut stream = visitor.events(&room).await;
    let deleted = app.operator().delete(&format!("/v1/admin/rooms/{room}")).await;
    assert!(deleted.status.is_success(), "{}", deleted.text());
    stream.next_of("ended").await;
    visitor.poll(&room).await.problem(404, "unknown_room");
}

/// A line that stands is told once: streams are quiet but for their heartbeats, and hear at once when it moves.
#[tokio::test]
async fn issue_4_a_line_that_stands_sends_no_frame_twice() {
    const TICKS: u64 = 4;
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.wait_in(&room).await;
    let ticked = async |beyond: u64| {
        let from = app.operator().stats(&room).await.now;
        eventually("the room ticks on", async || {
            let now = app.operator().stats(&room).await.now;
            (now.0.since(from.0).0 >= beyond * 1_000).then_some(())
        })
        .await;
    };
    // Whatever the join moved has been told by then.
    ticked(2).await;
    let mut stream = visitor.events(&room).await;
    assert_eq!(stream.next().await.expect("the place").event, "place");
    ticked(TICKS).await;
    let text = json!({"text": "soon"});
    app.operator().steer(&room, "announce", text).await.expect(200);
    let next = stream.next().await.expect("the stream goes on");
    assert_eq!((next.event.as_str(), &next.json()["notice"]["text"]), ("line", &json!("soon")));
}
