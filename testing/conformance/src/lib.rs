//! What every line store must do: random histories with the pure core as oracle, and each clause of the contract.
//!
//! A store's own tests implement [`Harness`] and call [`clauses::check_all`] and [`oracle::check_histories`]; and
//! [`Losing`] for [`recovery::check_all`] and [`recovery_history::check_histories`]; one that several nodes share, also
//! [`leases::SharedLeases`] for [`leases::check_all`]. A store that cannot be started fails the run; nothing here skips.
//! Which stores there are, and how much is run on each, is in [`stores`]; people read it as [`list`] makes it.

pub mod clauses;
mod due;
mod harness;
pub mod history;
pub mod leases;
pub mod list;
pub mod oracle;
pub mod recovery;
pub mod recovery_history;
pub mod stores;

pub use harness::{Harness, SetClock};
pub use recovery::Losing;
