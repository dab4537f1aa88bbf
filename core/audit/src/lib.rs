//! The audit trail: what an entry holds, how each is chained to the one before it, and how a chain is checked. Stores
//! nothing and knows no caller.

mod chain;
mod check;
mod entry;
mod hash;

pub use chain::{CHAIN_FORM, ChainedEntry, Link};
pub use check::{Break, ChainCheck, Head, Start};
pub use entry::AuditEntry;
pub use hash::{EntryHash, HashError};
