//! Modes of a room: who passes the gate, and what becomes of those who wait when the mode changes.

use jari_api::admin::{ModeName, QueueReason, RoomBody, RoomStats};
use jari_api::{Identity, LineState, PlaceStatus, PlaceView, Problem};
use jari_testkit::{TestApp, Visitor, eventually};
use reqwest::Method;
use serde_json::json;

use crate::{open, still};

fn auto(room: &mut RoomBody) {
    open(room);
    room.settings.mode = ModeName::Auto;
    room.settings.capacity = 3;
    room.settings.queue_at_live = Some(2);
    room.settings.quiet_for_ms = 5_000;
}

async fn mode(app: &TestApp, room: &str, mode: &str) {
    app.operator().set(room, json!({"mode": mode})).await;
}

async fn metrics(app: &TestApp) -> String {
    let url = app.ops_url().join("/metrics").expect("a path");
    let answer = reqwest::get(url).await.expect("the server answers");
    answer.text().await.expect("a text")
}

async fn queueing(app: &TestApp, room: &str) -> RoomStats {
    eventually("the room queues", async || {
        let stats = app.operator().stats(room).await;
        stats.queueing.is_some().then_some(stats)
    })
    .await
}

/// A newcomer walks in: one call of the gate makes the identity, the place and the pass, and the next one is the same pass.
#[tokio::test]
async fn newcomers_walk_in_to_a_quiet_auto_room_and_then_queue() {
    let app = TestApp::start().await;
    let room = app.create_room(auto).await;
    let first = app.visitor();
    let answer = first.gate(&room).await.expect(204);
    let cookies = answer.headers.get_all("set-cookie").iter();
    let cookies: Vec<_> = cookies.map(|value| value.to_str().expect("text").to_owned()).collect();
    for name in ["jari_visitor=", "jari_place_room=", "jari_pass_room="] {
        assert!(cookies.iter().any(|cookie| cookie.starts_with(name)), "{name}: {cookies:?}");
    }
    let seq = answer.header("jari-seq").expect("whose pass it is").to_owned();
    assert!(answer.header("jari-unchecked").is_none());
    let again = first.gate(&room).await.expect(204);
    assert_eq!(again.header("jari-seq"), Some(seq.as_str()));
    let stats = app.operator().stats(&room).await;
    assert_eq!((stats.live, stats.claimed, stats.joined_total), (1, 1, 1), "one person, used");
    assert_eq!((stats.mode, stats.queueing), (ModeName::Auto, None));

    app.visitor().gate(&room).await.expect(204);
    let stats = queueing(&app, &room).await;
    assert_eq!(stats.queueing.map(|queueing| queueing.why), Some(QueueReason::Live));
    let third = app.visitor();
    let problem = third.gate(&room).await.problem(428, "pass_required");
    assert_eq!(problem.fields["reason"], "missing");
    first.gate(&room).await.expect(204);
    // On the room's page they wait for the tick like everybody, and the capacity is three.
    let place = third.wait_in(&room).await;
    assert_eq!(place.status, PlaceStatus::Waiting);
    eventually("the third is inside", async || {
        third.poll(&room).await;
        (third.gate(&room).await.status == 204).then_some(())
    })
    .await;
    let fourth = app.visitor();
    assert_eq!(fourth.wait_in(&room).await.status, PlaceStatus::Waiting);
    assert_eq!(app.operator().stats(&room).await.live, 3);
}

/// Nobody who was here long ago is served by a clock of long ago.
/// Proxies take them one by one from an answer that they keep to themselves; in one that reaches a browser, scripts could
/// read what a cookie hides from them. A proxy that hands on the first alone hands on what lets them in again.
#[tokio::test]
async fn issue_5_cookies_stand_apart_for_proxies_and_the_pass_comes_first() {
    let app = TestApp::start().await;
    let room = app.create_room(auto).await;
    let answer = app.visitor().gate(&room).await.expect(204);
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    let apart = ["jari-set-pass", "jari-set-place", "jari-set-visitor"];
    assert_eq!(cookies, apart.map(|name| &answer.headers[name]));
    let begins = ["jari_pass_room=", "jari_place_room=", "jari_visitor="];
    for (cookie, begin) in cookies.iter().zip(begins) {
        assert!(cookie.to_str().expect("text").starts_with(begin), "{cookies:?}");
    }
    // A browser gets this one: who is inside is sent to where they wanted.
    let led = app.visitor().request(Method::GET, &format!("/v1/gate/{room}?passed=307"));
    let led = led.header("x-original-url", "/x").send().await.expect("the server answers");
    assert_eq!(
        (led.status().as_u16(), led.headers().get_all("set-cookie").iter().count()),
        (307, 3)
    );
    assert!(apart.iter().all(|name| !led.headers().contains_key(*name)), "{led:?}");
}

#[tokio::test]
async fn an_auto_room_that_nobody_was_in_for_hours_lets_in_at_once() {
    let app = TestApp::start().await;
    let room = app.create_room(auto).await;
    app.clock().advance(jari_units::Millis::from_mins(600));
    let answer = app.visitor().gate(&room).await.expect(204);
    let expires = answer.header("jari-pass-expires").expect("an end").to_owned();
    let expires: jari_api::Utc = serde_json::from_value(json!(expires)).expect("a time");
    let left = expires.0.since(jari_ports::Clock::now(app.clock()));
    assert!(left > jari_units::Millis::from_mins(9), "{left} left");
}

#[tokio::test]
async fn a_mode_and_what_it_saw_survive_a_restart() {
    let app = TestApp::start().await;
    let room = app.create_room(auto).await;
    app.visitor().gate(&room).await.expect(204);
    app.visitor().gate(&room).await.expect(204);
    queueing(&app, &room).await;
    let app = app.restart().await;
    let stats = app.operator().stats(&room).await;
    assert_eq!(stats.mode, ModeName::Auto);
    assert!(stats.queueing.is_some(), "{stats:?}");
    app.visitor().gate(&room).await.problem(428, "pass_required");
}

/// Who an entry token names is known on the room's page only: the gate lets no stranger in.
#[tokio::test]
async fn an_auto_room_by_entry_lets_nobody_walk_in_at_the_gate() {
    let app = TestApp::start().await;
    let by_entry = |room: &mut RoomBody| {
        auto(room);
        room.identity = Identity::Entry;
    };
    let room = app.create_room(by_entry).await;
    let visitor = app.visitor();
    visitor.gate(&room).await.problem(428, "pass_required");
    let entry = app.integrator().await.entry(&room, "user-1").await;
    let joined: PlaceView = visitor.join_with(&room, &entry).await.expect(201).json();
    assert_eq!(joined.status, PlaceStatus::Admitted, "but without waiting");
    visitor.gate(&room).await.expect(204);
}

#[tokio::test]
async fn off_lets_everybody_pass_and_keeps_places() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let (first, second) = (app.visitor(), app.visitor());
    let place = first.wait_in(&room).await;
    second.wait_in(&room).await;
    mode(&app, &room, "off").await;
    let answer = app.visitor().gate(&room).await.expect(204);
    assert_eq!(answer.header("jari-unchecked"), Some("off"));
    assert!(answer.header("set-cookie").is_none(), "nobody is asked who they are");
    eventually("it is counted and shown", async || {
        let text = metrics(&app).await;
        let counted = text.contains(r#"jari_gate_off_total{room="room"} 1"#);
        (counted && text.contains(r#"jari_room_state{room="room",state="off"} 1"#)).then_some(())
    })
    .await;

    let waits = eventually("who waits is sent on", async || {
        let answer = first.poll(&room).await;
        let view = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (view.go_to.is_some() && view.line.state == LineState::Off).then_some(view)
    })
    .await;
    assert_eq!(waits.go_to.as_deref(), Some("/target"));
    assert_eq!(waits.seq, place.seq);
    let stranger = app.visitor();
    stranger.identify().await;
    let problem = stranger.join(&room).await.problem(409, "not_needed");
    assert_eq!(problem.fields["target_url"], "/target");
    let plain = stranger.get("/rooms/room/plain").await.expect(200).text();
    assert!(plain.contains(r#"href="/target""#) && !plain.contains("plain/join"), "{plain}");

    mode(&app, &room, "on").await;
    let back = eventually("the line goes on", async || {
        let answer = second.poll(&room).await;
        let view = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (view.line.state == LineState::Open).then_some(view)
    })
    .await;
    assert_eq!((back.position, back.go_to), (Some(2), None), "places were kept");
}

/// A shadow holds nobody up, and its line is what it would have been.
#[tokio::test]
async fn a_shadow_lets_everybody_pass_and_counts_what_the_gate_would_have_done() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            still(room);
            room.settings.mode = ModeName::Shadow;
        })
        .await;
    let visitor = app.visitor();
    for _ in 0..3 {
        let answer = visitor.gate(&room).await.expect(204);
        assert_eq!(answer.header("jari-unchecked"), Some("shadow"));
        assert!(answer.header("jari-seq").is_none());
    }
    let stats = app.operator().stats(&room).await;
    assert_eq!((stats.waiting, stats.joined_total), (1, 1), "one person, one place");
    let admitted = json!({"count": 1});
    app.operator().steer(&room, "admit", admitted).await.expect(200);
    eventually("the gate would let them in", async || {
        visitor.gate(&room).await.expect(204);
        (app.operator().stats(&room).await.claimed == 1).then_some(())
    })
    .await;
    visitor.gate(&room).await.expect(204);
    app.operator().steer(&room, "close", json!({})).await.expect(200);
    app.visitor().gate(&room).await.expect(204);
    let text = metrics(&app).await;
    for would in ["pass", "wait", "refuse"] {
        let line = format!(r#"jari_gate_shadow_total{{room="room",would="{would}"}}"#);
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
    assert!(text.contains(r#"room="room",would="refuse"} 1"#), "{text}");

    // Whoever reaches the room's page is sent on as well, and the place counts all the same.
    let waits: PlaceView = {
        app.operator().steer(&room, "open", json!({})).await.expect(200);
        let visitor = app.visitor();
        visitor.wait_in(&room).await
    };
    assert_eq!(waits.go_to.as_deref(), Some("/target"));
}

#[tokio::test]
async fn a_mode_that_cannot_be_is_refused_with_its_field() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let path = format!("/v1/admin/rooms/{room}");
    for (settings, field) in [
        (json!({"quiet_for_ms": 1}), "quiet_for_ms"),
        (json!({"queue_at_live": 0}), "queue_at_live"),
        (json!({"queue_at_arrivals_per_s": 0}), "queue_at_arrivals_per_s"),
        (json!({"pacer": {"kind": "signal", "errors_percent": 101}}), "pacer.errors_percent"),
    ] {
        let answer = app.operator().patch(&path, &json!({"settings": settings})).await;
        let problem = answer.problem(422, "invalid_settings");
        assert_eq!(problem.fields["field"], field);
    }
    let body = json!({"capacity": 10, "rate_per_s": 1.0, "burst": 1});
    app.operator().put("/v1/admin/groups/shared", &body).await.expect(200);
    let body = json!({"group": "shared", "settings": {"mode": "auto"}});
    let problem = app.operator().patch(&path, &body).await.problem(422, "invalid_settings");
    assert_eq!(problem.fields["field"], "mode");
}

async fn rate(app: &TestApp, room: &str) -> f64 {
    app.operator().stats(room).await.rate_per_s
}

/// The site says how it is: the rate falls while it has too much, and comes back once it says nothing any more.
#[tokio::test]
async fn the_sites_word_moves_the_rate() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let site = app.integrator().await;
    let path = format!("/v1/rooms/{room}/signal");
    site.post(&path, &json!({"level": "ok"})).await.problem(409, "pacer_heeds_none");
    let pacer = json!({"kind": "signal", "start": 40, "floor": 1, "settle_ms": 1_000});
    app.operator().set(&room, json!({"pacer": pacer})).await;
    let _waits: (Visitor, PlaceView) = {
        let visitor = app.visitor();
        let place = visitor.wait_in(&room).await;
        (visitor, place)
    };
    site.post(&path, &json!({"level": "overloaded", "for_ms": 4_000})).await.expect(200);
    eventually("the rate is cut", async || (rate(&app, &room).await <= 20.0).then_some(())).await;
    assert_eq!(app.operator().stats(&room).await.site_load, Some(jari_api::LoadLevel::Overloaded));
    eventually("it is back", async || (rate(&app, &room).await >= 40.0).then_some(())).await;
    for (body, field) in [
        (json!({"level": "ok", "for_ms": 1}), "for_ms"),
        (json!({"level": "ok", "for_ms": 300_001}), "for_ms"),
    ] {
        let problem: Problem = site.post(&path, &body).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], field);
    }
    let anonymous = app.visitor().request(Method::POST, &path).json(&json!({"level": "ok"}));
    let refused = anonymous.send().await.expect("the server answers");
    assert_eq!(refused.status(), 401);
}
