//! The line store on Redis or Valkey, for any number of nodes: one Lua script per operation, whole and atomic. The rules
//! are `core/line`'s, told again in `scripts/`; `testing/conformance` holds the two equal.
//!
//! `docs/explanation/redis-store.md` has the layout of the keys, what is atomic and how long it takes.

mod address;
mod answer;
mod arguments;
mod breaker;
mod connect;
mod due;
mod error;
mod event_text;
mod eviction;
mod feed;
mod flow_text;
mod groups;
mod keys;
mod limits;
mod line_store;
mod link;
mod options;
mod outcomes;
mod recovery_text;
mod rooms;
mod scripts;
mod seq_text;
mod settings_text;
mod state;
mod store;
mod tick_leases;
mod wakes;

pub use error::OpenError;
pub use options::RedisOptions;
pub use store::RedisStore;
