//! The Control contract on SQLite. What only SQLite can do wrong is in `sqlite_file.rs`.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod contract;

use std::sync::Arc;
use std::time::Duration;

use jari_ports::Control;
use jari_records::Records;

async fn fresh() -> (Arc<dyn Control>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("records.db");
    let address = file.to_str().expect("a path in text");
    let records = Records::open(address, Duration::ZERO).await.expect("records");
    (Arc::new(records), folder)
}

/// One test of each clause.
macro_rules! tests {
    ($fresh:expr; $($module:ident { $($clause:ident),* $(,)? })*) => {
        $(mod $module {
            $(
                #[tokio::test]
                async fn $clause() {
                    let (control, _kept) = $fresh.await;
                    crate::contract::$module::$clause(control).await;
                }
            )*
        })*
    };
}

contract::control_contract!(tests!(super::fresh()));
