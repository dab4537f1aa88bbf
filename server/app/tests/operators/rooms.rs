//! Definitions of rooms: made, read, changed and deleted, and every refusal names what is wrong.

use jari_testkit::TestApp;
use serde_json::{Value, json};

fn room(id: &str) -> Value {
    json!({
        "room": id,
        "identity": "anonymous",
        "title": {"ko": "가을 공연", "en": "Autumn show"},
        "target_url": "https://shop.example/sale",
    })
}

#[tokio::test]
async fn a_room_is_made_with_defaults_and_read_back() {
    let app = TestApp::start().await;
    let made = app.operator().post("/v1/admin/rooms", &room("shop")).await.expect(201);
    assert_eq!(made.header("etag"), Some("\"1\""));
    let view: Value = made.json();
    assert_eq!(
        (&view["settings"]["capacity"], &view["settings"]["rate_per_s"]),
        (&json!(5_000), &json!(200.0))
    );
    assert_eq!((&view["tenant"], &view["version"]), (&json!("default"), &json!(1)));
    let read: Value = app.operator().get("/v1/admin/rooms/shop").await.expect(200).json();
    assert_eq!(read, view);
    let list: Value = app.operator().get("/v1/admin/rooms").await.expect(200).json();
    assert_eq!(list, json!({"rooms": [view]}));
    let again = app.operator().post("/v1/admin/rooms", &room("shop")).await;
    again.problem(409, "already_exists");
    app.stop().await;
}

#[tokio::test]
async fn a_patch_changes_what_it_names_in_control_and_in_the_line() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.capacity = 7).await;
    let path = format!("/v1/admin/rooms/{id}");
    let patch = json!({"settings": {"rate_per_s": 0.5, "admit_total": 9}, "title": {"en": "New"}});
    let view: Value = app.operator().patch(&path, &patch).await.expect(200).json();
    assert_eq!(view["title"], json!({"ko": "시험", "en": "New"}));
    assert_eq!((&view["settings"]["capacity"], &view["version"]), (&json!(7), &json!(2)));
    assert_eq!(app.operator().stats(&id).await.rate_per_s, 0.5, "the line follows at once");

    let patch = json!({"settings": {"admit_total": null}});
    let view: Value = app.operator().patch(&path, &patch).await.expect(200).json();
    assert_eq!(view["settings"].get("admit_total"), None);
    let app = app.restart().await;
    let kept: Value = app.operator().get(&path).await.expect(200).json();
    assert_eq!(kept, view, "control keeps it over a restart");
    assert_eq!(app.operator().stats(&id).await.rate_per_s, 0.5);
    app.stop().await;
}

#[tokio::test]
async fn changing_the_rate_keeps_everybodys_place() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    let (first, second) = (app.visitor(), app.visitor());
    let one = first.wait_in(&id).await;
    let two = second.wait_in(&id).await;
    app.operator().set(&id, json!({"capacity": 1})).await;
    let again: jari_api::PlaceView = first.join(&id).await.expect(200).json();
    assert_eq!((again.seq, one.seq, two.seq), (1, 1, 2), "Q1: a place is given once");
    app.stop().await;
}

#[tokio::test]
async fn an_outdated_version_is_refused() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let path = format!("/v1/admin/rooms/{id}");
    let change = async |version: &str| {
        let request = app.operator().request(reqwest::Method::PATCH, &path);
        let body = json!({"target_url": format!("/{}", version.trim_matches('"'))});
        request.header("if-match", version).json(&body).send().await.expect("an answer").status()
    };
    assert_eq!(change("\"1\"").await, 200);
    assert_eq!(change("\"1\"").await, 412, "somebody was faster");
    assert_eq!(change("\"2\"").await, 200);
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let try_with = async |change: fn(&mut Value)| {
        let mut body = room("shop");
        change(&mut body);
        operator.post("/v1/admin/rooms", &body).await
    };
    let field =
        |answer: &jari_testkit::Answer| -> Value { answer.json::<Value>()["field"].clone() };

    let unknown = try_with(|room| room["settings"] = json!({"capasity": 5})).await;
    let problem = unknown.problem(400, "malformed_body");
    assert!(problem.detail.contains("capasity"), "{}", problem.detail);
    for (change, name) in [
        ((|room| room["settings"] = json!({"burst": 0})) as fn(&mut Value), "burst"),
        (|room| room["settings"] = json!({"rate_per_s": -1}), "rate_per_s"),
        (|room| room["settings"] = json!({"rate_per_s": 0.0004}), "rate_per_s"),
        (|room| room["settings"] = json!({"pass_ttl_ms": 1}), "pass_ttl_ms"),
        (|room| room["settings"] = json!({"joins_from": "2027-01-01T00:00:00Z"}), "joins_from"),
    ] {
        let answer = try_with(change).await;
        answer.problem(422, "invalid_settings");
        assert_eq!(field(&answer), name);
    }
    for (change, name) in [
        ((|room| room["room"] = json!("Shop")) as fn(&mut Value), "room"),
        (|room| room["tenant"] = json!("a/b"), "tenant"),
        (|room| room["group"] = json!("nobody"), "group"),
        (|room| room["target_url"] = json!("javascript:alert(1)"), "target_url"),
        (|room| room["title"] = json!({"ko": "", "en": ""}), "title"),
    ] {
        let answer = try_with(change).await;
        answer.problem(422, "invalid_field");
        assert_eq!(field(&answer), name);
    }
    let list: Value = operator.get("/v1/admin/rooms").await.json();
    assert_eq!(list, json!({"rooms": []}), "nothing was made of what was refused");
    app.stop().await;
}

/// Of two settings that do not go together, the one that was sent is named: a form marks it, and its sender knows it.
#[tokio::test]
async fn of_two_settings_that_clash_the_one_that_was_sent_is_named() {
    let app = TestApp::start().await;
    let times = json!({"joins_from": "2037-01-01T00:00:00Z", "opens_at": "2037-01-02T00:00:00Z",
        "closes_at": "2037-01-03T00:00:00Z"});
    for (before, change, field) in [
        (json!({}), json!({"poll_near_ms": 99_999_999}), "poll_near_ms"),
        (json!({}), json!({"poll_far_ms": 500}), "poll_far_ms"),
        (json!({}), json!({"poll_near_ms": 9_000, "poll_far_ms": 8_000}), "poll_far_ms"),
        (times.clone(), json!({"opens_at": "2036-01-01T00:00:00Z"}), "opens_at"),
        (times.clone(), json!({"opens_at": null}), "opens_at"),
        (times.clone(), json!({"joins_from": "2037-01-02T00:00:01Z"}), "joins_from"),
        (
            times.clone(),
            json!({"joins_from": null, "opens_at": "2038-01-01T00:00:00Z"}),
            "opens_at",
        ),
        (times, json!({"closes_at": "2037-01-01T12:00:00Z"}), "closes_at"),
        (json!({}), json!({"pacer": {"kind": "aimd", "floor": 201}}), "pacer.floor"),
        (json!({}), json!({"pacer": {"kind": "aimd", "ceiling": 4}}), "pacer.ceiling"),
        (json!({}), json!({"pacer": {"kind": "signal", "floor": 51}}), "pacer.floor"),
        (json!({}), json!({"pacer": {"kind": "signal", "start": 201}}), "pacer.start"),
        (json!({}), json!({"pacer": {"kind": "signal", "ceiling": 49}}), "pacer.ceiling"),
    ] {
        let id = app.create_room(|_| ()).await;
        app.operator().set(&id, before).await;
        let path = format!("/v1/admin/rooms/{id}");
        let answer = app.operator().patch(&path, &json!({"settings": change})).await;
        let problem = answer.problem(422, "invalid_settings");
        assert_eq!(problem.fields["field"], field, "{change}: {problem:?}");
        app.operator().delete(&path).await.expect(204);
    }
    app.stop().await;
}

/// A merge patch alone would leave the other kind's fields in place, and then refuse them. As by the command line, the rates
/// that both have stay.
#[tokio::test]
async fn a_pacer_of_another_kind_needs_no_nulls_for_what_the_old_one_had() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| ()).await;
    let path = format!("/v1/admin/rooms/{id}");
    let pacer = async |patch: Value| -> Value {
        let patch = json!({"settings": {"pacer": patch}});
        let view: Value = app.operator().patch(&path, &patch).await.expect(200).json();
        view["settings"]["pacer"].clone()
    };
    let aimd = pacer(json!({"kind": "aimd", "floor": 7})).await;
    assert_eq!((&aimd["floor"], &aimd["threshold"]), (&json!(7), &json!(100)));
    let same = pacer(json!({"kind": "aimd", "increase": 9})).await;
    assert_eq!(
        (&same["floor"], &same["increase"]),
        (&json!(7), &json!(9)),
        "the same kind goes on"
    );
    let same = pacer(json!({"increase": 8})).await;
    assert_eq!((&same["floor"], &same["increase"]), (&json!(7), &json!(8)));
    let signal = pacer(json!({"kind": "signal", "start": 60})).await;
    assert_eq!((&signal["floor"], &signal["start"]), (&json!(7), &json!(60)));
    let aimd = pacer(json!({"kind": "aimd"})).await;
    assert_eq!((&aimd["floor"], &aimd["start"]), (&json!(7), &json!(60)));
    assert_eq!(pacer(json!({"kind": "fixed"})).await, json!({"kind": "fixed"}));
    assert_eq!(
        pacer(json!({"kind": "aimd"})).await["floor"],
        5,
        "and of what has none, the default"
    );
    // What the new kind does not have is refused as ever, where it is sent.
    let patch = json!({"settings": {"pacer": {"kind": "signal", "threshold": 9}}});
    app.operator().patch(&path, &patch).await.problem(400, "malformed_body");
    app.stop().await;
}

#[tokio::test]
async fn whose_room_it_is_and_who_waits_in_it_never_change() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let path = format!("/v1/admin/rooms/{id}");
    for (patch, field) in [
        (json!({"room": "other"}), "room"),
        (json!({"tenant": "other"}), "tenant"),
        (json!({"identity": "entry"}), "identity"),
    ] {
        let answer = app.operator().patch(&path, &patch).await;
        answer.problem(422, "invalid_field");
        assert_eq!(answer.json::<Value>()["field"], field);
    }
    app.operator().patch(&path, &json!(["no object"])).await.problem(400, "malformed_body");
    app.stop().await;
}

#[tokio::test]
async fn a_deleted_room_is_gone_and_its_name_begins_anew() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    let path = format!("/v1/admin/rooms/{id}");
    app.operator().delete(&path).await.expect(204);
    app.operator().get(&path).await.problem(404, "unknown_room");
    app.operator().delete(&path).await.problem(404, "unknown_room");
    app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    assert_eq!(app.operator().stats(&id).await.waiting, 0);
    app.stop().await;
}
