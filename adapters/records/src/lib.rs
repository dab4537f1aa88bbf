//! Control data in a relational database: tenants, rooms, limit groups, API keys, signing keys, site keys and
//! the audit trail.
//!
//! Every query is written once, in SQL that SQLite and PostgreSQL both read; only migrations and what stands around a
//! connection (`sqlite.rs`, `postgres.rs`) have words of one database.
//! Knows nothing of lines: hot state is the line store's.

mod api_keys;
mod audit;
mod backup;
mod cause;
mod chaining;
mod column;
mod control;
mod failure;
mod groups;
mod nodes;
mod open;
mod pool;
mod postgres;
mod rooms;
mod schema;
mod server_address;
mod signing_keys;
mod site_keys;
mod sqlite;
#[cfg(test)]
mod sqlite_tests;
mod stored_settings;
mod tenants;
mod trail;
mod write;

pub use cause::Cause;
pub use failure::OpenError;
pub use nodes::{nodes_in_file, nodes_on_server};
pub use open::Records;
pub use pool::PoolStats;
pub use trail::{Checked, Trail, TrailError};
