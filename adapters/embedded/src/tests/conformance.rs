//! The suite again (see tests/conformance.rs), with checkpoints after few events, and with crashes as restarts.

use std::sync::Arc;

use jari_conformance::stores::{EMBEDDED_CHECKPOINTS, EMBEDDED_CRASHES};
use jari_conformance::{Harness, Losing, SetClock, clauses, oracle, recovery, recovery_history};
use jari_ports::{BoxFuture, LineStore};
use tempfile::TempDir;

use super::{Bench, crash_image};
use crate::EmbeddedStore;

struct Restarting {
    bench: Bench,
    crash: bool,
    store: Option<Arc<EmbeddedStore>>,
    /// The files as `keep` found them.
    kept: Option<TempDir>,
}

impl Restarting {
    fn start(bench: Bench, crash: bool) -> Box<dyn Harness> {
        let store = Some(Arc::new(bench.open()));
        Box::new(Restarting { bench, crash, store, kept: None })
    }

    fn losing(bench: Bench) -> Box<dyn Losing> {
        let store = Some(Arc::new(bench.open()));
        Box::new(Restarting { bench, crash: false, store, kept: None })
    }

    /// Starts again on other files.
    fn begin_on(&mut self, dir: TempDir) {
        self.store = None;
        self.bench.dir = dir;
        self.store = Some(Arc::new(self.bench.open()));
    }
}

fn image_of(dir: &TempDir) -> TempDir {
    let image = TempDir::new().expect("a temporary folder");
    crash_image(dir.path(), image.path());
    image
}

impl Losing for Restarting {
    fn keep(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.kept = Some(image_of(&self.bench.dir)) })
    }

    fn fall_back(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let kept = image_of(self.kept.as_ref().expect("something was kept"));
            self.begin_on(kept);
        })
    }

    fn wipe(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.begin_on(TempDir::new().expect("a temporary folder")) })
    }
}

impl Harness for Restarting {
    fn store(&self) -> Arc<dyn LineStore> {
        self.store.clone().expect("open but in a restart")
    }

    fn clock(&self) -> Arc<SetClock> {
        Arc::clone(&self.bench.clock)
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.crash {
                let image = image_of(&self.bench.dir);
                self.store = None;
                self.bench.dir = image;
            } else if let Some(store) = self.store.take() {
                store.close();
            }
            self.store = Some(Arc::new(self.bench.open()));
        })
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[expect(clippy::disallowed_methods, reason = "JARI_SEED repeats a failing history")]
fn seed() -> Option<String> {
    std::env::var("JARI_SEED").ok()
}

#[test]
fn every_clause_holds() {
    runtime().block_on(clauses::check_all(&|| Restarting::start(Bench::checkpointing(3), false)));
}

/// A5, A2: after each step, restarts by closing among them, the store equals the core; checkpoints come all the time.
#[test]
fn histories_with_checkpoints_and_restarts_equal_the_core() {
    let runtime = runtime();
    let covered = oracle::check_histories(
        EMBEDDED_CHECKPOINTS.name,
        EMBEDDED_CHECKPOINTS.histories(),
        seed(),
        &|| Restarting::start(Bench::checkpointing(5), false),
        &|history| runtime.block_on(history),
    );
    assert!(covered.restarts > 20 && covered.admitted > 500, "{covered:?}");
}

/// A3, A5: the same with crashes: only what the files hold at that moment comes back, and it is everything.
#[test]
fn histories_with_crashes_equal_the_core() {
    let runtime = runtime();
    let covered = oracle::check_histories(
        EMBEDDED_CRASHES.name,
        EMBEDDED_CRASHES.histories(),
        seed(),
        &|| Restarting::start(Bench::new(), true),
        &|history| runtime.block_on(history),
    );
    assert!(covered.restarts > 20 && covered.admitted > 500, "{covered:?}");
}

#[test]
fn every_clause_of_losing_history_holds() {
    runtime().block_on(recovery::check_all(&|| Restarting::losing(Bench::checkpointing(4))));
}

/// A5: losses, tellings and receipts among all the rest, with checkpoints all the time.
#[test]
fn histories_with_losses_equal_the_core() {
    let runtime = runtime();
    let covered = recovery_history::check_histories(
        EMBEDDED_CHECKPOINTS.name,
        EMBEDDED_CHECKPOINTS.losses(),
        seed(),
        &|| Restarting::losing(Bench::checkpointing(5)),
        &|history| runtime.block_on(history),
    );
    assert!(covered.recoveries > 80 && covered.settled > 40, "{covered:?}");
    assert!(covered.told > 50 && covered.shown > 100, "{covered:?}");
}
