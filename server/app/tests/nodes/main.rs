//! What several nodes with shared records hold together, and what records on a database server mean to one. Each node has
//! a line of its own here: only control data is shared.

mod one_node;
mod together;
mod two_operators;

use jari_servers::Postgres;
use jari_testkit::{TestApp, TestAppBuilder};

/// The program under test.
const JARI: &str = env!("CARGO_BIN_EXE_jari");

/// A node with its records there; a server that is down is not waited for.
fn node(records: &str) -> TestAppBuilder {
    TestApp::builder().set("records.url", records).set("records.start_wait_ms", 0)
}

/// A server with an empty database.
fn server() -> (Postgres, String) {
    let server = Postgres::start();
    let database = server.database();
    (server, database)
}

/// Two nodes on one database; the second has the first one's admin key.
async fn pair(database: &str) -> (TestApp, TestApp) {
    let first = node(database).start().await;
    let second = node(database).admin_key(first.admin_key()).start().await;
    (first, second)
}
