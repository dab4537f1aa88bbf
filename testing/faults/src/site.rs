//! What a fault is made on: servers, the wires to them, nodes with shared records, one room. Makes no fault by itself.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jari_api::RoomView;
use jari_servers::{Cluster, Kind, Server};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::caps::Caps;
use crate::clocks;
use crate::node::{Node, ORDINARY, Setup};
use crate::wire::Wire;

pub(crate) const ROOM: &str = "faults";
/// The name that Sentinels know the primary by.
const MASTER: &str = "lines";
/// An operator's call is tried on one node after the other for so long.
const OPERATOR_PATIENCE: Duration = Duration::from_secs(60);

/// Which servers hold the line, and what they keep on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// One server, nothing on disk.
    Memory,
    /// One, with its log synced every second.
    Everysec,
    /// One, with its log synced before each answer.
    Always,
    /// One, whose clock can be set.
    Clocked,
    /// A primary and a replica, behind addresses that can be led from one to the other.
    Replicated,
    /// A primary and a replica that a Sentinel watches.
    Sentinel,
    /// Three primaries that share the slots.
    Cluster,
}

/// How the room is set, and how many nodes serve it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) store: Store,
    pub(crate) nodes: usize,
    /// The last node's clock is off by so many seconds.
    pub(crate) node_clock_s: i64,
    pub(crate) caps: Caps,
    pub(crate) presence_window_ms: u64,
    pub(crate) claim_window_ms: u64,
    pub(crate) poll_ms: (u64, u64),
    pub(crate) on_store_failure: &'static str,
}

/// What all runs share: the program and a database server.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub(crate) program: PathBuf,
    /// A new, empty database.
    pub(crate) records: String,
}

#[derive(Debug)]
pub(crate) struct Site {
    /// Primary, replica, Sentinel: as many as there are.
    pub(crate) servers: Vec<Server>,
    pub(crate) cluster: Option<Cluster>,
    /// By which the replica follows the primary.
    pub(crate) link: Option<Wire>,
    /// One for each node, where there is one server at a time.
    pub(crate) wires: Vec<Wire>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) key: String,
    ground: Ground,
    client: Client,
    folder: TempDir,
}

impl Site {
    /// Starts everything and makes the room.
    ///
    /// # Errors
    /// Where something cannot be made; what cannot be started panics with what it said.
    pub(crate) async fn start(ground: Ground, plan: Plan) -> Result<Site> {
        let folder = open_folder()?;
        let client = Client::builder().timeout(Duration::from_secs(10)).build()?;
        let mut site = Site {
            servers: Vec::new(),
            cluster: None,
            link: None,
            wires: Vec::new(),
            nodes: Vec::new(),
            key: String::new(),
            ground,
            client,
            folder,
        };
        site.start_store(plan.store).await?;
        for nth in 0..plan.nodes {
            let last = nth + 1 == plan.nodes;
            site.start_node(if last { plan.node_clock_s } else { 0 }).await?;
            if nth == 0 {
                site.key = site.nodes[0].key().await;
            }
        }
        site.operate(Method::POST, "/v1/admin/rooms", &room(ROOM, &plan)).await?;
        Ok(site)
    }

    async fn start_store(&mut self, store: Store) -> Result<()> {
        let everysec = ["--appendonly", "yes", "--appendfsync", "everysec"];
        let started = match store {
            Store::Memory => Server::start(Kind::Redis),
            Store::Everysec => Server::start_with(Kind::Redis, &everysec),
            Store::Always => {
                let always = ["--appendonly", "yes", "--appendfsync", "always"];
                Server::start_with(Kind::Redis, &always)
            }
            Store::Clocked => Server::start_with_own_clock(),
            Store::Replicated | Store::Sentinel => Server::start(Kind::Redis),
            Store::Cluster => {
                self.cluster = Some(Cluster::start(Kind::Redis));
                return Ok(());
            }
        };
        let primary = started.port();
        self.servers.push(started);
        if matches!(store, Store::Replicated | Store::Sentinel) {
            self.start_replica(store, primary).await?;
        }
        Ok(())
    }

    async fn start_replica(&mut self, store: Store, primary: u16) -> Result<()> {
        let mut of = primary;
        if store == Store::Replicated {
            let link = Wire::to(primary).await?;
            of = link.port();
            self.link = Some(link);
        }
        let of = format!("127.0.0.1 {of}");
        let follows = ["--appendonly", "no", "--replicaof", &of];
        let replica = tokio::task::block_in_place(|| {
            let replica = Server::start_with(Kind::Redis, &follows);
            replica.wait_for("sync: Finished with success");
            replica
        });
        self.servers.push(replica);
        if store == Store::Sentinel {
            let sentinel = tokio::task::block_in_place(|| {
                let sentinel = Server::start_sentinel(Kind::Redis, MASTER, &self.servers[0]);
                sentinel.wait_for("+slave");
                sentinel
            });
            self.servers.push(sentinel);
        }
        Ok(())
    }

    /// Starts one more node; its number.
    pub(crate) async fn start_node(&mut self, clock_s: i64) -> Result<usize> {
        let nth = self.nodes.len();
        let (store, wire) = self.store_for_a_node().await?;
        self.wires.extend(wire);
        let folder = self.folder.path().join(format!("node-{nth}"));
        make_folder(&folder)?;
        let setup = Setup {
            program: self.ground.program.clone(),
            data: folder.join("data"),
            records: self.ground.records.clone(),
            store,
            environment: clocks::off_by(clock_s),
            as_nobody: is_root(&folder)?,
        };
        self.nodes.push(Node::start(setup).await);
        Ok(nth)
    }

    async fn store_for_a_node(&self) -> Result<(String, Option<Wire>)> {
        if let Some(cluster) = &self.cluster {
            return Ok((cluster.url(), None));
        }
        if let [_, _, sentinel] = self.servers.as_slice() {
            let url = format!("redis+sentinel://127.0.0.1:{}/{MASTER}", sentinel.port());
            return Ok((url, None));
        }
        let wire = Wire::to(self.servers[0].port()).await?;
        Ok((format!("redis://127.0.0.1:{}", wire.port()), Some(wire)))
    }

    /// The server that the nodes use, where there is one at a time.
    pub(crate) fn primary(&mut self) -> &mut Server {
        &mut self.servers[0]
    }

    /// The nodes that are not dead.
    pub(crate) fn alive(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|nth| !self.nodes[*nth].is_dead())
    }

    /// An operator's call, on whichever node carries it out.
    ///
    /// # Errors
    /// Where none does in time, with what was said last.
    pub(crate) async fn operate(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let deadline = tokio::time::Instant::now() + OPERATOR_PATIENCE;
        loop {
            let mut said = "every node is dead".to_owned();
            for nth in self.alive() {
                let url = self.nodes[nth].url().join(path).expect("a path makes an address");
                let call = self.client.request(method.clone(), url).bearer_auth(&self.key);
                match call.json(body).send().await {
                    Ok(answer) if answer.status().is_success() => {
                        return Ok(answer.json().await.unwrap_or_default());
                    }
                    // Of a try before this one, whose answer was lost.
                    Ok(answer) if answer.status() == StatusCode::CONFLICT => {
                        return Ok(Value::Null);
                    }
                    Ok(answer) => said = answer.text().await.unwrap_or_default(),
                    Err(error) => said = error.to_string(),
                }
            }
            if tokio::time::Instant::now() > deadline {
                bail!("{method} {path} is not carried out: {said}");
            }
            sleep(Duration::from_millis(300)).await;
        }
    }

    /// A node's time of day, seconds since 1970.
    ///
    /// # Errors
    /// Where it does not tell.
    pub(crate) async fn time_of(&self, node: usize) -> Result<i64> {
        let url = self.nodes[node].url().join(&format!("/v1/rooms/{ROOM}"))?;
        let view: RoomView = self.client.get(url).send().await?.json().await?;
        Ok(i64::try_from(view.server_time.0.0 / 1_000)?)
    }

    /// Steers the room: pause, resume.
    ///
    /// # Errors
    /// As [`Site::operate`].
    pub(crate) async fn steer(&self, action: &str) -> Result<()> {
        let path = format!("/v1/admin/rooms/{ROOM}/{action}");
        self.operate(Method::POST, &path, &json!({})).await.map(drop)
    }
}

/// A room with nothing that ends by itself within a run, but for what the plan sets.
pub(crate) fn room(id: &str, plan: &Plan) -> Value {
    const HOURS: u64 = 2 * 3_600_000;
    json!({
        "room": id,
        "identity": "anonymous",
        "title": {"ko": "시험", "en": "Test"},
        "target_url": "https://shop.example/",
        "on_store_failure": plan.on_store_failure,
        "settings": {
            "capacity": plan.caps.capacity, "rate_per_s": plan.caps.rate_per_s,
            "burst": plan.caps.burst, "per_tick": plan.caps.burst.min(200),
            "pass_ttl_ms": HOURS, "claim_window_ms": plan.claim_window_ms,
            "absence_grace_ms": HOURS, "presence_window_ms": plan.presence_window_ms,
            "poll_near_ms": plan.poll_ms.0, "poll_far_ms": plan.poll_ms.1,
        },
    })
}

/// A temporary folder that an ordinary user may pass through.
pub(crate) fn open_folder() -> Result<TempDir> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

fn is_root(folder: &Path) -> Result<bool> {
    // A folder that was given away is root's work too.
    let owner = folder.parent().context("it lies in another")?.metadata()?.uid();
    Ok(owner == 0)
}

/// A folder that its node may write, whoever that runs as.
fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder)?;
    if is_root(folder)? {
        chown(folder, Some(ORDINARY), Some(ORDINARY))?;
    }
    Ok(())
}
