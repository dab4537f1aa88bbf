//! The audit trail: every change is in it, with who did it; no key is.

use jari_testkit::TestApp;
use serde_json::{Value, json};

async fn trail(app: &TestApp, query: &str) -> Vec<Value> {
    let answer = app.operator().get(&format!("/v1/admin/audit{query}")).await.expect(200);
    answer.json::<Value>()["entries"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn every_change_is_noted_with_who_what_and_before_and_after() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.capacity = 5).await;
    let operator = app.operator();
    operator.set(&id, json!({"capacity": 6})).await;
    operator.steer(&id, "announce", json!({"text": "hello"})).await.expect(200);
    operator.steer(&id, "pause", json!({})).await.expect(200);
    let limits = json!({"capacity": 1, "rate_per_s": 1, "burst": 1});
    operator.put("/v1/admin/groups/g", &limits).await.expect(200);
    let site = app.integrator().await;
    operator.delete(&format!("/v1/admin/rooms/{id}")).await.expect(204);

    let entries = trail(&app, "").await;
    let actions: Vec<_> =
        entries.iter().map(|entry| entry["action"].as_str().expect("text")).collect();
    let want = [
        "room.delete",
        "key.create",
        "group.set",
        "room.pause",
        "room.announce",
        "room.change",
        "room.create",
        "key.create",
        "signing-key.create",
        "signing-key.create",
    ];
    assert_eq!(actions, want, "newest first, the first start's keys last");
    let key_id = app.admin_key().split('_').nth(1).expect("an id");
    assert_eq!(entries[0]["actor"], format!("key:{key_id}"));
    assert_eq!(entries[7]["actor"], "system");
    let change = &entries[5];
    assert_eq!(change["before"]["settings"]["capacity"], 5);
    assert_eq!(change["after"]["settings"]["capacity"], 6);
    assert_eq!(entries[4]["before"], json!({"text": ""}));
    assert_eq!(entries[4]["after"], json!({"text": "hello"}));
    assert_eq!(entries[3]["before"], json!({"paused": false}));
    assert_eq!(entries[3]["after"], json!({"paused": true}));
    let all = json!(entries).to_string();
    for key in [app.admin_key(), site.key()] {
        assert!(!all.contains(key), "a key is in the audit trail");
        let secret = key.rsplit('_').next().expect("a part");
        assert!(!all.contains(secret), "a key's secret is in the audit trail");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_trail_is_paged_filtered_and_kept() {
    let app = TestApp::start().await;
    for id in ["a", "b"] {
        app.create_room(|room| room.room = id.to_owned()).await;
    }
    let of_a = trail(&app, "?target=room:a").await;
    assert_eq!(of_a.len(), 1);
    let first: Value = app.operator().get("/v1/admin/audit?limit=2").await.expect(200).json();
    assert_eq!(first["entries"].as_array().map(Vec::len), Some(2));
    let before = first["next_before_no"].as_u64().expect("there is more");
    let rest = trail(&app, &format!("?limit=2&before_no={before}")).await;
    assert_eq!(rest.len(), 2);
    for bad in ["?limit=0", "?limit=201"] {
        app.operator().get(&format!("/v1/admin/audit{bad}")).await.problem(422, "invalid_field");
    }
    let app = app.restart().await;
    assert_eq!(trail(&app, "").await.len(), 5, "a restart makes no key and loses no entry");
    app.stop().await;
}

/// A tenant's own admissions are in the trail like an operator's, and nothing is that was refused.
#[tokio::test]
async fn issue_5_a_tenant_s_admissions_are_noted_and_refused_ones_are_not() {
    let app = TestApp::start().await;
    let entry = jari_api::Identity::Entry;
    let mine = app.create_room(|room| room.identity = entry).await;
    app.create_tenant("other").await;
    let theirs = app
        .create_room(|room| {
            room.room = "theirs".to_owned();
            room.identity = entry;
            room.tenant = Some("other".to_owned());
        })
        .await;
    let site = app.integrator().await;
    let of = async |room: &str| trail(&app, &format!("?target=room:{room}")).await;
    for refused in [json!({}), json!({"count": 0}), json!({"count": 1, "subjects": ["a"]})] {
        site.admit(&mine, refused).await.problem(422, "invalid_field");
    }
    site.admit(&theirs, json!({"count": 1})).await.problem(403, "api_key_scope");
    assert_eq!((of(&mine).await.len(), of(&theirs).await.len()), (1, 1), "they were made");

    site.admit(&mine, json!({"count": 3})).await.expect(200);
    site.admit(&mine, json!({"subjects": ["user-1"]})).await.expect(200);
    let entries = of(&mine).await;
    assert_eq!(entries.len(), 3);
    let actor = format!("key:{}", site.key().split('_').nth(1).expect("an id"));
    for (noted, told) in entries.iter().zip([json!({"subjects": ["user-1"]}), json!({"count": 3})])
    {
        assert_eq!((&noted["action"], &noted["after"]), (&json!("room.admit"), &told));
        assert_eq!(noted["actor"], actor);
    }
    app.stop().await;
}

/// What was before, as far as a room knows it, is in the trail beside what was ordered.
#[tokio::test]
async fn issue_5_an_order_s_entry_tells_what_was_before() {
    let app = TestApp::start().await;
    let id = app.create_room(|_| {}).await;
    let words = json!({"message": "later"});
    for (action, body) in [
        ("sold-out", json!({"sold_out": true})),
        ("announce", json!({"text": "one"})),
        ("announce", json!({"text": "two"})),
        ("close", words.clone()),
        ("open", json!({})),
    ] {
        app.operator().steer(&id, action, body).await.expect(200);
    }
    let entries = trail(&app, &format!("?target=room:{id}&limit=5")).await;
    let told: Vec<_> = entries.iter().map(|entry| (&entry["before"], &entry["after"])).collect();
    let (empty, none) = (json!({}), Value::Null);
    assert_eq!(told[0], (&words, &empty));
    assert_eq!(told[1], (&none, &words));
    assert_eq!(told[2], (&json!({"text": "one"}), &json!({"text": "two"})));
    assert_eq!(told[4], (&json!({"sold_out": false}), &json!({"sold_out": true})));
    app.stop().await;
}
