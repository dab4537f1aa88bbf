//! Tests of the whole store on real files: conformance, restarts, faults, damage, backups, subscriptions, groups.

mod backups;
mod conformance;
mod crowd;
mod damage;
mod faults;
mod folders;
mod formats;
mod groups;
mod leases;
mod restarts;

use std::path::Path;
use std::sync::Arc;

use jari_conformance::SetClock;
use jari_line::{Dump, JoinOutcome, Settings};
use jari_ports::LineStore;
use jari_units::{Mark, RoomId, SubjectKey, Timestamp};
use tempfile::TempDir;

use crate::limits::Tuning;
use crate::{EmbeddedStore, OpenError};

const START: Timestamp = Timestamp(1_700_000_000_000);

/// A store on its own folder, with a clock that stands where it is set.
struct Bench {
    dir: TempDir,
    clock: Arc<SetClock>,
    tuning: Tuning,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Tuning::default())
    }

    /// Checkpoints after so few events that every test meets some.
    fn checkpointing(events: u64) -> Bench {
        Bench::with(Tuning { checkpoint_events: events, ..Tuning::default() })
    }

    fn with(tuning: Tuning) -> Bench {
        let dir = TempDir::new().expect("a temporary folder");
        Bench { dir, clock: SetClock::at(START), tuning }
    }

    fn open(&self) -> EmbeddedStore {
        self.try_open().expect("the folder holds a sound store")
    }

    fn try_open(&self) -> Result<EmbeddedStore, OpenError> {
        let clock = Arc::clone(&self.clock);
        EmbeddedStore::open_tuned(self.dir.path(), clock, self.tuning.clone())
    }

    fn sqlite(&self, file: &str) -> rusqlite::Connection {
        rusqlite::Connection::open(self.dir.path().join(file)).expect("the file is there")
    }
}

fn room(name: &str) -> RoomId {
    name.parse().expect("an id")
}

fn subject(number: u64) -> SubjectKey {
    let mut bytes = [0; 16];
    // Spread over the shards as real keys are.
    bytes[0] = (number % 251) as u8;
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    SubjectKey(bytes)
}

fn subjects(numbers: std::ops::Range<u64>) -> Vec<SubjectKey> {
    numbers.map(subject).collect()
}

async fn create(store: &EmbeddedStore, name: &str) -> RoomId {
    let id = room(name);
    assert!(store.create(&id, Settings::default()).await.expect("it answers").outcome);
    id
}

async fn join(store: &EmbeddedStore, id: &RoomId, number: u64) -> JoinOutcome {
    let joined = store.join(id, Mark::NONE, vec![subject(number)]).await;
    joined.expect("it answers").outcome.remove(0)
}

async fn dump(store: &EmbeddedStore, id: &RoomId) -> Dump {
    store.dump(id).await.expect("it answers").outcome
}

/// Waits until the checkpoint thread has written so many: it tells nobody but the counters.
async fn checkpoints_written(store: &EmbeddedStore, count: u64) {
    while store.stats().checkpoints < count {
        // A call lets the writer hear of it.
        store.rooms().await.expect("it answers");
        tokio::task::yield_now().await;
    }
}

/// Copies a store's files as a crash would leave them: while the store is open, with no call under way.
fn crash_image(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the folder") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
    }
}
