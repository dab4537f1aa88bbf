//! Trails of older versions: chained as they are, once, by whoever comes first, and said to be so.

use std::path::PathBuf;
use std::time::Duration;

use jari_audit::{Break, ChainCheck, Start};
use jari_ports::Control;
use jari_servers::Postgres;
use tempfile::TempDir;

use super::*;
use crate::sqlite::{Connecting, connect, create_private};
use crate::{Records, Trail, TrailError, schema};

/// More than one batch.
const OLDER_ENTRIES: u64 = 2 * BATCH as u64 + 17;
/// The last schema whose entries had no hash.
const UNCHAINED: i64 = 3;

fn older(source: &str) -> String {
    format!(
        "INSERT INTO audit SELECT no, 1000 + no, 'key:a', 'room.pause', 'room:shop', '', '{{}}' \
         FROM {source}; UPDATE counters SET value = {OLDER_ENTRIES} WHERE name = 'audit'"
    )
}

/// A file as an older version left it.
async fn older_file() -> (TempDir, PathBuf, AnyConnection) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.db");
    create_private(&file).unwrap();
    let mut conn = connect(&file, Connecting::default()).await.unwrap();
    schema::migrate(&mut conn, Dialect::Sqlite, UNCHAINED).await.unwrap();
    let numbers = format!(
        "(WITH RECURSIVE n (no) AS (SELECT 1 UNION ALL SELECT no + 1 FROM n WHERE no < {OLDER_ENTRIES}) \
         SELECT no FROM n)"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(older(&numbers))).execute(&mut conn).await.unwrap();
    (folder, file, conn)
}

async fn open(address: &str) -> Records {
    Records::open(address, Duration::ZERO).await.unwrap()
}

async fn last(records: &Records) -> AuditEntry {
    records.audit(None, None, 1).await.unwrap().entries[0].entry.clone()
}

/// All the older entries as they were, and one that says that they were chained afterwards.
async fn is_chained(records: &Records, trail: Trail) {
    let note = last(records).await;
    assert_eq!((note.no, note.actor.as_str()), (OLDER_ENTRIES + 1, "system"));
    assert_eq!((note.action.as_str(), note.target.as_str()), ("audit.chain", "audit"));
    assert_eq!(note.after, format!(r#"{{"chained_afterwards_up_to":{OLDER_ENTRIES}}}"#));
    assert!(note.at > Timestamp(1_700_000_000_000), "{:?}", note.at);
    let page = records.audit(None, Some(OLDER_ENTRIES + 1), 1).await.unwrap();
    let older = &page.entries[0].entry;
    assert_eq!((older.at.0, older.actor.as_str()), (1_000 + OLDER_ENTRIES, "key:a"));
    assert_eq!(records.append_audit(note).await, Ok(OLDER_ENTRIES + 2));
    let mut told = Vec::new();
    let check = ChainCheck::new(Start::First, None);
    let checked = trail.check(check, |at, of| told.push((at, of))).await.unwrap();
    assert_eq!(checked.entries, OLDER_ENTRIES + 2);
    assert_eq!(told.first(), Some(&(1_000, OLDER_ENTRIES + 2)), "it says how far it is");
}

#[tokio::test]
async fn issue_5_a_files_older_entries_are_chained_and_that_is_said() {
    let (_folder, file, conn) = older_file().await;
    conn.close().await.unwrap();
    let address = file.display().to_string();
    let records = open(&address).await;
    is_chained(&records, Trail::in_file(&file).await.unwrap()).await;
    records.close().await;
    let again = open(&address).await;
    assert_eq!(last(&again).await.no, OLDER_ENTRIES + 2, "nothing is chained twice");
}

#[tokio::test]
async fn issue_5_a_chaining_that_was_interrupted_goes_on_where_it_was() {
    for batches in 0..=3 {
        let (_folder, file, mut conn) = older_file().await;
        schema::migrate(&mut conn, Dialect::Sqlite, UNCHAINED + 1).await.unwrap();
        for _ in 0..batches {
            copy_batch(&mut conn).await.unwrap();
        }
        if batches == 3 {
            // All but the last step.
            chain_older(&mut conn, Dialect::Sqlite).await.unwrap();
        }
        conn.close().await.unwrap();
        let records = open(&file.display().to_string()).await;
        is_chained(&records, Trail::in_file(&file).await.unwrap()).await;
        records.close().await;
    }
}

/// A gap that an older trail had is kept, and found.
#[tokio::test]
async fn issue_5_a_hole_in_an_older_trail_stays_one() {
    let (_folder, file, mut conn) = older_file().await;
    let hole = "DROP TRIGGER audit_loses_none; DELETE FROM audit WHERE no = 1005";
    sqlx::raw_sql(hole).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let made = "CREATE TRIGGER audit_loses_none BEFORE DELETE ON audit BEGIN SELECT 1; END";
    let mut conn = connect(&file, Connecting::default()).await.unwrap();
    sqlx::raw_sql(made).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    open(&file.display().to_string()).await.close().await;
    let trail = Trail::in_file(&file).await.unwrap();
    let error = trail.check(ChainCheck::new(Start::First, None), |_, _| ()).await.unwrap_err();
    let TrailError::Broken { broken, .. } = error else { panic!("{error}") };
    assert_eq!(broken, Break::Missing { no: 1_005, found: 1_006 });
    let behind = Trail::in_file(&file).await.unwrap();
    let checked = behind.check(ChainCheck::new(Start::At(1_006), None), |_, _| ()).await.unwrap();
    assert_eq!(checked.head.map(|head| head.no), Some(OLDER_ENTRIES + 1));
}

/// Several nodes that start on an older database at once.
#[tokio::test(flavor = "multi_thread")]
async fn issue_5_a_servers_older_entries_are_chained_once_by_nodes_that_start_together() {
    let server = Postgres::start();
    let address = server.database();
    sqlx::any::install_default_drivers();
    let mut conn = AnyConnection::connect(&address).await.unwrap();
    schema::migrate(&mut conn, Dialect::Postgres, UNCHAINED).await.unwrap();
    let numbers = format!("generate_series(1, {OLDER_ENTRIES}) AS n (no)");
    sqlx::raw_sql(sqlx::AssertSqlSafe(older(&numbers))).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let (first, second, third) = tokio::join!(open(&address), open(&address), open(&address));
    is_chained(&first, Trail::on_server(&address, Duration::ZERO).await.unwrap()).await;
    for records in [first, second, third] {
        records.close().await;
    }
}
