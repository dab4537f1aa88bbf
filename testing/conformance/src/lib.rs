//! What every line store must do: random histories with the pure core as oracle, and each clause of the contract.
//!
//! A store's own tests implement [`Harness`] and call [`clauses::check_all`] and [`oracle::check_histories`]. A store
//! that cannot be started fails the run; nothing here skips.

pub mod clauses;
mod harness;
pub mod history;
pub mod oracle;

pub use harness::{Harness, SetClock};
