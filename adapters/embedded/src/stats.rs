//! What the store did, counted for metrics. Counts only; decides nothing by them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counts since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Commands sent and not answered yet.
    pub queued: u64,
    /// Commands taken from the queue.
    pub commands: u64,
    /// Commits, and the events they held.
    pub commits: u64,
    pub events: u64,
    /// Time in commits, all and the longest, microseconds.
    pub commit_us: u64,
    pub commit_max_us: u64,
    /// The writer's longest step without a commit's wait for the disk in between: work of one batch, microseconds.
    pub work_max_us: u64,
    pub checkpoints: u64,
    pub checkpoints_failed: u64,
    /// Journal that no checkpoint covers yet, of all rooms: what a restart would replay. At most a second old.
    pub ahead: JournalAhead,
    /// Commits that the disk refused.
    pub failures: u64,
    /// The disk refuses now: every call answers "unavailable".
    pub unavailable: bool,
}

/// Events of the journal and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalAhead {
    pub events: u64,
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Meter {
    commands: AtomicU64,
    commits: AtomicU64,
    events: AtomicU64,
    commit_us: AtomicU64,
    commit_max_us: AtomicU64,
    work_max_us: AtomicU64,
    checkpoints: AtomicU64,
    checkpoints_failed: AtomicU64,
    ahead_events: AtomicU64,
    ahead_bytes: AtomicU64,
    failures: AtomicU64,
    unavailable: AtomicBool,
}

impl Meter {
    pub(crate) fn worked(&self, commands: usize, took: Duration) {
        self.commands.fetch_add(commands as u64, Relaxed);
        self.work_max_us.fetch_max(micros(took), Relaxed);
    }

    pub(crate) fn committed(&self, events: usize, took: Duration) {
        self.commits.fetch_add(1, Relaxed);
        self.events.fetch_add(events as u64, Relaxed);
        self.commit_us.fetch_add(micros(took), Relaxed);
        self.commit_max_us.fetch_max(micros(took), Relaxed);
    }

    pub(crate) fn checkpointed(&self, written: bool) {
        let counter = if written { &self.checkpoints } else { &self.checkpoints_failed };
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn ahead(&self, ahead: JournalAhead) {
        self.ahead_events.store(ahead.events, Relaxed);
        self.ahead_bytes.store(ahead.bytes, Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Relaxed);
        self.unavailable.store(true, Relaxed);
    }

    pub(crate) fn recovered(&self) {
        self.unavailable.store(false, Relaxed);
    }

    pub(crate) fn read(&self, queued: usize) -> StoreStats {
        StoreStats {
            queued: queued as u64,
            commands: self.commands.load(Relaxed),
            commits: self.commits.load(Relaxed),
            events: self.events.load(Relaxed),
            commit_us: self.commit_us.load(Relaxed),
            commit_max_us: self.commit_max_us.load(Relaxed),
            work_max_us: self.work_max_us.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            checkpoints_failed: self.checkpoints_failed.load(Relaxed),
            ahead: JournalAhead {
                events: self.ahead_events.load(Relaxed),
                bytes: self.ahead_bytes.load(Relaxed),
            },
            failures: self.failures.load(Relaxed),
            unavailable: self.unavailable.load(Relaxed),
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
