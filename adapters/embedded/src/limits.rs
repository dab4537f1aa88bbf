//! Named limits of the embedded store, each with its unit and reason, and the few of them that a test may turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Commands in one commit: enough to share the disk's sync among all who wait for it, few enough that the first of
/// them does not wait long for the last one's work.
pub(crate) const BATCH_MAX: usize = 256;

/// Commands queued before callers wait for room: sixteen full commits, far beyond a request's deadline.
pub(crate) const QUEUE_MAX: usize = 16 * BATCH_MAX;

/// Events of a room kept for subscribers that lag: over an hour of ticks, or some seconds of a rush.
pub(crate) const FEED_EVENTS_MAX: usize = 4_096;

/// Places that the kept events of a room may name together: a rush's events hold up to 512 subjects each.
pub(crate) const FEED_PEOPLE_MAX: usize = 262_144;

/// Events of a room between checkpoints: bounds replay to well under a second.
pub(crate) const CHECKPOINT_EVENTS: u64 = 20_000;

/// Journal bytes of a room between checkpoints: about a million joins, half a second of replay. A room whose last
/// checkpoint was larger waits for as many bytes as that, so that checkpoints at most double what is written.
pub(crate) const CHECKPOINT_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes of one stored part of a checkpoint: each is a commit of its own, so that the journal's sync never queues
/// behind a whole checkpoint.
pub(crate) const PART_BYTES: usize = 1024 * 1024;

/// Journal rows deleted in one commit at least; a commit deletes twice what it adds where that is more, so that
/// deleting keeps up with any load and stalls none.
pub(crate) const PURGE_ROWS: u64 = 64;

/// First pause before a store whose disk failed tries again, and the longest one.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(100);
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(5);

/// How old the count of what no checkpoint covers may be: it is a look at every room.
pub(crate) const AHEAD_NOTED_EVERY: Duration = Duration::from_secs(1);

/// Bytes written, and taken back, to learn whether a disk that refused takes writes again: more than most batches.
pub(crate) const PROBE_BYTES: i32 = 256 * 1024;

/// How long SQLite waits for another connection's lock; only `jari backup` ever shares these files.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Bytes of SQLite's write-ahead log kept after it was copied back: one rush's worth, not forever.
pub(crate) const WAL_KEEP_BYTES: i64 = 64 * 1024 * 1024;

const _: () = assert!(FEED_EVENTS_MAX > BATCH_MAX, "a live subscriber must outlast one commit");
const _: () = assert!(PART_BYTES < 1_000_000_000, "SQLite's largest value");

/// What tests set lower than the limits above.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    pub(crate) checkpoint_events: u64,
    pub(crate) checkpoint_bytes: u64,
    /// Pages that the journal may grow to: 0 for no bound but the disk's. Stands in for a full disk.
    pub(crate) journal_pages_max: Arc<AtomicU32>,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            checkpoint_events: CHECKPOINT_EVENTS,
            checkpoint_bytes: CHECKPOINT_BYTES,
            journal_pages_max: Arc::default(),
        }
    }
}

impl Tuning {
    pub(crate) fn pages_max(&self) -> Option<u32> {
        Some(self.journal_pages_max.load(Ordering::Relaxed)).filter(|pages| *pages > 0)
    }
}

#[cfg(test)]
impl Tuning {
    pub(crate) fn set_journal_pages_max(&self, pages: u32) {
        self.journal_pages_max.store(pages, Ordering::Relaxed);
    }
}
