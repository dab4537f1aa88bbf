//! The default line store: `core/line` behind one writer thread and a durable journal in SQLite. Decides nothing itself.
//!
//! Commands queue while a commit is under way and go into the next one together; an answer or an event leaves only
//! after the commit that holds it (A2). `docs/explanation/embedded-store.md` tells the whole story.

mod agenda;
mod backup;
mod checkpointer;
mod checkpoints;
mod database;
mod error;
mod feed;
mod file_mark;
mod folder;
mod groups;
mod job;
mod journal;
mod limits;
mod lines;
mod restart;
mod stats;
mod store;
mod tick_leases;
mod writer;

#[cfg(test)]
mod tests;

pub use backup::{BackupError, backup};
pub use error::OpenError;
pub use stats::{JournalAhead, StoreStats};
pub use store::EmbeddedStore;
