//! The gate: only a good pass gets through, its use keeps it alive, and the way to the room is told.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{Answer, TestApp, Visitor, eventually};
use jari_units::Millis;
use reqwest::Method;

use crate::{open, still};

async fn admitted(app: &TestApp, room: &str) -> (Visitor, PlaceView) {
    let visitor = app.visitor();
    visitor.wait_in(room).await;
    let place = eventually("the visitor is admitted", async || {
        let answer = visitor.poll(room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(place)
    })
    .await;
    (visitor, place)
}

async fn gate_with(visitor: &Visitor, room: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = visitor.request(Method::GET, &format!("/v1/gate/{room}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

#[tokio::test]
async fn the_first_use_claims_the_pass() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let (visitor, place) = admitted(&app, &room).await;
    assert_eq!(app.operator().stats(&room).await.claimed, 0);
    let answer = visitor.gate(&room).await.expect(204);
    assert_eq!(answer.header("jari-room"), Some(room.as_str()));
    assert_eq!(answer.header("jari-seq"), Some(place.seq.to_string().as_str()));
    assert!(answer.header("jari-pass-expires").is_some());
    // From two minutes to claim it to ten minutes inside.
    let cookie = answer.header("set-cookie").expect("the pass with its new end");
    assert!(cookie.starts_with("jari_pass_room=") && cookie.contains("HttpOnly"), "{cookie}");
    let _ = visitor.gate(&room).await.expect(204);
    let stats = app.operator().stats(&room).await;
    assert_eq!((stats.claimed, stats.claimed_total), (1, 1));
}

#[tokio::test]
async fn who_has_no_pass_is_shown_the_way_to_the_room() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let receipt = visitor.wait_in(&room).await.place_token.expect("a receipt");
    let problem = visitor.gate(&room).await.problem(428, "pass_required");
    assert_eq!(problem.fields["reason"], "missing");
    let url = problem.fields["room_url"].as_str().expect("an address");
    assert_eq!(url, app.url().join("/.jari/rooms/room").expect("a path").as_str());
    assert!(problem.fields.contains_key("poll_after_ms"));
    for (token, reason) in [("rubbish", "malformed"), (receipt.as_str(), "wrong_kind")] {
        let bearer = format!("Bearer {token}");
        let answer = gate_with(&visitor, &room, &[("authorization", &bearer)]).await;
        assert_eq!(answer.problem(428, "pass_required").fields["reason"], reason);
    }
    visitor.gate("none").await.problem(404, "unknown_room");
}

#[tokio::test]
async fn the_way_back_is_kept_only_where_it_leads_to_the_site() {
    let app = TestApp::start().await;
    let room = app.create_room(|room| room.target_url = "https://shop.example/".to_owned()).await;
    for (header, original, kept) in [
        ("x-original-uri", "/cart?a=1&b=2", true),
        ("x-forwarded-uri", "/cart", true),
        ("x-original-url", "https://shop.example/cart", true),
        ("x-original-url", "https://evil.example/", false),
        ("x-original-uri", "//evil.example/", false),
    ] {
        let answer = gate_with(&app.visitor(), &room, &[(header, original)]).await;
        let problem = answer.problem(428, "pass_required");
        let url = problem.fields["room_url"].as_str().expect("an address");
        let url: url::Url = url.parse().expect("a URL");
        let back = url.query_pairs().find(|(name, _)| name == "return");
        let back = back.map(|(_, value)| value.into_owned());
        assert_eq!(back.as_deref(), kept.then_some(original), "{header}: {original}");
    }
}

#[tokio::test]
async fn a_pass_ends_with_leaving_and_is_good_for_one_room() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let other = app.create_room(|room| room.room = "other".to_owned()).await;
    let (visitor, place) = admitted(&app, &room).await;
    let bearer = format!("Bearer {}", place.pass.expect("the pass").token);
    let elsewhere = gate_with(&visitor, &other, &[("authorization", &bearer)]).await;
    assert_eq!(elsewhere.problem(428, "pass_required").fields["reason"], "wrong_room");
    let _ = gate_with(&visitor, &room, &[("authorization", &bearer)]).await.expect(204);
    let _ = visitor.leave(&room).await.expect(204);
    let answer = gate_with(&visitor, &room, &[("authorization", &bearer)]).await;
    assert_eq!(answer.problem(428, "pass_required").fields["reason"], "ended");
}

/// A clock that is set forward expires nobody: the room's own clocks count.
#[tokio::test]
async fn a_clock_that_steps_ends_no_pass() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let (visitor, _) = admitted(&app, &room).await;
    let _ = visitor.gate(&room).await.expect(204);
    for step in [5 * 60_000, -5 * 60_000] {
        app.clock().step(step);
        let now = app.operator().stats(&room).await.now;
        eventually("the room ticked", async || {
            (app.operator().stats(&room).await.now >= now).then_some(())
        })
        .await;
        let _ = visitor.gate(&room).await.expect(204);
    }
}

/// A2 at the gate: a pass in use slides, and its cookie never outlives what the store acknowledged.
#[tokio::test]
async fn use_slides_the_end() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            open(room);
            room.settings.pass_ttl_ms = 10_000;
        })
        .await;
    let (visitor, _) = admitted(&app, &room).await;
    let _ = visitor.gate(&room).await.expect(204);
    for _ in 0..7 {
        // In steps that the room does not take for an outage; 20 s in all, twice the pass's life.
        app.clock().advance(Millis(3_000));
        let now = app.operator().stats(&room).await.now;
        eventually("the room ticked", async || {
            (app.operator().stats(&room).await.now > now).then_some(())
        })
        .await;
        let _ = visitor.gate(&room).await.expect(204);
    }
}

/// A site's own API calls carry its bearer; a proxy that asks the gate passes it on beside the pass.
#[tokio::test]
async fn a_bearer_of_the_sites_own_does_not_hide_the_pass() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let (visitor, _) = admitted(&app, &room).await;
    for bearer in ["Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer the-sites-session"] {
        let _ = gate_with(&visitor, &room, &[("authorization", bearer)]).await.expect(204);
        let none = gate_with(&app.visitor(), &room, &[("authorization", bearer)]).await;
        assert_eq!(none.problem(428, "pass_required").fields["reason"], "malformed");
    }
}
