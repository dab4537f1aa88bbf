//! What takes the inside to test: older and newer schemas, a full disk, a locked file, ten thousand rooms.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jari_line::Settings;
use jari_ports::{
    AuditEntry, Control, ControlError, Handover, Identity, OnStoreFailure, RoomDefinition,
};
use jari_units::Timestamp;
use sqlx::{Connection, Row};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::cause::Cause;
use crate::schema::Dialect;
use crate::sqlite::{Connecting, connect, create_private};
use crate::{OpenError, PoolStats, Records, schema};

/// One connection, so that what a test sets on it holds; and no patience.
const ALONE: Connecting = Connecting { connections: 1, busy_timeout_ms: 20 };

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.db");
    (folder, file)
}

async fn open(file: &Path) -> Result<Records, OpenError> {
    Records::open_file(file, ALONE).await
}

fn room(id: &str) -> RoomDefinition {
    RoomDefinition {
        id: id.parse().unwrap(),
        tenant: "default".parse().unwrap(),
        group: None,
        identity: Identity::Anonymous,
        title_ko: "대기실".to_owned(),
        title_en: "Room".to_owned(),
        target_url: "/".to_owned(),
        on_store_failure: OnStoreFailure::Wait,
        handover: Handover::Cookie,
        challenge: jari_ports::Challenge::default(),
        settings: Settings::default(),
        version: 0,
        created_at: Timestamp(1),
    }
}

fn entry() -> AuditEntry {
    AuditEntry {
        no: 0,
        at: Timestamp(1),
        actor: "system".to_owned(),
        action: "room.create".to_owned(),
        target: "room:shop".to_owned(),
        before: String::new(),
        after: "x".repeat(2_000),
    }
}

async fn run(records: &Records, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql).execute(&records.pool).await.map(|_| ())
}

/// From empty and from every schema that was ever released to the newest, keeping what was there.
#[tokio::test]
async fn every_older_schema_is_brought_up_to_date() {
    for older in 0..=schema::NEWEST {
        let (_folder, file) = folder();
        create_private(&file).unwrap();
        let mut conn = connect(&file, ALONE).await.unwrap();
        schema::migrate(&mut conn, Dialect::Sqlite, older).await.unwrap();
        if older >= 1 {
            let kept = "INSERT INTO signing_keys (id, secret, state, created_at) \
                        VALUES (7, printf('%064d', 0), 'active', 1)";
            sqlx::raw_sql(kept).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();
        let records = open(&file).await.unwrap();
        assert_eq!(records.put_room(room("shop"), entry()).await, Ok(1), "from {older}");
        assert_eq!(records.append_audit(entry()).await, Ok(2), "from {older}");
        assert_eq!(records.revision().await, Ok(1), "from {older}");
        let kept: Vec<_> = records.signing_keys().await.unwrap();
        assert_eq!(
            kept.iter().map(|key| key.id).collect::<Vec<_>>(),
            [7][..usize::from(older >= 1)]
        );
    }
}

/// The words that older rooms and keys named become tenants.
#[tokio::test]
async fn issue_5_older_rooms_and_keys_get_their_tenants() {
    let (_folder, file) = folder();
    create_private(&file).unwrap();
    let mut conn = connect(&file, ALONE).await.unwrap();
    schema::migrate(&mut conn, Dialect::Sqlite, schema::CHAINED).await.unwrap();
    let older = "INSERT INTO rooms SELECT word, word, NULL, 'anonymous', '', 'a', '/', 'wait', \
                 '{\"schema\":1,\"settings\":{}}', 1, 1 FROM (SELECT 'opera' AS word UNION SELECT 'arena'); \
                 INSERT INTO api_keys (id, no, tenant, scope, name, hash, created_at) \
                 VALUES ('k', 1, 'circus', 'tenant', '', printf('%064d', 0), 1), \
                 ('l', 2, 'opera', 'tenant', '', printf('%064d', 0), 1)";
    sqlx::raw_sql(older).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let records = open(&file).await.unwrap();
    let tenants = records.tenants().await.unwrap();
    let ids: Vec<_> = tenants.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, ["arena", "circus", "default", "opera"]);
    assert!(tenants.iter().all(|it| (it.version, it.rooms_max) == (1, 100_000)), "{tenants:?}");
    assert_eq!(records.rooms().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    run(&records, "UPDATE _sqlx_migrations SET version = 99 WHERE version = 3").await.unwrap();
    records.close().await;
    let error = open(&file).await.unwrap_err();
    let newer =
        matches!(&error, OpenError::Newer { found: 99, known, .. } if *known == schema::NEWEST);
    assert!(newer, "{error}");
    let text = error.to_string();
    assert!(text.contains(file.to_str().unwrap()) && text.contains("newer"), "{text}");
}

#[tokio::test]
async fn a_schema_of_another_origin_is_refused() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    run(&records, "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1").await.unwrap();
    records.close().await;
    let error = open(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::Altered { step: 1, .. }), "{error}");
}

#[tokio::test]
async fn another_programs_database_is_refused() {
    let (_folder, file) = folder();
    create_private(&file).unwrap();
    let mut conn = connect(&file, ALONE).await.unwrap();
    sqlx::raw_sql("CREATE TABLE recipes (name TEXT)").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let error = open(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign(_)), "{error}");
}

#[tokio::test]
async fn audit_entries_are_neither_changed_nor_deleted() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    records.append_audit(entry()).await.unwrap();
    for sql in ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"] {
        let error = run(&records, sql).await.unwrap_err().to_string();
        assert!(error.contains("audit entries are never"), "{error}");
    }
    assert_eq!(records.audit(None, None, 10).await.unwrap().entries[0].entry.actor, "system");
}

/// No change without its entry: where the trail takes none, nothing changes.
#[tokio::test]
async fn issue_4_a_change_whose_entry_cannot_be_written_does_not_happen() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    let refuse =
        "CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END";
    run(&records, refuse).await.unwrap();
    records.put_room(room("shop"), entry()).await.unwrap_err();
    assert_eq!((records.rooms().await, records.revision().await), (Ok(vec![]), Ok(0)));
    run(&records, "DROP TRIGGER refuse").await.unwrap();
    assert_eq!(records.put_room(room("shop"), entry()).await, Ok(1));
    assert_eq!(records.append_audit(entry()).await, Ok(2), "the refused one used no number");
}

/// Nothing is acknowledged that is not written, and writing goes on once there is space again.
#[tokio::test]
async fn a_full_disk_refuses_writes_until_there_is_space() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    // SQLite raises a bound below the present size to that size.
    run(&records, "PRAGMA max_page_count = 1").await.unwrap();
    let mut kept = 0;
    let refused = loop {
        match records.append_audit(entry()).await {
            Ok(no) => kept = no,
            Err(refused) => break refused,
        }
    };
    let ControlError::Unavailable(text) = refused else { panic!("{refused}") };
    assert!(text.contains("disk is full") && text.contains(file.to_str().unwrap()), "{text}");
    run(&records, "PRAGMA max_page_count = 10000").await.unwrap();
    assert_eq!(records.append_audit(entry()).await, Ok(kept + 1), "the refused one used no number");
}

/// A2 through a power cut hangs on these, on each connection.
#[tokio::test]
async fn every_connection_syncs_and_checks_references() {
    let (_folder, file) = folder();
    let records = Records::open_file(&file, Connecting::default()).await.unwrap();
    let mut kept = Vec::new();
    for _ in 0..Connecting::default().connections {
        let mut conn = records.pool.acquire().await.unwrap();
        let pragmas = "SELECT synchronous, foreign_keys, journal_mode, timeout FROM \
                       pragma_synchronous, pragma_foreign_keys, pragma_journal_mode, \
                       pragma_busy_timeout";
        let row = sqlx::query(pragmas).fetch_one(&mut *conn).await.unwrap();
        let numbers = [0, 1, 3].map(|at: usize| row.try_get::<i64, _>(at).unwrap());
        let mode: &str = row.try_get(2).unwrap();
        assert_eq!((numbers, mode), ([2, 1, 5_000], "wal"), "2 is FULL");
        kept.push(conn);
    }
}

#[tokio::test]
async fn a_read_only_database_is_told_as_such() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    run(&records, "PRAGMA query_only = ON").await.unwrap();
    let ControlError::Unavailable(text) = records.append_audit(entry()).await.unwrap_err() else {
        panic!("it should be unavailable")
    };
    assert!(text.contains("read-only") && text.contains(file.to_str().unwrap()), "{text}");
}

#[test]
fn errors_of_files_are_told_as_the_databases() {
    use std::io::ErrorKind;
    for (kind, want) in [
        (ErrorKind::PermissionDenied, "/d/records.db: the file or its folder is read-only"),
        (ErrorKind::ReadOnlyFilesystem, "/d/records.db: the file or its folder is read-only"),
        (ErrorKind::StorageFull, "/d/records.db: the disk is full"),
        (ErrorKind::AlreadyExists, "/d/records.db is there already"),
        (ErrorKind::Other, "/d/records.db: other error"),
    ] {
        let text = OpenError::file(Path::new("/d/records.db"), kind.into()).to_string();
        assert!(text.starts_with(want), "{text}");
    }
}

#[tokio::test]
async fn a_locked_file_is_told_as_such() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    let mut other = connect(&file, ALONE).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let refused = records.append_audit(entry()).await.unwrap_err();
    let ControlError::Unavailable(text) = refused else { panic!("{refused}") };
    assert!(text.contains("locked"), "{text}");
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(records.append_audit(entry()).await, Ok(1));
    records.close().await;

    sqlx::raw_sql("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        .execute(&mut other)
        .await
        .unwrap();
    let error = open(&file).await.unwrap_err();
    assert!(matches!(error, OpenError::Database { cause: Cause::Locked, .. }), "{error}");
}

#[tokio::test]
async fn damaged_content_is_told_and_not_guessed() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    records.put_room(room("shop"), entry()).await.unwrap();
    for (sql, named) in [
        ("UPDATE rooms SET challenge = 'captcha'", "challenge"),
        ("UPDATE rooms SET challenge = 'off', challenge_difficulty = -1", "challenge_difficulty"),
        ("UPDATE rooms SET challenge_difficulty = 4294967296", "challenge_difficulty"),
        ("UPDATE rooms SET challenge_difficulty = 100, identity = 'anybody'", "identity"),
        ("UPDATE rooms SET identity = 'entry', settings = '{}'", "settings"),
        ("UPDATE rooms SET settings = '{\"schema\": 2, \"settings\": {}}'", "schema 2"),
    ] {
        run(&records, sql).await.unwrap();
        let ControlError::Unavailable(text) = records.rooms().await.unwrap_err() else {
            panic!("{sql}")
        };
        assert!(text.contains(named), "{text}");
    }
}

/// A node reads all rooms at its start; a debug build has five seconds for it, which takes a tenth of one.
#[tokio::test]
async fn ten_thousand_rooms_are_listed_at_once() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    records.put_room(room("room"), entry()).await.unwrap();
    let copies = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
                  INSERT INTO rooms SELECT printf('room-%05d', i), tenant, limit_group, identity, \
                  title_ko, title_en, target_url, on_store_failure, settings, version, created_at, handover, \
                  challenge, challenge_difficulty \
                  FROM n, rooms";
    run(&records, copies).await.unwrap();
    let started = Instant::now();
    let rooms = records.rooms().await.unwrap();
    let took = started.elapsed();
    assert_eq!(rooms.len(), 10_000);
    assert_eq!(rooms[9_999].id.as_str(), "room-09999");
    assert_eq!(rooms[9_999].settings, Settings::default());
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_call_without_a_connection_is_counted_as_waiting() {
    let (_folder, file) = folder();
    let records = open(&file).await.unwrap();
    let busy = records.clone();
    let holder = tokio::spawn(async move {
        let work = async {
            let _conn = busy.pool.acquire().await.unwrap();
            std::future::pending::<()>().await;
        };
        busy.counted(work).await;
    });
    while records.pool_stats().used == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(records.pool_stats(), PoolStats { max: 1, used: 1, idle: 0, waiting: 0 });
    let asking = records.clone();
    let other = tokio::spawn(async move { asking.rooms().await });
    while records.pool_stats().waiting == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(records.pool_stats().waiting, 1);
    holder.abort();
    assert_eq!(other.await.unwrap(), Ok(Vec::new()));
    assert_eq!(records.pool_stats().waiting, 0);
}
