//! What operators rely on: the admin API, keys and scopes, the audit trail, the command line, logs, metrics, start and
//! stop. What visitors rely on is in the other test program.

mod backup;
mod call_log;
mod command_line;
mod cross_site;
mod crossing;
mod groups;
mod isolation;
mod keys;
mod lagging;
mod live;
mod live_control;
mod metrics;
mod names;
mod openapi;
mod page;
mod rehearse;
mod rehearse_agreement;
mod rooms;
mod shared_store;
mod start_and_stop;
mod tenants;
mod traces;
mod trail;
mod verify;

/// The program under test.
const JARI: &str = env!("CARGO_BIN_EXE_jari");
