//! The Redis store against the suite that every line store must pass: on Redis, on Valkey and on a Cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jari_conformance::history::START;
use jari_conformance::stores::{CLUSTER, REDIS, Store, VALKEY};
use jari_conformance::{Harness, SetClock, clauses, oracle};
use jari_ports::{BoxFuture, LineStore};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Cluster, Kind, Server};
use tokio::runtime::Runtime;

/// Places cut off the bitmaps at once: few, so that histories meet it.
pub(crate) const REBASE_BITS: u64 = 8;

/// A store under a prefix of its own on a server that others share.
pub(crate) struct Redis {
    options: RedisOptions,
    clock: Arc<SetClock>,
    store: Arc<RedisStore>,
    pub(crate) url: String,
    pub(crate) prefix: String,
}

fn open(options: &RedisOptions) -> Arc<RedisStore> {
    Arc::new(RedisStore::open(options.clone()).expect("the store opens"))
}

pub(crate) fn fresh(url: &str) -> Box<dyn Harness> {
    Box::new(started(url))
}

pub(crate) fn started(url: &str) -> Redis {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let clock = SetClock::at(START);
    let options =
        RedisOptions::new(url).prefix(&prefix).clock(clock.clone()).tidy_early(REBASE_BITS);
    let store = open(&options);
    Redis { options, clock, store, url: url.to_owned(), prefix }
}

impl Harness for Redis {
    fn store(&self) -> Arc<dyn LineStore> {
        self.store.clone()
    }

    fn clock(&self) -> Arc<SetClock> {
        self.clock.clone()
    }

    /// Another node takes over; the state was never in this one.
    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.store = open(&self.options);
        })
    }

    fn clock_survives_restart(&self) -> bool {
        true
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn hold_every_clause(url: &str) {
    runtime().block_on(clauses::check_all(&|| fresh(url)));
}

fn equal_the_core(store: &Store, url: &str) {
    let runtime = runtime();
    let _entered = runtime.enter();
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let (histories, steps) = store.histories();
    let covered =
        oracle::check_histories(store.name, (histories, steps), seed, &|| fresh(url), &|h| {
            runtime.block_on(h)
        });
    let enough = u64::from(histories) * 5;
    assert!(covered.admitted > enough && covered.restarts > histories as usize, "{covered:?}");
}

#[test]
fn every_clause_holds_on_redis() {
    hold_every_clause(&Server::start(Kind::Redis).url());
}

#[test]
fn every_clause_holds_on_valkey() {
    hold_every_clause(&Server::start(Kind::Valkey).url());
}

#[test]
fn every_clause_holds_on_a_cluster() {
    hold_every_clause(&Cluster::start(Kind::Redis).url());
}

#[test]
fn histories_equal_the_core_on_redis() {
    equal_the_core(&REDIS, &Server::start(Kind::Redis).url());
}

#[test]
fn histories_equal_the_core_on_valkey() {
    equal_the_core(&VALKEY, &Server::start(Kind::Valkey).url());
}

#[test]
fn histories_equal_the_core_on_a_cluster() {
    equal_the_core(&CLUSTER, &Cluster::start(Kind::Redis).url());
}

fn equal_in_a_large_room(store: &Store, url: &str) {
    let runtime = runtime();
    let _entered = runtime.enter();
    oracle::check_large_room(store.name, &|| fresh(url), &|room| runtime.block_on(room));
}

#[test]
fn a_large_room_equals_the_core_on_redis() {
    equal_in_a_large_room(&REDIS, &Server::start(Kind::Redis).url());
}

#[test]
fn a_large_room_equals_the_core_on_valkey() {
    equal_in_a_large_room(&VALKEY, &Server::start(Kind::Valkey).url());
}
