//! API keys and what they may do.

use jari_testkit::{Integrator, Operator, TestApp};
use serde_json::{Value, json};

#[tokio::test]
async fn calls_without_a_good_key_are_refused_before_anything_else() {
    let app = TestApp::start().await;
    let anonymous = app.visitor();
    for path in [
        "/v1/admin/rooms",
        "/v1/admin/rooms/none",
        "/v1/admin/stats",
        "/v1/admin/groups",
        "/v1/admin/keys",
        "/v1/admin/audit",
    ] {
        anonymous.get(path).await.problem(401, "api_key_required");
        for key in ["jari_000000000000_00", "jari_", "wrong"] {
            let code = if key == "wrong" { "api_key_required" } else { "api_key_invalid" };
            Operator::new(app.url(), key).get(path).await.problem(401, code);
        }
    }
    let broken = Operator::new(app.url(), "jari_000000000000_00");
    broken.post("/v1/admin/rooms", &json!({"nonsense": 1})).await.problem(401, "api_key_invalid");
    app.stop().await;
}

#[tokio::test]
async fn a_tenants_key_opens_no_admin_call_and_no_other_tenants_room() {
    let app = TestApp::start().await;
    app.create_room(|room| {
        room.room = "mine".to_owned();
        room.identity = jari_api::Identity::Entry;
    })
    .await;
    app.create_tenant("other").await;
    app.create_room(|room| {
        room.room = "theirs".to_owned();
        room.tenant = Some("other".to_owned());
        room.identity = jari_api::Identity::Entry;
    })
    .await;
    let site = app.integrator().await;
    Operator::new(app.url(), site.key()).get("/v1/admin/rooms").await.problem(403, "api_key_scope");
    assert!(!site.entry("mine", "user-1").await.is_empty());
    let entries = |room: &str| format!("/v1/rooms/{room}/entries");
    let body = json!({"subject": "user-1"});
    site.post(&entries("theirs"), &body).await.problem(403, "api_key_scope");
    let admin = Integrator::new(app.url(), app.admin_key());
    admin.post(&entries("theirs"), &body).await.expect(201);
    app.visitor().get("/v1/admin/keys").await.problem(401, "api_key_required");
    app.stop().await;
}

#[tokio::test]
async fn a_key_is_shown_once_used_and_revoked() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let body = json!({"name": "second operator", "scope": "admin"});
    let made: Value = operator.post("/v1/admin/keys", &body).await.expect(201).json();
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    assert!(key.starts_with(&format!("jari_{id}_")), "{key}");
    let second = Operator::new(app.url(), key);
    let list = second.get("/v1/admin/keys").await.expect(200);
    assert!(!list.text().contains(key), "a key is never shown again");
    let keys = list.json::<Value>()["keys"].as_array().expect("a list").clone();
    assert_eq!(keys.len(), 2);
    let used = keys.iter().find(|key| key["id"] == *id).expect("it is listed");
    assert!(used["last_used_at"].is_string(), "its use was noted: {used}");

    let path = format!("/v1/admin/keys/{id}");
    let own = second.delete(&path).await;
    own.problem(422, "invalid_field");
    operator.delete(&path).await.expect(204);
    second.get("/v1/admin/keys").await.problem(401, "api_key_invalid");
    operator.delete(&path).await.expect(204);
    operator.delete("/v1/admin/keys/none").await.problem(404, "unknown_key");

    let app = app.restart().await;
    Operator::new(app.url(), key).get("/v1/admin/rooms").await.problem(401, "api_key_invalid");
    app.operator().get("/v1/admin/rooms").await.expect(200);
    app.stop().await;
}

#[tokio::test]
async fn names_and_tenants_of_keys_are_checked() {
    let app = TestApp::start().await;
    for (body, field) in [
        (json!({"name": "", "scope": "admin"}), "name"),
        (json!({"name": "x".repeat(101), "scope": "admin"}), "name"),
        (json!({"name": "x", "scope": "admin", "tenant": "A b"}), "tenant"),
    ] {
        let answer = app.operator().post("/v1/admin/keys", &body).await;
        answer.problem(422, "invalid_field");
        assert_eq!(answer.json::<Value>()["field"], field);
    }
    let answer =
        app.operator().post("/v1/admin/keys", &json!({"name": "x", "scope": "root"})).await;
    answer.problem(400, "malformed_body");
    app.stop().await;
}
