//! Changes by two operators at once: control and memory agree when both are answered.

use std::sync::Arc;
use std::time::Duration;

use jari::{SystemClock, SystemEntropy};
use jari_embedded::EmbeddedStore;
use jari_http::api_keys::FreshKey;
use jari_http::metrics::Metrics;
use jari_http::{AppParts, AppState, HttpOptions};
use jari_pass::{KeyRing, RingKey};
use jari_ports::{ApiKeyScope, AuditEntry, Clock, Control, NewApiKey};
use jari_records::Records;
use jari_testkit::{EveryRoom, Integrator, Operator};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::lagging::Lagging;

/// How late the first change's answer from control is, and how long the second waits before it starts.
const LATE: Duration = Duration::from_millis(600);
const AFTER: Duration = Duration::from_millis(200);

struct Crossed {
    url: url::Url,
    operator: Operator,
    control: Arc<Lagging<Records>>,
    _dir: TempDir,
}

async fn start() -> Crossed {
    let dir = TempDir::new().expect("a temporary folder");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let line = EmbeddedStore::open(&dir.path().join("line"), clock.clone()).expect("a folder");
    let records = dir.path().join("records.db").display().to_string();
    let control = Arc::new(Lagging::new(
        Records::open(&records, Duration::ZERO).await.expect("a fresh file"),
    ));
    let admin = FreshKey::make(&SystemEntropy);
    let (id, tenant) = (admin.id.clone(), "default".parse().expect("an id"));
    let (scope, name, hash) = (ApiKeyScope::Admin, "a test".to_owned(), admin.hash);
    let key = NewApiKey { id, tenant, scope, name, hash };
    control.add_api_key(key, clock.now(), AuditEntry::default()).await.expect("stored");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let url: url::Url = format!("http://{address}/").parse().expect("a URL");
    let keys = vec![RingKey { id: 1, secret: [1; 32], signs: true }];
    let state = AppState::start(AppParts {
        store: Arc::new(line),
        leases: Arc::new(EveryRoom),
        control: control.clone(),
        clock,
        entropy: Arc::new(SystemEntropy),
        keys: KeyRing::new(keys, [2; 32]).expect("one signs"),
        options: HttpOptions::new(url.clone()),
        metrics: Arc::new(Metrics::new()),
        traces: None,
        starting: Arc::default(),
    })
    .await
    .expect("everything answers");
    tokio::spawn(jari_http::serve(state, listener));
    let operator = Operator::new(url.clone(), &admin.text);
    Crossed { url, operator, control, _dir: dir }
}

fn room() -> Value {
    json!({
        "room": "shop", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
    })
}

#[tokio::test]
async fn a_room_made_while_its_name_is_deleted_is_there() {
    let crossed = start().await;
    let operator = &crossed.operator;
    operator.post("/v1/admin/rooms", &room()).await.expect(201);
    crossed.control.delay_next("delete_room", LATE);
    let made = async {
        tokio::time::sleep(AFTER).await;
        operator.post("/v1/admin/rooms", &room()).await
    };
    let (deleted, made) = tokio::join!(operator.delete("/v1/admin/rooms/shop"), made);
    deleted.expect(204);
    made.expect(201);
    operator.get("/v1/admin/rooms/shop").await.expect(200);
    operator.delete("/v1/admin/rooms/shop").await.expect(204);
}

#[tokio::test]
async fn a_key_revoked_while_another_is_stays_refused() {
    let crossed = start().await;
    let operator = &crossed.operator;
    let mut keys = Vec::new();
    for name in ["first", "second"] {
        let body = json!({"name": name, "scope": "tenant"});
        let made = operator.post("/v1/admin/keys", &body).await.expect(201);
        keys.push(made.json::<jari_api::admin::ApiKeyCreated>());
    }
    let path = |number: usize| format!("/v1/admin/keys/{}", keys[number].id);
    crossed.control.delay_next("api_keys", LATE);
    let second = async {
        tokio::time::sleep(AFTER).await;
        operator.delete(&path(1)).await
    };
    let first = path(0);
    let (first, second) = tokio::join!(operator.delete(&first), second);
    first.expect(204);
    second.expect(204);
    for key in &keys {
        let holder = Integrator::new(crossed.url.clone(), &key.key);
        let answer = holder.post("/v1/rooms/none/entries", &json!({"subject": "a"})).await;
        answer.problem(401, "api_key_invalid");
    }
}

/// A script that makes thousands of rooms has a node read none of them back.
#[tokio::test]
async fn issue_4_what_a_node_wrote_itself_is_not_read_back() {
    let crossed = start().await;
    let (operator, control) = (&crossed.operator, &crossed.control);
    let read = control.asked("rooms");
    for number in 0..5 {
        let mut room = room();
        room["room"] = json!(format!("room-{number}"));
        operator.post("/v1/admin/rooms", &room).await.expect(201);
    }
    operator.set("room-0", json!({"capacity": 7})).await;
    operator.delete("/v1/admin/rooms/room-1").await.expect(204);
    assert_eq!((control.asked("rooms"), control.asked("put_room")), (read, 6));
}
