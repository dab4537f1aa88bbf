//! Nodes on one store and one control, in this process. Their clock is the store's, and tests move it: a recovery's window
//! is seconds of ticks, and nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jari::{SystemClock, SystemEntropy};
use jari_http::metrics::Metrics;
use jari_http::{AppParts, AppState, HttpOptions, JoinLimit, Starting};
use jari_line::{GroupSettings, Ledger, Settings};
use jari_pass::{KeyRing, RingKey, VisitorToken};
use jari_ports::{
    AuditEntry, Clock, Control, Identity, LimitGroup, LineStore, OnStoreFailure, RoomDefinition,
};
use jari_records::Records;
use jari_testkit::{EveryRoom, TestClock, eventually};
use jari_units::{GroupId, Mark, Millis, RoomId, Timestamp};
use reqwest::Client;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::falling_back::FallingBack;
use crate::people::Person;

pub(crate) const ROOM: &str = "room";
/// The clock's step while it is driven: with the tick's own second it is below what makes a tick late (5 s).
const STEP: Millis = Millis(3_500);
/// Identities of tests outlive every test.
const DAY: Millis = Millis(86_400_000);

pub(crate) struct Site {
    pub(crate) store: Arc<FallingBack>,
    pub(crate) clock: TestClock,
    control: Arc<Records>,
    people: AtomicU64,
    _dir: TempDir,
}

pub(crate) struct Node {
    pub(crate) url: Url,
    /// Where its numbers are.
    pub(crate) ops: Url,
    pub(crate) state: AppState,
    stop: CancellationToken,
}

impl Node {
    /// It is gone, with all that it had in memory.
    pub(crate) fn kill(self) {
        self.state.rooms.stop();
        self.stop.cancel();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn ring() -> KeyRing {
    let keys = vec![RingKey { id: 1, secret: [1; 32], signs: true }];
    KeyRing::new(keys, [2; 32]).expect("one signs")
}

pub(crate) fn room_id() -> RoomId {
    ROOM.parse().expect("an id")
}

async fn port() -> (TcpListener, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    (listener, format!("http://{address}/").parse().expect("a URL"))
}

impl Site {
    /// One room with these settings, nobody in it.
    pub(crate) async fn new(settings: Settings, on_store_failure: OnStoreFailure) -> Site {
        Site::make(settings, on_store_failure, None).await
    }

    /// One room in a limit group, the only one in it.
    pub(crate) async fn grouped(settings: Settings, group: GroupSettings) -> Site {
        let settings = Settings { grouped: true, ..settings };
        Site::make(settings, OnStoreFailure::Wait, Some(group)).await
    }

    async fn make(
        settings: Settings,
        on_store_failure: OnStoreFailure,
        group: Option<GroupSettings>,
    ) -> Site {
        let dir = TempDir::new().expect("a temporary folder");
        let clock = TestClock::default();
        let store = Arc::new(FallingBack::new(dir.path(), Arc::new(clock.clone())));
        let records = dir.path().join("records.db").display().to_string();
        let control = Records::open(&records, Duration::ZERO).await.expect("a fresh file");
        let id: GroupId = "group".parse().expect("an id");
        if let Some(settings) = group {
            let (id, version) = (id.clone(), 0);
            let group = LimitGroup { id, settings, version };
            control.put_group(group, AuditEntry::default()).await.expect("stored");
        }
        let room = RoomDefinition {
            id: room_id(),
            tenant: "default".parse().expect("an id"),
            group: group.map(|_| id),
            identity: Identity::Anonymous,
            title_ko: "시험".to_owned(),
            title_en: "Test".to_owned(),
            target_url: "/target".to_owned(),
            on_store_failure,
            handover: jari_ports::Handover::Cookie,
            challenge: jari_ports::Challenge::default(),
            settings: settings.clone(),
            version: 0,
            created_at: SystemClock.now(),
        };
        store.create(&room.id, settings).await.expect("made");
        control.put_room(room, AuditEntry::default()).await.expect("stored");
        let (control, people) = (Arc::new(control), Default::default());
        Site { store, clock, control, people, _dir: dir }
    }

    /// A node that has just started.
    pub(crate) async fn node(&self) -> Node {
        let ((listener, url), (ops_listener, ops)) = (port().await, port().await);
        let join_limit = JoinLimit { per_minute: 0, burst: 1 };
        let state = AppState::start(AppParts {
            store: self.store.clone(),
            leases: Arc::new(EveryRoom),
            control: self.control.clone(),
            clock: Arc::new(self.clock.clone()),
            entropy: Arc::new(SystemEntropy),
            keys: ring(),
            options: HttpOptions { join_limit, ..HttpOptions::new(url.clone()) },
            metrics: Arc::new(Metrics::new()),
            traces: None,
            starting: Arc::default(),
        })
        .await
        .expect("everything answers");
        let stop = CancellationToken::new();
        let run = |task| tokio::spawn(stop.clone().run_until_cancelled_owned(task));
        run(Box::pin(jari_http::admitter::run(state.clone())) as jari_ports::BoxFuture<'static, ()>);
        run(Box::pin(jari_http::control_watch::run(state.clone())));
        let serving = state.clone();
        run(Box::pin(async move { _ = jari_http::serve(serving, listener).await }));
        let node = Arc::<Starting>::default();
        node.serves(state.clone());
        let numbers = jari_http::ops::serve(node, ops_listener, std::future::pending());
        run(Box::pin(async move { _ = numbers.await }));
        Node { url, ops, state, stop }
    }

    /// Somebody with an identity and nothing else.
    pub(crate) fn person(&self) -> Person {
        self.people(1).remove(0)
    }

    /// They share one pool of connections: they may be many, and open files are not.
    pub(crate) fn people(&self, many: usize) -> Vec<Person> {
        let client = Client::new();
        let keys = ring();
        let person = |_| {
            let n = self.people.fetch_add(1, Ordering::Relaxed);
            let mut id = [0; 16];
            id[..8].copy_from_slice(&n.to_le_bytes());
            let (issued_at, expires_at) = (self.clock.now(), self.clock.now() + DAY);
            let token = VisitorToken { id, room: None, issued_at, expires_at };
            Person::new(client.clone(), keys.sign(&token))
        };
        (0..many).map(person).collect()
    }

    pub(crate) async fn ledger(&self) -> Ledger {
        self.store.read(&room_id()).await.expect("the room is there").outcome
    }

    /// Waits until something holds of the room in the store.
    pub(crate) async fn until<T>(&self, what: &str, holds: impl Fn(&Ledger) -> Option<T>) -> T {
        eventually(what, async || {
            let room = self.store.read(&room_id()).await.ok()?;
            holds(&room.outcome)
        })
        .await
    }

    /// Moves the clock, tick by tick, until `holds`; `see` looks at the room at each of them.
    pub(crate) async fn drive(
        &self,
        what: &str,
        mut see: impl FnMut(&Ledger),
        holds: impl Fn(&Ledger) -> bool,
    ) {
        const TICKS_MAX: u32 = 30;
        for _ in 0..TICKS_MAX {
            let before = self.ledger().await;
            see(&before);
            if holds(&before) {
                return;
            }
            self.clock.advance(STEP);
            let (from, at) = (before.mark().incarnation, before.clocks().now);
            let moved = |room: &Ledger| {
                (room.mark().incarnation != from || room.clocks().now > at).then_some(())
            };
            self.until("the room ticks", moved).await;
        }
        panic!("{TICKS_MAX} ticks, and {what} is not true");
    }

    /// Lets the clock run to a time, tick by tick.
    pub(crate) async fn run_for(&self, span: Millis) {
        let end: Timestamp = self.ledger().await.clocks().now + span;
        self.drive("the time has come", |_| {}, |room| room.clocks().now >= end).await;
    }

    /// How far the node's replica is.
    pub(crate) fn mark_of(&self, node: &Node) -> Mark {
        let entry = node.state.rooms.get(&room_id()).expect("it is defined");
        entry.loaded().expect("somebody asked there").read(|live| live.ledger().mark())
    }

    /// Waits until a node knows of the loss.
    pub(crate) async fn noticed_by(&self, node: &Node) {
        eventually("the node reads the room that recovers", async || {
            let entry = node.state.rooms.get(&room_id())?;
            entry.loaded()?.read(|live| live.ledger().is_recovering()).then_some(())
        })
        .await;
    }

    /// Lets the window run out.
    pub(crate) async fn recovered(&self) {
        self.drive("the window is over", |_| {}, |room| !room.is_recovering()).await;
    }
}
