//! Having a place: asking, being admitted, leaving.

use jari_api::{PlaceStatus, PlaceView, Utc};
use jari_testkit::{TestApp, Visitor, eventually};
use serde_json::json;

use crate::{open, still};

async fn until(visitor: &Visitor, room: &str, status: PlaceStatus) -> PlaceView {
    eventually("the place changed", async || {
        let answer = visitor.poll(room).await;
        (answer.status == 200).then(|| answer.json::<PlaceView>()).filter(|p| p.status == status)
    })
    .await
}

#[tokio::test]
async fn a_waiting_place_is_told_as_documented() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    visitor.wait_in(&room).await;
    app.visitor().wait_in(&room).await;
    let mut place: PlaceView = visitor.poll(&room).await.expect(200).json();
    assert!(place.place_token.take().is_some() && place.stream_key.take().is_some());
    assert!(place.poll_after_ms.take().is_some_and(|ms| (1_000..=10_000).contains(&ms)));
    place.server_time = Utc::default();
    insta::assert_json_snapshot!(place);
}

#[tokio::test]
async fn an_admitted_place_gets_its_pass_once_more_with_each_poll() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let visitor = app.visitor();
    visitor.wait_in(&room).await;
    let place = until(&visitor, &room, PlaceStatus::Admitted).await;
    let pass = place.pass.expect("the pass");
    assert_eq!((pass.target_url.as_str(), pass.claimed), ("/target", false));
    assert_eq!((place.position, place.estimate), (None, None));
    // A notice is never lost: who joins again, or asks again, is told the same.
    let again: PlaceView = visitor.join(&room).await.expect(200).json();
    assert_eq!((again.status, again.seq), (PlaceStatus::Admitted, place.seq));
    assert!(again.pass.is_some());
}

#[tokio::test]
async fn leaving_ends_the_place_and_may_be_repeated() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let first = visitor.wait_in(&room).await;
    let receipt = first.place_token.expect("the receipt");
    let _ = visitor.leave(&room).await.expect(204);
    let path = format!("/v1/rooms/{room}/places/me");
    let by_receipt = |method| visitor.request(method, &path).bearer_auth(&receipt).send();
    let gone: PlaceView =
        by_receipt(reqwest::Method::GET).await.expect("sent").json().await.expect("a place");
    assert_eq!(gone.status, PlaceStatus::Ended);
    let again: PlaceView = visitor.join(&room).await.expect(201).json();
    assert_eq!(again.seq, 2, "a new place, at the end");
    // The old receipt ends nothing of the new place.
    assert_eq!(by_receipt(reqwest::Method::DELETE).await.expect("sent").status(), 204);
    let kept: PlaceView = visitor.join(&room).await.expect(200).json();
    assert_eq!((kept.seq, kept.status), (2, PlaceStatus::Waiting));
}

/// A2: what was acknowledged is there after a restart, and the receipts still open it.
#[tokio::test]
async fn a_place_outlives_the_server() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let (first, second) = (app.visitor(), app.visitor());
    first.wait_in(&room).await;
    let receipt = second.wait_in(&room).await.place_token.expect("the receipt");
    let app = app.restart().await;
    let path = format!("/v1/rooms/{room}/places/me");
    let request = app.visitor().request(reqwest::Method::GET, &path).bearer_auth(receipt);
    let place: PlaceView = request.send().await.expect("sent").json().await.expect("a place");
    assert_eq!((place.seq, place.position), (2, Some(2)));
    drop(first);
}

#[tokio::test]
async fn the_tenant_admits_by_hand() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let site = app.integrator().await;
    let people = [app.visitor(), app.visitor(), app.visitor()];
    for person in &people {
        person.wait_in(&room).await;
    }
    let answer = site.admit(&room, json!({"count": 2})).await.expect(200);
    assert_eq!(answer.json::<serde_json::Value>(), json!({"called": 2}));
    for (person, status) in
        people.iter().zip([PlaceStatus::Admitted, PlaceStatus::Admitted, PlaceStatus::Waiting])
    {
        let place: PlaceView = person.poll(&room).await.expect(200).json();
        assert_eq!(place.status, status);
    }
}
