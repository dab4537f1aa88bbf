//! Control data in a relational database: rooms, limit groups, API keys, signing keys and the audit trail.
//!
//! Every query is written once, in SQL that SQLite and PostgreSQL both read; only migrations have words of one database.
//! Knows nothing of lines: hot state is the line store's.

mod api_keys;
mod audit;
mod backup;
mod column;
mod control;
mod failure;
mod groups;
mod open;
mod pool;
mod rooms;
mod schema;
mod signing_keys;
#[cfg(test)]
mod sqlite_tests;
mod stored_settings;

pub use failure::{Cause, OpenError};
pub use open::Records;
pub use pool::PoolStats;
