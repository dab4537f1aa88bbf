//! The Redis store that loses what it had: its keys fall back to a copy, or are gone, as after a failover or a restart
//! without a disk.

use std::sync::Arc;

use jari_conformance::stores::{CLUSTER, REDIS, Store, VALKEY};
use jari_conformance::{Harness, Losing, SetClock, recovery, recovery_history};
use jari_ports::{BoxFuture, LineStore};
use jari_servers::{Cluster, Kind, Server};
use redis::{Cmd, FromRedisValue};

use crate::conformance::{Redis, runtime, started};

enum Connection {
    Server(redis::aio::MultiplexedConnection),
    Cluster(redis::cluster_async::ClusterConnection),
}

impl Connection {
    async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        let answer = match self {
            Connection::Server(server) => command.query_async(server).await,
            Connection::Cluster(cluster) => command.query_async(cluster).await,
        };
        answer.expect("the server answers")
    }
}

struct Lossy {
    redis: Redis,
    kept: Vec<(Vec<u8>, Vec<u8>)>,
}

async fn connect(url: &str) -> Connection {
    match url.split_once("+cluster") {
        Some((_, hosts)) => {
            let hosts = hosts.trim_start_matches("://").split(',');
            let client =
                redis::cluster::ClusterClient::new(hosts.map(|host| format!("redis://{host}")));
            let client = client.expect("addresses");
            Connection::Cluster(client.get_async_connection().await.expect("it connects"))
        }
        None => {
            let client = redis::Client::open(url).expect("an address");
            Connection::Server(
                client.get_multiplexed_async_connection().await.expect("it connects"),
            )
        }
    }
}

impl Lossy {
    async fn keys(&self, connection: &mut Connection) -> Vec<Vec<u8>> {
        let mut all = redis::cmd("KEYS");
        all.arg(format!("{}:*", self.redis.prefix));
        connection.ask(&all).await
    }

    async fn empty(&self, connection: &mut Connection) {
        for key in self.keys(connection).await {
            connection.ask::<u64>(redis::cmd("DEL").arg(key)).await;
        }
    }
}

impl Harness for Lossy {
    fn store(&self) -> Arc<dyn LineStore> {
        self.redis.store()
    }

    fn clock(&self) -> Arc<SetClock> {
        self.redis.clock()
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        self.redis.restart()
    }

    fn clock_survives_restart(&self) -> bool {
        self.redis.clock_survives_restart()
    }
}

impl Losing for Lossy {
    fn keep(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut connection = connect(&self.redis.url).await;
            self.kept.clear();
            for key in self.keys(&mut connection).await {
                let dump: Vec<u8> = connection.ask(redis::cmd("DUMP").arg(&key)).await;
                self.kept.push((key, dump));
            }
        })
    }

    fn fall_back(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut connection = connect(&self.redis.url).await;
            self.empty(&mut connection).await;
            for (key, dump) in &self.kept {
                let mut restore = redis::cmd("RESTORE");
                restore.arg(key).arg(0).arg(dump);
                connection.ask::<()>(&restore).await;
            }
            self.redis.restart().await;
        })
    }

    fn wipe(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut connection = connect(&self.redis.url).await;
            self.empty(&mut connection).await;
            self.redis.restart().await;
        })
    }
}

pub(crate) fn lossy(url: &str) -> Box<dyn Losing> {
    Box::new(Lossy { redis: started(url), kept: Vec::new() })
}

fn hold_every_clause(url: &str) {
    runtime().block_on(recovery::check_all(&|| lossy(url)));
}

#[test]
fn every_clause_of_losing_history_holds_on_redis() {
    hold_every_clause(&Server::start(Kind::Redis).url());
}

#[test]
fn every_clause_of_losing_history_holds_on_valkey() {
    hold_every_clause(&Server::start(Kind::Valkey).url());
}

#[test]
fn every_clause_of_losing_history_holds_on_a_cluster() {
    hold_every_clause(&Cluster::start(Kind::Redis).url());
}

fn equal_the_core(store: &Store, url: &str) {
    let runtime = runtime();
    let _entered = runtime.enter();
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let (histories, steps) = store.losses();
    let covered = recovery_history::check_histories(
        store.name,
        (histories, steps),
        seed,
        &|| lossy(url),
        &|history| runtime.block_on(history),
    );
    let enough = u64::from(histories);
    assert!(covered.recoveries > enough && covered.told > 0 && covered.shown > 0, "{covered:?}");
}

#[test]
fn histories_with_losses_equal_the_core_on_redis() {
    equal_the_core(&REDIS, &Server::start(Kind::Redis).url());
}

#[test]
fn histories_with_losses_equal_the_core_on_valkey() {
    equal_the_core(&VALKEY, &Server::start(Kind::Valkey).url());
}

#[test]
fn histories_with_losses_equal_the_core_on_a_cluster() {
    equal_the_core(&CLUSTER, &Cluster::start(Kind::Redis).url());
}
