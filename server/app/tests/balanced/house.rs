//! Three nodes on one Redis, each a process of its own, and a balancer before them.

use std::net::SocketAddr;
use std::path::PathBuf;

use jari_servers::{BalancerKind, Kind, Postgres, Server, lasting_port};
use jari_testkit::{Operator, Process, Visitor, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use crate::JARI;
use crate::configured::{Balanced, NODES, NodeAddress};

pub(crate) const ROOM: &str = "shop";

/// Records on a server. Without one they are in a data folder that the nodes share, as they may on one machine.
struct Database {
    url: String,
    _server: Postgres,
}

pub(crate) struct House {
    pub(crate) balanced: Balanced,
    pub(crate) addresses: [NodeAddress; NODES],
    /// `None` while one is gone.
    nodes: [Option<Process>; NODES],
    key: String,
    settings: Vec<(&'static str, String)>,
    redis: Server,
    database: Option<Database>,
    folder: TempDir,
}

impl House {
    /// Nodes with shared records in a folder, and a room that lets people in by hand.
    pub(crate) async fn start(kind: BalancerKind) -> House {
        House::with(kind, false, &[]).await
    }

    /// The same with each node's records on PostgreSQL, if wanted, and further settings for the nodes.
    pub(crate) async fn with(
        kind: BalancerKind,
        postgres: bool,
        settings: &[(&'static str, &str)],
    ) -> House {
        let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let addresses = [(); NODES]
            .map(|()| NodeAddress { public: local(lasting_port()), ops: local(lasting_port()) });
        let database = postgres.then(|| {
            let server = Postgres::start();
            Database { url: server.database(), _server: server }
        });
        let settings = settings.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let balanced = Balanced::start(kind, &addresses);
        let mut house = House {
            balanced,
            addresses,
            nodes: [const { None }; NODES],
            key: String::new(),
            settings,
            redis: Server::start(Kind::Redis),
            database,
            folder: TempDir::new().expect("a folder"),
        };
        for nth in 0..NODES {
            house.start_node(nth).await;
            if nth == 0 {
                house.key = house.node(0).wait_for_key().await;
            }
        }
        house.operator().post("/v1/admin/rooms", &room()).await.expect(201);
        house.wait_until_all_serve().await;
        house
    }

    fn data(&self, nth: usize) -> PathBuf {
        let of_its_own = self.database.is_some();
        self.folder.path().join(if of_its_own { format!("node-{nth}") } else { "data".to_owned() })
    }

    /// Starts a node on its address.
    pub(crate) async fn start_node(&mut self, nth: usize) {
        let NodeAddress { public, ops } = self.addresses[nth];
        let (public, ops) = (public.to_string(), ops.to_string());
        let args = ["serve", "--listen", &public, "--ops-listen", &ops, "--config", "/dev/null"];
        let mut node = Process::command(JARI, &args)
            .arg("--data")
            .arg(self.data(nth))
            .env("JARI__STORE__URL", self.redis.url())
            .env("JARI__HTTP__TRUSTED_PROXIES", "127.0.0.1")
            .env("JARI__LOG__LEVEL", "warn");
        if let Some(database) = &self.database {
            node = node.env("JARI__RECORDS__URL", &database.url);
        }
        for (name, text) in &self.settings {
            node = node.env(name, text);
        }
        self.nodes[nth] = Some(node.start().await);
    }

    pub(crate) fn node(&self, nth: usize) -> &Process {
        self.nodes[nth].as_ref().expect("it runs")
    }

    /// `kill -9`.
    pub(crate) async fn kill(&mut self, nth: usize) {
        self.nodes[nth].take().expect("it runs").kill().await;
    }

    /// It goes on existing and does nothing any more: SIGSTOP.
    pub(crate) async fn freeze(&self, nth: usize) {
        self.signal(nth, "STOP").await;
    }

    pub(crate) async fn thaw(&self, nth: usize) {
        self.signal(nth, "CONT").await;
    }

    async fn signal(&self, nth: usize, name: &str) {
        let id = self.node(nth).id().to_string();
        let sent = tokio::process::Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.await.expect("there is a kill command").success());
    }

    /// Redis is gone, and nothing comes in its place.
    pub(crate) fn lose_store(&mut self) {
        self.redis.kill();
    }

    /// As a service manager replaces it: told to stop, waited for, started anew.
    pub(crate) async fn replace(&mut self, nth: usize) {
        let mut node = self.nodes[nth].take().expect("it runs");
        node.terminate().await;
        let ended = node.wait().await;
        assert!(ended.success(), "{ended:?}:\n{}", node.output());
        self.start_node(nth).await;
    }

    /// Somebody with the admin key, at the last node rather than the balancer.
    pub(crate) fn operator(&self) -> Operator {
        self.node(NODES - 1).operator(&self.key)
    }

    /// Where everybody goes.
    pub(crate) fn url(&self) -> Url {
        self.balanced.url()
    }

    /// The value of a node's metric, summed over its labels.
    pub(crate) async fn metric(&self, nth: usize, name: &str) -> f64 {
        let ops = Visitor::new(self.node(nth).ops_url());
        let text = ops.get("/metrics").await.expect(200).text();
        let values = text.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            (series.split('{').next() == Some(name)).then(|| value.parse::<f64>())?.ok()
        });
        values.sum()
    }

    /// Until each node has the room and gets calls from the balancer.
    pub(crate) async fn wait_until_all_serve(&self) {
        for nth in 0..NODES {
            self.wait_until_it_serves(nth).await;
        }
    }

    /// Until the balancer gives calls to this node, perhaps again.
    pub(crate) async fn wait_until_it_serves(&self, nth: usize) {
        let (node, visitor) = (self.node(nth).visitor(), Visitor::new(self.url()));
        let view = format!("/v1/rooms/{ROOM}");
        eventually("the node has the room", async || {
            (node.get(&view).await.status == 200).then_some(())
        })
        .await;
        let before = self.metric(nth, CALLS).await;
        eventually("the balancer gives it calls", async || {
            for _ in 0..NODES {
                visitor.get(&view).await;
            }
            (self.metric(nth, CALLS).await > before).then_some(())
        })
        .await;
    }
}

/// Calls that a node has answered.
const CALLS: &str = "jari_call_duration_seconds_count";

/// Nobody is let in unless a test says so, and nobody ends or is absent by time within a test.
fn room() -> Value {
    let hours = 7_200_000;
    json!({
        "room": ROOM,
        "identity": "anonymous",
        "title": {"ko": "시험", "en": "Test"},
        "target_url": "https://shop.example/",
        "settings": {
            "capacity": 10_000, "pacer": {"kind": "manual"}, "pass_ttl_ms": hours, "claim_window_ms": hours,
            "absence_grace_ms": hours, "presence_window_ms": 3_600_000, "poll_near_ms": 1_000, "poll_far_ms": 2_000,
        },
    })
}
