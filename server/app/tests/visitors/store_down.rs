//! The store away: places are still told from memory, joins say when to come back, and each room's gate does what its
//! operator chose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jari::{SystemClock, SystemEntropy};
use jari_api::admin::LiveFrame;
use jari_api::{PlaceStatus, PlaceView};
use jari_embedded::EmbeddedStore;
use jari_http::api_keys::FreshKey;
use jari_http::metrics::Metrics;
use jari_http::{AppParts, AppState, HttpOptions};
use jari_line::Settings;
use jari_pass::{KeyRing, RingKey};
use jari_ports::{
    ApiKeyScope, AuditEntry, Clock, Control, Identity, LineStore, NewApiKey, OnStoreFailure,
    RoomDefinition, StoreError,
};
use jari_records::Records;
use jari_testkit::{EveryRoom, Operator, Visitor, eventually};
use jari_units::{Mark, RoomId};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::breakable::Breakable;

/// As the gate: it opens to all only after this.
const FAIL_OPEN_AFTER: Duration = Duration::from_secs(5);

pub(crate) struct Broken {
    pub(crate) url: url::Url,
    operator: Operator,
    pub(crate) state: AppState,
    pub(crate) down: Arc<AtomicBool>,
    _dir: TempDir,
}

fn room(id: &str, on_store_failure: OnStoreFailure) -> RoomDefinition {
    RoomDefinition {
        id: id.parse().expect("an id"),
        tenant: "default".parse().expect("an id"),
        group: None,
        identity: Identity::Anonymous,
        title_ko: "시험".to_owned(),
        title_en: "Test".to_owned(),
        target_url: "/target".to_owned(),
        on_store_failure,
        handover: jari_ports::Handover::Cookie,
        challenge: jari_ports::Challenge::default(),
        settings: Settings { rate_milli: 1_000_000, ..Settings::default() },
        version: 0,
        created_at: SystemClock.now(),
    }
}

/// A server whose store can be broken, with one room of each policy.
pub(crate) async fn start() -> Broken {
    let dir = TempDir::new().expect("a temporary folder");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let line =
        EmbeddedStore::open(&dir.path().join("line"), clock.clone()).expect("a fresh folder");
    let records = dir.path().join("records.db").display().to_string();
    let control = Arc::new(Records::open(&records, Duration::ZERO).await.expect("a fresh file"));
    for (id, policy) in [
        ("wait", OnStoreFailure::Wait),
        ("refuse", OnStoreFailure::Refuse),
        ("pass", OnStoreFailure::Pass),
    ] {
        let room = room(id, policy);
        line.create(&room.id, room.settings.clone()).await.expect("made");
        control.put_room(room, AuditEntry::default()).await.expect("stored");
    }
    let key = FreshKey::make(&SystemEntropy);
    let admin = NewApiKey {
        id: key.id,
        tenant: "default".parse().expect("an id"),
        scope: ApiKeyScope::Admin,
        name: "test".to_owned(),
        hash: key.hash,
    };
    control.add_api_key(admin, clock.now(), AuditEntry::default()).await.expect("stored");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let url: url::Url = format!("http://{address}/").parse().expect("a URL");
    let keys = vec![RingKey { id: 1, secret: [1; 32], signs: true }];
    let down = Arc::new(AtomicBool::new(false));
    let state = AppState::start(AppParts {
        store: Arc::new(Breakable::new(line, down.clone())),
        leases: Arc::new(EveryRoom),
        control,
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
    tokio::spawn(jari_http::admitter::run(state.clone()));
    tokio::spawn(jari_http::control_watch::run(state.clone()));
    tokio::spawn(jari_http::operator_feed::run(state.clone()));
    tokio::spawn(jari_http::serve(state.clone(), listener));
    let operator = Operator::new(url.clone(), &key.text);
    Broken { url, operator, state, down, _dir: dir }
}

pub(crate) async fn admitted(url: &url::Url, room: &str) -> Visitor {
    let visitor = Visitor::new(url.clone());
    visitor.wait_in(room).await;
    eventually("the visitor is admitted", async || {
        let answer = visitor.poll(room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(())
    })
    .await;
    visitor
}

#[tokio::test]
async fn memory_still_answers_and_each_gate_keeps_to_its_policy() {
    let broken = start().await;
    let url = &broken.url;
    let (wait, refuse) = (admitted(url, "wait").await, admitted(url, "refuse").await);
    let unclaimed = admitted(url, "wait").await;
    let _ = wait.gate("wait").await.expect(204);
    let _ = refuse.gate("refuse").await.expect(204);
    let stranger = Visitor::new(url.clone());
    stranger.identify().await;

    broken.down.store(true, Ordering::SeqCst);
    let refused = stranger.join("wait").await;
    assert!(refused.problem(503, "store_unavailable").fields.contains_key("poll_after_ms"));
    assert!(refused.header("retry-after").is_some());
    let place: PlaceView = wait.poll("wait").await.expect(200).json();
    assert_eq!(place.status, PlaceStatus::Admitted);
    // Passes go on, used or not; newcomers wait.
    let _ = wait.gate("wait").await.expect(204);
    let _ = unclaimed.gate("wait").await.expect(204);
    stranger.gate("wait").await.problem(428, "pass_required");
    refuse.gate("refuse").await.problem(503, "store_unavailable");

    // Not at once: a slow moment opens no gate.
    stranger.gate("pass").await.problem(428, "pass_required");
    let from = tokio::time::Instant::now();
    let open = eventually("the gate opens to all", async || {
        let answer = stranger.gate("pass").await;
        (answer.status == 204).then_some(answer)
    })
    .await;
    assert!(from.elapsed() + Duration::from_secs(1) >= FAIL_OPEN_AFTER, "{:?}", from.elapsed());
    assert_eq!(open.header("jari-unchecked"), Some("store_unavailable"));
    assert_eq!(open.header("set-cookie"), None, "nobody gets a pass of it");

    broken.down.store(false, Ordering::SeqCst);
    eventually("the gate is closed again", async || {
        (stranger.gate("pass").await.status == 428).then_some(())
    })
    .await;
    // Each room finds out by itself, so not all in the same moment.
    eventually("passes are good again", async || {
        (refuse.gate("refuse").await.status == 204).then_some(())
    })
    .await;
    let _ = stranger.join("wait").await.expect(201);
}

/// Operators see it while it lasts, from memory, and that it is over.
#[tokio::test]
async fn operators_are_told_that_the_store_is_away() {
    let broken = start().await;
    let mut live = broken.operator.watch().await;
    live.until("stats", |frame: &LiveFrame| {
        frame.store_down_ms.is_none() && frame.rooms.len() == 3
    })
    .await;
    let stranger = Visitor::new(broken.url.clone());
    stranger.identify().await;
    broken.down.store(true, Ordering::SeqCst);
    // Idle rooms ask the store nothing: the first call finds out.
    stranger.join("wait").await.problem(503, "store_unavailable");
    let frame = live.until("stats", |frame: &LiveFrame| frame.store_down_ms.is_some()).await;
    assert_eq!(frame.rooms.len(), 3, "the rooms are still shown");
    broken.down.store(false, Ordering::SeqCst);
    live.until("stats", |frame: &LiveFrame| frame.store_down_ms.is_none()).await;
}

/// A change that control has and the store missed is made up by repeating it: a room's group above all.
#[tokio::test]
async fn a_change_that_the_store_missed_can_be_repeated() {
    let broken = start().await;
    let operator = &broken.operator;
    let limits = json!({"capacity": 5, "rate_per_s": 100, "burst": 100});
    operator.put("/v1/admin/groups/both", &limits).await.expect(200);
    let joins = json!({"group": "both"});
    broken.down.store(true, Ordering::SeqCst);
    let missed = operator.patch("/v1/admin/rooms/wait", &joins).await;
    missed.problem(503, "store_unavailable");
    broken.down.store(false, Ordering::SeqCst);
    operator.patch("/v1/admin/rooms/wait", &joins).await.expect(200);
    admitted(&broken.url, "wait").await;
}

/// Nobody repeats it: the store gets it once it is back.
#[tokio::test]
async fn issue_4_a_change_that_the_store_missed_reaches_it_by_itself() {
    let broken = start().await;
    let operator = &broken.operator;
    assert!((operator.stats("wait").await.rate_per_s - 1_000.0).abs() < 0.1);
    broken.down.store(true, Ordering::SeqCst);
    let slower = json!({"settings": {"rate_per_s": 7}});
    operator.patch("/v1/admin/rooms/wait", &slower).await.problem(503, "store_unavailable");
    broken.down.store(false, Ordering::SeqCst);
    eventually("the store has the new rate", async || {
        let rate = operator.stats("wait").await.rate_per_s;
        ((rate - 7.0).abs() < 0.1).then_some(())
    })
    .await;
}

/// A room that was deleted while the store was away, and made again, is a new one: nobody of the old one is in it.
#[tokio::test]
async fn a_deletion_that_the_store_missed_can_be_repeated() {
    let broken = start().await;
    let operator = &broken.operator;
    admitted(&broken.url, "wait").await;
    broken.down.store(true, Ordering::SeqCst);
    let missed = operator.delete("/v1/admin/rooms/wait").await;
    missed.problem(503, "store_unavailable");
    broken.down.store(false, Ordering::SeqCst);
    let again = json!({"room": "wait", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/"});
    operator.delete("/v1/admin/rooms/wait").await.expect(204);
    operator.delete("/v1/admin/rooms/wait").await.problem(404, "unknown_room");
    operator.post("/v1/admin/rooms", &again).await.expect(201);
    let stats = operator.stats("wait").await;
    assert_eq!((stats.joined_total, stats.live), (0, 0));
    assert_eq!(Visitor::new(broken.url.clone()).wait_in("wait").await.seq, 1);

    // Not repeated, but made again at once.
    broken.down.store(true, Ordering::SeqCst);
    operator.delete("/v1/admin/rooms/wait").await.problem(503, "store_unavailable");
    operator.post("/v1/admin/rooms", &again).await.problem(503, "store_unavailable");
    broken.down.store(false, Ordering::SeqCst);
    operator.post("/v1/admin/rooms", &again).await.expect(201);
    assert_eq!(operator.stats("wait").await.joined_total, 0);
}

/// The wrapper itself is honest: what it does not break it passes on.
#[tokio::test]
async fn a_breakable_store_breaks_only_when_told() {
    let dir = TempDir::new().expect("a temporary folder");
    let line = EmbeddedStore::open(dir.path(), Arc::new(SystemClock)).expect("a fresh folder");
    let down = Arc::new(AtomicBool::new(false));
    let store = Breakable::new(line, down.clone());
    let room: RoomId = "shop".parse().expect("an id");
    assert!(store.create(&room, Settings::default()).await.expect("up").outcome);
    down.store(true, Ordering::SeqCst);
    let answer = store.join(&room, Mark::NONE, Vec::new()).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
}

/// An order is in the trail before it is carried out, and so is that it failed: nothing happens to a line unnoted.
#[tokio::test]
async fn issue_5_an_order_that_failed_is_in_the_trail_as_such() {
    let broken = start().await;
    broken.operator.steer("wait", "pause", json!({})).await.expect(200);
    broken.down.store(true, Ordering::SeqCst);
    broken.operator.steer("wait", "resume", json!({})).await.problem(503, "store_unavailable");
    let who = json!({"count": 1});
    broken.operator.steer("wait", "admit", who.clone()).await.problem(503, "store_unavailable");
    let page = broken.operator.get("/v1/admin/audit?target=room:wait").await.expect(200);
    let entries = page.json::<serde_json::Value>()["entries"].clone();
    let told: Vec<_> = entries.as_array().expect("a list").iter().take(5).collect();
    let actions: Vec<_> =
        told.iter().map(|entry| entry["action"].as_str().expect("text")).collect();
    let resume = ["room.resume.failed", "room.resume", "room.pause"];
    assert_eq!(actions, [&["room.admit.failed", "room.admit"], &resume[..]].concat());
    for (failed, order) in [(told[0], told[1]), (told[2], told[3])] {
        let why = json!({"order": order["no"], "code": "store_unavailable"});
        assert_eq!((&failed["after"], &failed["actor"]), (&why, &order["actor"]));
    }
}
