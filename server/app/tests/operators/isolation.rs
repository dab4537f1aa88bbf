//! Tenants apart: every call that takes an API key, made with another tenant's key. The list is the OpenAPI document's own,
//! so a new call is in it by itself.

use jari_api::Identity;
use jari_testkit::{Integrator, Operator, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

/// What no answer to a stranger may hold.
const SECRET: &str = "Theirs alone";

/// A call that takes an API key, with the names in its path filled in.
pub(crate) struct Keyed {
    pub(crate) method: Method,
    pub(crate) path: String,
}

/// Every call of the document that takes an API key: those of operators and of tenants.
pub(crate) async fn keyed(app: &TestApp, names: &[(&str, &str)]) -> Vec<Keyed> {
    let document: Value = app.visitor().get("/openapi.json").await.expect(200).json();
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let filled = names
            .iter()
            .fold(path.clone(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
        for (method, call) in methods.as_object().expect("methods") {
            let tag = call["tags"][0].as_str().expect("each call has a tag");
            if !["admin", "tenants"].contains(&tag) {
                continue;
            }
            assert!(!filled.contains('{'), "{filled}: say what stands for the name in it");
            let method = method.to_uppercase().parse().expect("a method");
            calls.push(Keyed { method, path: filled.clone() });
        }
    }
    calls
}

/// A body that would be taken, so that nothing but the key is wrong.
pub(crate) fn body(call: &Keyed) -> Option<Value> {
    let last = call.path.rsplit('/').next().expect("a part");
    let subjects = json!({"subjects": ["user-1"]});
    let limits = json!({"capacity": 1, "rate_per_s": 1, "burst": 1});
    let room = json!({"room": "new", "identity": "entry", "title": {"ko": "새", "en": "New"}, "target_url": "/"});
    match (&call.method, last) {
        (&Method::GET | &Method::DELETE, _) => None,
        (&Method::PUT, "theirs") => Some(json!({"name": "Mine"})),
        (&Method::PUT, _) => Some(limits),
        (&Method::PATCH, _) => Some(json!({"settings": {"capacity": 1}})),
        (_, "rooms") => Some(room),
        (_, "keys") => Some(json!({"name": "mine now", "scope": "admin"})),
        (_, "entries") => Some(json!({"subject": "user-1"})),
        (_, "admit") => Some(json!({"count": 1})),
        (_, "announce") => Some(json!({"text": "hello"})),
        (_, "signal") => Some(json!({"level": "ok"})),
        (_, "sold-out") => Some(json!({"sold_out": true})),
        (_, "block" | "unblock" | "allow" | "disallow" | "revoke") => Some(subjects),
        _ => Some(json!({})),
    }
}

/// Everything that a call could have changed.
pub(crate) async fn everything(operator: &Operator) -> Value {
    let mut all = Vec::new();
    for path in ["rooms", "groups", "tenants", "audit?limit=200"] {
        all.push(operator.get(&format!("/v1/admin/{path}")).await.expect(200).json::<Value>());
    }
    let keys: Value = operator.get("/v1/admin/keys").await.expect(200).json();
    let keys = keys["keys"].as_array().expect("a list").clone();
    all.extend(keys.into_iter().map(|mut key| {
        key["last_used_at"].take();
        key
    }));
    for room in ["mine", "theirs"] {
        let stats = operator.stats(room).await;
        all.push(json!([stats.waiting, stats.joined_total, stats.live, stats.state]));
    }
    Value::Array(all)
}

/// Two tenants with a room each, `mine` and `theirs`, and a limit group `both`.
pub(crate) async fn two_tenants(app: &TestApp) {
    let limits = json!({"capacity": 9, "rate_per_s": 9, "burst": 9});
    app.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    for room in ["mine", "theirs"] {
        app.create_tenant(room).await;
        app.create_room(|body| {
            body.room = room.to_owned();
            body.tenant = Some(room.to_owned());
            body.identity = Identity::Entry;
            body.title.en = SECRET.to_owned();
            body.settings.capacity = 0;
        })
        .await;
    }
}

async fn site(app: &TestApp, tenant: &str) -> (String, Integrator) {
    let body = json!({"name": tenant, "scope": "tenant", "tenant": tenant});
    let made: Value = app.operator().post("/v1/admin/keys", &body).await.expect(201).json();
    let (id, key) = (made["id"].as_str().expect("an id"), made["key"].as_str().expect("a key"));
    (id.to_owned(), Integrator::new(app.url(), key))
}

#[tokio::test]
async fn issue_5_another_tenant_s_key_reaches_changes_and_learns_nothing() {
    let app = TestApp::start().await;
    let operator = app.operator();
    two_tenants(&app).await;
    let (_, mine) = site(&app, "mine").await;
    let (their_id, theirs) = site(&app, "theirs").await;
    let entry = theirs.entry("theirs", "user-1").await;
    app.visitor().join_with("theirs", &entry).await.expect(201);
    let before = everything(&operator).await;

    let calls = keyed(
        &app,
        &[("room", "theirs"), ("group", "both"), ("tenant", "theirs"), ("id", &their_id)],
    )
    .await;
    assert!(calls.len() >= 30, "{} calls", calls.len());
    let stranger = Operator::new(app.url(), mine.key());
    for call in &calls {
        let mut request = stranger.request(call.method.clone(), &call.path);
        if let Some(body) = body(call) {
            request = request.json(&body);
        }
        let answer = request.send().await.expect("an answer");
        let (status, text) = (answer.status().as_u16(), answer.text().await.expect("a body"));
        let told = format!("{} {}: {status} {text}", call.method, call.path);
        assert_eq!(status, 403, "{told}");
        assert!(text.contains("api_key_scope") && !text.contains(SECRET), "{told}");
    }
    assert_eq!(everything(&operator).await, before, "nothing changed");

    // The same calls are good with the right key: it was the tenant that was wrong.
    theirs.entry("theirs", "user-2").await;
    theirs.admit("theirs", json!({"count": 1})).await.expect(200);
    mine.admit("mine", json!({"count": 1})).await.expect(200);
    app.stop().await;
}
