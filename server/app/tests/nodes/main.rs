//! What several nodes with shared records hold together, and what records on a database server mean to one. Each node has
//! a line of its own here, but in `apart`: only control data is shared.

mod apart;
mod one_node;
mod together;
mod two_operators;

use jari_api::LineState;
use jari_servers::Postgres;
use jari_testkit::{Operator, TestApp, TestAppBuilder, eventually};

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

/// Waits until a room that another node made is whole here. Lines are not shared, so for this node's store it is one that
/// was lost: the window runs out, on a clock that runs faster meanwhile, yet too slowly for a tick to be late.
async fn whole(node: &TestApp, operator: &Operator, room: &str) {
    const STEP_MS: i64 = 80;
    eventually("the room is whole", async || {
        node.clock().step(STEP_MS);
        (operator.stats(room).await.state != LineState::Recovering).then_some(())
    })
    .await;
}

/// Two nodes on one database; the second has the first one's admin key.
async fn pair(database: &str) -> (TestApp, TestApp) {
    let first = node(database).start().await;
    let second = node(database).admin_key(first.admin_key()).start().await;
    (first, second)
}
