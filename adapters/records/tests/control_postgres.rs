//! The Control contract on PostgreSQL: each clause in a database of its own. What only a server can do wrong is in
//! `postgres_server.rs`.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod contract;

use std::sync::Arc;
use std::time::Duration;

use jari_ports::Control;
use jari_records::Records;
use jari_servers::Postgres;

/// Runs all clauses, one after the other, and says which one it is at: a server takes two seconds to make.
macro_rules! all {
    ($server:expr; $($module:ident { $($clause:ident),* $(,)? })*) => {
        $($({
            println!("{}::{}", stringify!($module), stringify!($clause));
            let records = Records::open(&$server.database(), Duration::ZERO).await.unwrap();
            let control: Arc<dyn Control> = Arc::new(records.clone());
            contract::$module::$clause(control).await;
            records.close().await;
        })*)*
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_postgresql_keeps_every_clause_of_the_contract() {
    let server = Postgres::start();
    contract::control_contract!(all!(server));
}
