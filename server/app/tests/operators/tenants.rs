//! Tenants: made, changed, listed and deleted; nothing belongs to one that there is none of.

use jari_testkit::TestApp;
use serde_json::{Value, json};

#[tokio::test]
async fn issue_5_a_tenant_is_made_changed_listed_and_deleted() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let path = "/v1/admin/tenants/opera";
    operator.get(path).await.problem(404, "unknown_tenant");
    let made: Value = operator.put(path, &json!({"name": "City opera"})).await.expect(200).json();
    let want = json!({"tenant": "opera", "name": "City opera", "rooms_max": 100,
        "joins_per_minute": 0, "entries_per_minute": 0, "return_urls": [], "cors_origins": [],
        "version": 1, "rooms": []});
    assert_eq!(made, want);
    let body = json!({"name": "Opera", "rooms_max": 1});
    let stale = operator.request(reqwest::Method::PUT, path).header("If-Match", "\"9\"");
    assert_eq!(stale.json(&body).send().await.expect("an answer").status(), 412);
    operator.put(path, &body).await.expect(200);

    let room = app.create_room(|room| room.tenant = Some("opera".to_owned())).await;
    let another = json!({"room": "another", "tenant": "opera", "identity": "anonymous",
        "title": {"ko": "둘", "en": "Another"}, "target_url": "/"});
    operator.post("/v1/admin/rooms", &another).await.problem(409, "tenant_full");
    let list: Value = operator.get("/v1/admin/tenants").await.expect(200).json();
    let names: Vec<_> = list["tenants"].as_array().expect("a list").iter().collect();
    assert_eq!((&names[0]["tenant"], &names[1]["rooms"]), (&json!("default"), &json!([room])));

    operator.delete(path).await.problem(409, "tenant_in_use");
    operator.delete(&format!("/v1/admin/rooms/{room}")).await.expect(204);
    operator.delete(path).await.expect(204);
    operator.delete(path).await.problem(404, "unknown_tenant");
    let page: Value = operator.get("/v1/admin/audit?target=tenant:opera").await.expect(200).json();
    let entries = page["entries"].as_array().expect("a list");
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str()).collect();
    assert_eq!(actions, [Some("tenant.delete"), Some("tenant.set"), Some("tenant.set")]);
    assert_eq!(entries[1]["before"]["name"], "City opera");
    assert_eq!(entries[1]["after"]["rooms_max"], 1);
    app.stop().await;
}

/// Each once, and as browsers write them.
#[tokio::test]
async fn issue_5_return_urls_and_origins_are_kept_in_one_spelling() {
    let app = TestApp::start().await;
    let body = json!({"name": "Opera",
        "return_urls": ["https://Opera.example:443/tickets", "https://opera.example/tickets", "http://[::1]:3000"],
        "cors_origins": ["https://APP.example/", "https://app.example"]});
    let path = "/v1/admin/tenants/opera";
    let made: Value = app.operator().put(path, &body).await.expect(200).json();
    assert_eq!(made["return_urls"], json!(["https://opera.example/tickets", "http://[::1]:3000/"]));
    assert_eq!(made["cors_origins"], json!(["https://app.example"]));
    let app = app.restart().await;
    let read: Value = app.operator().get(path).await.expect(200).json();
    assert_eq!(
        (&read["return_urls"], &read["cors_origins"]),
        (&made["return_urls"], &made["cors_origins"])
    );
    app.stop().await;
}

#[tokio::test]
async fn issue_5_nothing_belongs_to_a_tenant_that_there_is_none_of() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let room = json!({"room": "aida", "tenant": "opera", "identity": "anonymous",
        "title": {"ko": "아이다", "en": "Aida"}, "target_url": "/"});
    let key = json!({"name": "opera", "scope": "tenant", "tenant": "opera"});
    for (path, body) in [("/v1/admin/rooms", &room), ("/v1/admin/keys", &key)] {
        let problem = operator.post(path, body).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], "tenant");
    }
    app.visitor().get("/v1/rooms/aida").await.problem(404, "unknown_room");
    for (body, field) in [
        (json!({"name": ""}), "name"),
        (json!({"name": "a\nb"}), "name"),
        (json!({"name": "x", "rooms_max": 100_001}), "rooms_max"),
    ] {
        let problem =
            operator.put("/v1/admin/tenants/opera", &body).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], field);
    }
    for (field, texts, why) in [
        ("return_urls", json!(["https://a.example/*"]), "not plain"),
        ("return_urls", json!(["http://a.example/"]), "loopback"),
        ("return_urls", json!(["https://a.example/#x"]), "fragment"),
        ("return_urls", json!(["https://user@a.example/"]), "no https address"),
        ("return_urls", json!(vec!["https://a.example/"; 33]), "more than 32"),
        ("cors_origins", json!(["*"]), "no https address"),
        ("cors_origins", json!(["null"]), "no https address"),
        ("cors_origins", json!(["https://a.example/x"]), "has a path"),
        ("cors_origins", json!(["https://*.example"]), "no https address"),
    ] {
        let body = json!({"name": "Opera", field: texts});
        let problem =
            operator.put("/v1/admin/tenants/opera", &body).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], field);
        let told = problem.fields["problem"].as_str().expect("a text");
        assert!(told.contains(why), "{body}: {told}");
    }
    let wrong = operator.put("/v1/admin/tenants/A%20b", &json!({"name": "x"})).await;
    wrong.problem(422, "invalid_field");
    app.stop().await;
}
