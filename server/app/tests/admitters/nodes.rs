//! Nodes as processes on one Redis, with their records in one folder, and what they say of themselves.

use std::path::Path;

use jari_servers::{Kind, Server};
use jari_testkit::{Operator, Process, ProcessBuilder, Visitor, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use crate::JARI;

/// An installation: a store and records that all nodes share.
pub(crate) struct Site {
    pub(crate) redis: Server,
    folder: TempDir,
    key: Option<String>,
}

impl Site {
    pub(crate) fn new() -> Site {
        let folder = TempDir::new().expect("a temporary folder");
        Site { redis: Server::start(Kind::Redis), folder, key: None }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A node that is not started yet, with its lines at `store`.
    pub(crate) fn builder_at(&self, store: &str) -> ProcessBuilder {
        Process::serve(JARI, self.folder())
            .arg("--store")
            .arg(store)
            .env("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "0")
    }

    pub(crate) fn builder(&self) -> ProcessBuilder {
        self.builder_at(&self.redis.url())
    }

    /// Starts it; the first one prints the admin key.
    pub(crate) async fn start(&mut self, builder: ProcessBuilder) -> Process {
        let process = builder.start().await;
        if self.key.is_none() {
            self.key = Some(process.wait_for_key().await);
        }
        process
    }

    pub(crate) async fn node(&mut self) -> Process {
        self.start(self.builder()).await
    }

    /// Two nodes that share the leases evenly.
    pub(crate) async fn pair(&mut self) -> [Process; 2] {
        let nodes = [self.node().await, self.node().await];
        for node in &nodes {
            holds(node, 32).await;
        }
        nodes
    }

    pub(crate) fn operator(&self, node: &Process) -> Operator {
        node.operator(self.key.as_deref().expect("a node was started"))
    }

    pub(crate) async fn make_room(
        &self,
        node: &Process,
        room: &str,
        settings: Value,
        group: Option<&str>,
    ) {
        let body = json!({
            "room": room, "identity": "anonymous", "title": {"ko": "시험", "en": "Test"},
            "target_url": "/target", "settings": settings, "group": group,
        });
        self.operator(node).post("/v1/admin/rooms", &body).await.expect(201);
    }
}

/// Settings of a room in which nothing ends by itself and nobody is absent within a test.
pub(crate) fn lasting(capacity: u64, rate_per_s: u64) -> Value {
    const HOURS_MS: u64 = 7_200_000;
    json!({
        "capacity": capacity, "rate_per_s": rate_per_s, "burst": rate_per_s, "per_tick": 200,
        "pass_ttl_ms": HOURS_MS, "claim_window_ms": HOURS_MS, "absence_grace_ms": HOURS_MS,
        "presence_window_ms": 3_600_000,
    })
}

/// A number of a node's metrics.
pub(crate) async fn number(ops: &Url, name: &str) -> Option<f64> {
    let text = Visitor::new(ops.clone()).get("/metrics").await.expect(200).text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.parse().ok()
}

/// Waits until the node ticks so many bundles.
pub(crate) async fn holds(node: &Process, bundles: u32) {
    eventually("the leases are shared", async || {
        let held = number(&node.ops_url(), "jari_leases").await?;
        (held == f64::from(bundles)).then_some(())
    })
    .await;
}
