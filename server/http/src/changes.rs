//! Changes of definitions, groups and keys come one after the other on a node, and each begins with what control holds.
//! Knows no endpoint.
//!
//! Each of them is written twice: to control, then to this node's memory. Two whose writes cross would leave the two
//! apart: a room that control has and nobody can reach, a revoked key that still opens. Across nodes the version that a
//! write names does the same: one of two wins, and the other is told.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// Whose turn it is to change a definition, and what memory agrees with.
#[derive(Debug)]
pub struct Changes {
    turn: Mutex<()>,
    /// Control's revision that everything up to is in memory. Written by whose turn it is.
    seen: AtomicU64,
}

impl Changes {
    /// Memory was read after control had `revision`.
    pub(crate) fn since(revision: u64) -> Self {
        Changes { turn: Mutex::default(), seen: AtomicU64::new(revision) }
    }

    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// Waits for the changes before this one. Operators' handlers take it with
    /// [`AppState::turn`](crate::AppState::turn), which brings memory up to date too.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn { changes: self, _guard: self.turn.lock().await }
    }
}

/// A turn. Hold it from the first look at what is to be changed until memory has it; take it only for a caller that is
/// known and whose call is read, so that nobody outside can hold it up.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    changes: &'a Changes,
    _guard: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Memory has everything up to `revision`.
    pub(crate) fn caught_up(&mut self, revision: u64) {
        self.changes.seen.store(revision, Ordering::Release);
    }

    /// This node wrote once to control, and memory gets it too. What others wrote meanwhile raised the revision further,
    /// so it is not taken for seen.
    pub(crate) fn wrote(&mut self) {
        self.changes.seen.fetch_add(1, Ordering::AcqRel);
    }
}
