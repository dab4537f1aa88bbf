//! Rooms whose visitors the tenant names: only an entry token, or what it proved, gives a place or a pass.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{Integrator, TestApp, eventually};
use jari_units::Millis;
use reqwest::Method;
use serde_json::json;

use crate::{open, still};

async fn entry_room(app: &TestApp, change: fn(&mut jari_api::admin::RoomBody)) -> String {
    app.create_room(|room| {
        change(room);
        room.identity = jari_api::Identity::Entry;
    })
    .await
}

#[tokio::test]
async fn the_same_user_has_one_place_on_every_device() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let site = app.integrator().await;
    let (phone, laptop) = (app.visitor(), app.visitor());
    let entry = site.entry(&room, "user-1").await;
    let first: PlaceView = phone.join_with(&room, &entry).await.expect(201).json();
    let entry = site.entry(&room, "user-1").await;
    let second: PlaceView = laptop.join_with(&room, &entry).await.expect(200).json();
    assert_eq!((first.seq, second.seq), (1, 1));
    let entry = site.entry(&room, "user-2").await;
    let other: PlaceView = app.visitor().join_with(&room, &entry).await.expect(201).json();
    assert_eq!(other.seq, 2);
    // Loaded again, the page needs no new entry token.
    let again: PlaceView = phone.join(&room).await.expect(200).json();
    assert_eq!(again.seq, 1);
}

/// Q3: nobody gets another's place or pass by naming them.
#[tokio::test]
async fn naming_another_gives_nothing() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let site = app.integrator().await;
    let owner = app.visitor();
    let entry = site.entry(&room, "user-1").await;
    let _ = owner.join_with(&room, &entry).await.expect(201);

    let thief = app.visitor();
    thief.identify().await;
    let path = format!("/v1/rooms/{room}/places");
    thief.join(&room).await.problem(401, "identity_required");
    thief.join_with(&room, "user-1").await.problem(401, "invalid_token");
    let named = thief.request(Method::POST, &path).json(&json!({"subject": "user-1"}));
    assert_eq!(named.send().await.expect("sent").status(), 400);
    let header = thief.request(Method::POST, &path).header("jari-visitor", "user-1");
    assert_eq!(header.send().await.expect("sent").status(), 401);
    assert_eq!(app.operator().stats(&room).await.joined_total, 1);
}

#[tokio::test]
async fn entry_tokens_are_for_one_room_and_ten_minutes() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let other = app
        .create_room(|room| {
            still(room);
            room.room = "other".to_owned();
            room.identity = jari_api::Identity::Entry;
        })
        .await;
    let site = app.integrator().await;
    let entry = site.entry(&room, "user-1").await;
    let problem = app.visitor().join_with(&other, &entry).await.problem(401, "invalid_token");
    assert_eq!(problem.fields["reason"], "wrong_room");
    let early = app.visitor();
    let _ = early.join_with(&room, &entry).await.expect(201);
    app.clock().advance(Millis::from_mins(10));
    let problem = app.visitor().join_with(&room, &entry).await.problem(401, "invalid_token");
    assert_eq!(problem.fields["reason"], "expired");
    // Who joined with it in time is known by more than it.
    let _ = early.join_with(&room, &entry).await.expect(200);
}

#[tokio::test]
async fn a_receipt_alone_gets_no_pass_and_ends_nothing() {
    let app = TestApp::start().await;
    let room = entry_room(&app, open).await;
    let site = app.integrator().await;
    let owner = app.visitor();
    let entry = site.entry(&room, "user-1").await;
    let place: PlaceView = owner.join_with(&room, &entry).await.expect(201).json();
    let (receipt, proof) = (place.place_token, place.visitor_token);
    let (receipt, proof) = (receipt.expect("a receipt"), proof.expect("the room visitor token"));
    eventually("the owner is admitted", async || {
        let answer = owner.poll(&room).await;
        (answer.status == 200 && answer.json::<PlaceView>().pass.is_some()).then_some(())
    })
    .await;

    let path = format!("/v1/rooms/{room}/places/me");
    let thief = app.visitor();
    let polled = thief.request(Method::GET, &path).bearer_auth(&receipt).send().await;
    let place: PlaceView = polled.expect("sent").json().await.expect("a place");
    assert_eq!((place.status, place.pass), (PlaceStatus::Admitted, None));
    let left = thief.request(Method::DELETE, &path).bearer_auth(&receipt).send().await;
    assert_eq!(left.expect("sent").status(), 401);
    // The same receipt with the proof beside it.
    let polled = thief.request(Method::GET, &path).bearer_auth(&receipt);
    let polled = polled.header("jari-visitor", &proof).send().await.expect("sent");
    assert!(polled.json::<PlaceView>().await.expect("a place").pass.is_some());
}

#[tokio::test]
async fn only_the_tenants_key_makes_entries() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let path = format!("/v1/rooms/{room}/entries");
    let site = app.integrator().await;
    let body = json!({"subject": "user-1"});
    let stranger = Integrator::new(app.url(), "jari_000000000000_00");
    stranger.post(&path, &body).await.problem(401, "api_key_invalid");
    let nobody = app.visitor().request(Method::POST, &path).json(&body).send().await;
    assert_eq!(nobody.expect("sent").status(), 401);
    for subject in ["", &"x".repeat(257)] {
        site.post(&path, &json!({"subject": subject})).await.problem(422, "invalid_field");
    }
    site.post("/v1/rooms/none/entries", &body).await.problem(404, "unknown_room");
    let anonymous = app.create_room(|room| room.room = "open-to-all".to_owned()).await;
    let path = format!("/v1/rooms/{anonymous}/entries");
    site.post(&path, &body).await.problem(422, "invalid_field");
    for whom in [json!({}), json!({"count": 0}), json!({"count": 201}), json!({"subjects": []})] {
        site.admit(&room, whom).await.problem(422, "invalid_field");
    }
}

#[tokio::test]
async fn the_tenant_admits_by_name() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let site = app.integrator().await;
    let (first, second) = (app.visitor(), app.visitor());
    for (person, name) in [(&first, "user-1"), (&second, "user-2")] {
        let entry = site.entry(&room, name).await;
        let _ = person.join_with(&room, &entry).await.expect(201);
    }
    let answer = site.admit(&room, json!({"subjects": ["user-2", "user-9"]})).await.expect(200);
    let granted = json!([{"subject": "user-2", "pass": true}, {"subject": "user-9", "pass": true}]);
    assert_eq!(answer.json::<serde_json::Value>(), json!({"granted": granted}));
    let place: PlaceView = second.poll(&room).await.expect(200).json();
    assert_eq!(place.status, PlaceStatus::Admitted);
    let place: PlaceView = first.poll(&room).await.expect(200).json();
    assert_eq!((place.status, place.position), (PlaceStatus::Waiting, Some(1)));
}

/// Q3 on a shared computer: an address that names one person, come too late, is not answered with another's place.
#[tokio::test]
async fn an_expired_entry_token_is_nobody_elses_way_in() {
    let app = TestApp::start().await;
    let room = entry_room(&app, still).await;
    let site = app.integrator().await;
    let (first, second) = (site.entry(&room, "user-1").await, site.entry(&room, "user-2").await);
    let shared = app.visitor();
    let _ = shared.join_with(&room, &first).await.expect(201);
    app.clock().advance(Millis::from_mins(10));
    let problem = shared.join_with(&room, &second).await.problem(401, "invalid_token");
    assert_eq!(problem.fields["reason"], "expired");
    let again: PlaceView = shared.join_with(&room, &first).await.expect(200).json();
    assert_eq!(again.seq, 1, "their own address, loaded again, still finds their place");
}
