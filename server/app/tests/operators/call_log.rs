//! The call log: one line a call, and nothing secret or personal in any line of the log.

use jari_testkit::{Operator, Process, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::JARI;

/// Everything that must never be logged, each in a place where a careless line would catch it.
const SECRETS: [&str; 8] = [
    "secret-in-query",
    "secret-in-path",
    "secret-in-cookie",
    "secret-in-bearer",
    "secret-in-header",
    "secret-in-body",
    "secret-subject",
    "secret-in-agent",
];

#[tokio::test]
async fn no_line_of_the_log_holds_a_secret() {
    let dir = TempDir::new().expect("a folder");
    let server = Process::serve(JARI, dir.path())
        .arg("--log-format")
        .arg("json")
        .arg("--log-level")
        .arg("debug")
        .start()
        .await;
    let key = server.wait_for_key().await;
    let operator = server.operator(&key);
    let room = |id: &str, identity: &str| json!({"room": id, "identity": identity, "title": {"ko": "a", "en": "a"}, "target_url": "/"});
    for (id, identity) in [("shop", "anonymous"), ("members", "entry")] {
        operator.post("/v1/admin/rooms", &room(id, identity)).await.expect(201);
    }
    let visitor = server.visitor();
    let identity = visitor.identify().await.visitor_token;
    let place = visitor.join("shop").await;
    let view: Value = place.json();
    let mut events = visitor.events("shop").await;
    events.next_of("place").await;
    drop(events);
    let pass = eventually("the visitor is admitted", async || {
        visitor.join("shop").await.json::<Value>()["pass"]["token"].as_str().map(str::to_owned)
    })
    .await;
    visitor.gate("shop").await.expect(204);
    let entry: Value = operator
        .post("/v1/rooms/members/entries", &json!({"subject": "secret-subject"}))
        .await
        .expect(201)
        .json();
    let entry = entry["entry_token"].as_str().expect("a token").to_owned();
    server.visitor().join_with("members", &entry).await.expect(201);
    let whom = json!({"subjects": ["secret-subject"]});
    operator.post("/v1/rooms/members/admit", &whom).await.expect(200);
    operator.steer("members", "block", json!({"subjects": ["secret-subject"]})).await.expect(200);
    careless(&server, &operator).await;
    let named = key.rsplit_once('_').expect("an id and a secret").0;
    let imposter = server.visitor().request(reqwest::Method::GET, "/v1/rooms/members");
    imposter.bearer_auth(format!("{named}_none")).send().await.expect("an answer");
    let made = operator.post("/v1/admin/keys", &json!({"name": "x", "scope": "tenant"})).await;
    let made = made.expect(201).json::<Value>()["key"].as_str().expect("a key").to_owned();

    server.terminate().await;
    let mut server = server;
    server.wait().await;
    let log = server.stderr();
    let mut tokens = vec![identity, pass, entry, key, made];
    for token in ["place_token", "stream_key"] {
        tokens.extend(view[token].as_str().map(str::to_owned));
    }
    assert!(tokens.len() >= 6, "the tokens of this test are there to be looked for: {view}");
    for secret in SECRETS.iter().map(|text| (*text).to_owned()).chain(tokens) {
        // The head of a token tells nothing; its tail is the signature.
        let tail = &secret[secret.len() - 8.min(secret.len())..];
        for line in log.lines() {
            assert!(!line.contains(&secret) && !line.contains(tail), "{secret} is in {line}");
        }
    }
    check_lines(&log);
}

/// Calls with a secret in every part that a client writes.
async fn careless(server: &Process, operator: &Operator) {
    let visitor = server.visitor();
    let get = |path: &str| visitor.request(reqwest::Method::GET, path);
    for request in [
        get("/v1/rooms/shop?token=secret-in-query"),
        get("/secret-in-path/secret-in-path"),
        get("/v1/rooms/secret-in-path"),
        get("/v1/rooms/shop/places/me").header("cookie", "jari_place_shop=secret-in-cookie"),
        get("/v1/rooms/shop/places/me").bearer_auth("secret-in-bearer"),
        get("/v1/admin/rooms").bearer_auth("jari_secret-in-bearer_secret-in-bearer"),
        get("/v1/rooms/shop/places/me").header("jari-visitor", "secret-in-header"),
        get("/v1/rooms/shop").header("user-agent", "secret-in-agent"),
        get("/v1/rooms/shop/events?key=secret-in-query"),
        visitor.request(reqwest::Method::POST, "/v1/rooms/shop/places").body("secret-in-body"),
    ] {
        // How each is answered is not this test's matter.
        let _ = request.send().await.expect("an answer");
    }
    operator.post("/v1/admin/rooms", &json!({"secret-in-body": 1})).await;
}

/// Every call has one line with the fields that an operator searches by.
fn check_lines(log: &str) {
    let lines: Vec<Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), log.lines().count(), "every line is JSON");
    let calls: Vec<_> = lines.iter().filter(|line| line["target"] == "jari::call").collect();
    let join =
        calls.iter().find(|line| line["route"] == "/v1/rooms/{room}/places").expect("a join");
    assert_eq!(
        (&join["method"], &join["status"], &join["room"]),
        (&json!("POST"), &json!(201), &json!("shop"))
    );
    assert!(join["duration_ms"].is_f64() && join["call"].is_string(), "{join}");
    let made =
        calls.iter().find(|line| line["route"] == "/v1/admin/rooms").expect("a room was made");
    assert!(made["actor"].as_str().is_some_and(|actor| actor.starts_with("key:")), "{made}");
    assert!(calls.iter().any(|line| line["route"] == "unmatched" && line["code"] == "not_found"));
    let shown = calls.iter().find(|line| {
        (&line["route"], &line["room"]) == (&json!("/v1/rooms/{room}"), &json!("members"))
    });
    let shown = shown.expect("the room was shown to somebody who only named a key");
    assert_eq!(shown["actor"], "visitor", "{shown}");
    let message = |text: &str| {
        lines.iter().any(|line| line["message"].as_str().is_some_and(|said| said.contains(text)))
    };
    assert!(message("stream of shop began") && message("stream of shop ended"));
}
