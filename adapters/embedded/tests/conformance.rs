//! The embedded store against the suite that every line store must pass.

use std::path::Path;
use std::sync::Arc;

use jari_conformance::history::START;
use jari_conformance::stores::EMBEDDED;
use jari_conformance::{Harness, SetClock, clauses, oracle};
use jari_embedded::EmbeddedStore;
use jari_ports::{BoxFuture, LineStore};

/// A store on a folder of its own, which goes with it.
struct Embedded {
    folder: tempfile::TempDir,
    clock: Arc<SetClock>,
    store: Arc<EmbeddedStore>,
}

fn open(folder: &Path, clock: &Arc<SetClock>) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(folder, clock.clone()).expect("the store opens"))
}

fn fresh() -> Box<dyn Harness> {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = SetClock::at(START);
    let store = open(folder.path(), &clock);
    Box::new(Embedded { folder, clock, store })
}

impl Harness for Embedded {
    fn store(&self) -> Arc<dyn LineStore> {
        self.store.clone()
    }

    fn clock(&self) -> Arc<SetClock> {
        self.clock.clone()
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.store.close();
            self.store = open(self.folder.path(), &self.clock);
        })
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn every_clause_holds() {
    runtime().block_on(clauses::check_all(&fresh));
}

#[test]
fn histories_equal_the_core() {
    let runtime = runtime();
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let covered =
        oracle::check_histories(EMBEDDED.name, EMBEDDED.histories(), seed, &fresh, &|history| {
            runtime.block_on(history)
        });
    assert!(covered.admitted > 500 && covered.restarts > 100, "{covered:?}");
}

#[test]
fn a_large_room_equals_the_core() {
    let runtime = runtime();
    oracle::check_large_room(EMBEDDED.name, &fresh, &|room| runtime.block_on(room));
}
