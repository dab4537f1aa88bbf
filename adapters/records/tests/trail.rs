//! The trail when somebody was at it by hand, on each database: what a check finds, what it cannot, and several nodes that
//! write at once. Which ways there are to tamper with a chain is told in `core/audit`; here they go past the triggers.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use jari_audit::{Break, ChainCheck, EntryHash, Start};
use jari_ports::{AuditEntry, Control, SigningKey, SigningKeyState};
use jari_records::{Checked, OpenError, Records, Trail, TrailError};
use jari_servers::Postgres;
use jari_units::Timestamp;
use sqlx::{AnyConnection, Connection};

/// Entries in a trail before it is tampered with.
const LENGTH: u64 = 6;

/// What was done by hand, and what a check says of it; `None` where it finds nothing.
const TAMPERED: [(&str, Option<Break>); 14] = [
    ("UPDATE audit SET actor = 'key:nobody' WHERE no = 3", Some(Break::Changed { no: 3 })),
    ("UPDATE audit SET was = '{}' WHERE no = 1", Some(Break::Changed { no: 1 })),
    ("UPDATE audit SET at = at + 1 WHERE no = 6", Some(Break::Changed { no: 6 })),
    ("UPDATE audit SET hash = 'none' WHERE no = 2", Some(Break::Changed { no: 2 })),
    ("UPDATE audit SET form = 9 WHERE no = 2", Some(Break::UnknownForm { no: 2, form: 9 })),
    ("DELETE FROM audit WHERE no = 1", Some(Break::Missing { no: 1, found: 2 })),
    ("DELETE FROM audit WHERE no = 3", Some(Break::Missing { no: 3, found: 4 })),
    (
        "DELETE FROM audit WHERE no = 3; UPDATE audit SET no = no + 100 WHERE no > 3; \
         UPDATE audit SET no = no - 101 WHERE no > 100",
        Some(Break::Changed { no: 3 }),
    ),
    (
        "UPDATE audit SET no = 100 WHERE no = 3; UPDATE audit SET no = 3 WHERE no = 4; \
         UPDATE audit SET no = 4 WHERE no = 100",
        Some(Break::Changed { no: 3 }),
    ),
    (
        "UPDATE audit SET no = no + 100 WHERE no > 3; UPDATE audit SET no = no - 99 WHERE no > 100; \
         INSERT INTO audit SELECT 4, at, 'key:nobody', action, target, was, is_now, form, 'y', 'x' \
         FROM audit WHERE no = 6",
        Some(Break::Changed { no: 4 }),
    ),
    (
        "INSERT INTO audit SELECT 0, at, actor, action, target, was, is_now, form, 'x', hash \
         FROM audit WHERE no = 1",
        Some(Break::OutOfOrder { no: 0, head: 0 }),
    ),
    ("DELETE FROM audit WHERE no > 4", Some(Break::Cut { head: 4, counted: LENGTH })),
    ("DELETE FROM audit", Some(Break::Cut { head: 0, counted: LENGTH })),
    // Whoever cuts the end and sets the count back leaves no trace in the trail.
    ("DELETE FROM audit WHERE no > 4; UPDATE counters SET value = 4 WHERE name = 'audit'", None),
];

fn entry(no: u64) -> AuditEntry {
    AuditEntry {
        no: 0,
        at: Timestamp(no),
        actor: "key:abc".to_owned(),
        action: "room.pause".to_owned(),
        target: "room:shop".to_owned(),
        before: String::new(),
        after: r#"{"왜": "점검"}"#.to_owned(),
    }
}

async fn sql(address: &str, statements: &str) -> Result<(), sqlx::Error> {
    sqlx::any::install_default_drivers();
    let mut conn = AnyConnection::connect(address).await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements.to_owned())).execute(&mut conn).await?;
    conn.close().await
}

async fn open(address: &str) -> Records {
    Records::open(address, Duration::ZERO).await.unwrap()
}

/// Writes entries, and answers the last one's hash.
async fn written(address: &str) -> EntryHash {
    let records = open(address).await;
    for no in 1..=LENGTH {
        assert_eq!(records.append_audit(entry(no)).await, Ok(no));
    }
    let head = records.audit(None, None, 1).await.unwrap().entries[0].link.hash;
    records.close().await;
    head
}

async fn trail(address: &str) -> Result<Trail, OpenError> {
    match address.strip_prefix("sqlite:") {
        Some(path) => Trail::in_file(Path::new(path)).await,
        None => Trail::on_server(address, Duration::ZERO).await,
    }
}

async fn check(address: &str, expected: Option<EntryHash>) -> Result<Checked, Break> {
    let trail = trail(address).await.unwrap();
    match trail.check(ChainCheck::new(Start::First, expected), |_, _| ()).await {
        Ok(checked) => Ok(checked),
        Err(TrailError::Broken { broken, place }) => {
            assert!(!place.is_empty());
            Err(broken)
        }
        Err(error) => panic!("{error}"),
    }
}

/// Each way in a database of its own. `bare` takes the triggers away, as its owner can.
async fn every_way(mut database: impl FnMut() -> String, bare: &str) {
    for (tampering, found) in TAMPERED {
        let address = database();
        let head = written(&address).await;
        let whole = check(&address, Some(head)).await.unwrap();
        assert_eq!(whole.entries, LENGTH);
        assert_eq!(whole.head.map(|head| (head.no, head.hash)), Some((LENGTH, head)));
        // More entries are no change of those that are there.
        if !tampering.starts_with("INSERT") {
            sql(&address, tampering).await.expect_err("the triggers refuse it");
        }
        sql(&address, &format!("{bare}; {tampering}")).await.unwrap();
        assert_eq!(check(&address, None).await.err(), found, "{tampering}");
        let told = check(&address, Some(head)).await.unwrap_err();
        assert_eq!(told, found.unwrap_or(Break::HeadLost { hash: head }), "{tampering}");
    }
}

/// The database itself refuses a second entry behind one: a chain cannot fork, whoever writes.
async fn no_fork(address: &str) {
    written(address).await;
    let fork = "INSERT INTO audit SELECT no + 100, at, actor, action, target, was, is_now, form, \
                prev_hash, hash FROM audit WHERE no = 3";
    let refused = sql(address, fork).await.unwrap_err();
    let unique =
        refused.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation);
    assert!(unique, "{refused}");
}

/// Several nodes write at once, definitions and entries: one chain, with every entry in it.
async fn several_nodes(address: &str) {
    let mut writing = tokio::task::JoinSet::new();
    for node in 0..3_u8 {
        let records = open(address).await;
        writing.spawn(async move {
            for no in 0..10 {
                records.append_audit(entry(no)).await.unwrap();
                let id = node * 10 + no as u8;
                let (state, created_at) = (SigningKeyState::Active, Timestamp(1));
                let key = SigningKey { id, secret: [1; 32], state, created_at };
                records.add_signing_key(key, entry(no)).await.unwrap();
            }
            records.close().await;
        });
    }
    writing.join_all().await;
    assert_eq!(check(address, None).await.map(|checked| checked.entries), Ok(60));
}

/// A trail that is checked while it grows is whole.
async fn beside_a_writer(address: &str) {
    let records = open(address).await;
    let writer = records.clone();
    let writing = tokio::spawn(async move {
        for no in 0..40 {
            writer.append_audit(entry(no)).await.unwrap();
        }
    });
    let mut checks = 0;
    while !writing.is_finished() || checks == 0 {
        check(address, None).await.unwrap();
        checks += 1;
    }
    writing.await.unwrap();
    assert_eq!(check(address, None).await.map(|checked| checked.entries), Ok(40));
    records.close().await;
}

/// Files that are fresh each time, in one folder.
fn files() -> (tempfile::TempDir, impl FnMut() -> String) {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut files) = (folder.path().to_owned(), 0);
    let next = move || {
        files += 1;
        let file: PathBuf = path.join(format!("{files}.db"));
        format!("sqlite:{}", file.display())
    };
    (folder, next)
}

const BARE_SQLITE: &str = "DROP TRIGGER audit_keeps_entries; DROP TRIGGER audit_loses_none";
const BARE_POSTGRES: &str = "DROP TRIGGER audit_keeps_entries ON audit";

#[tokio::test]
async fn issue_5_a_file_that_somebody_was_at_is_found_out() {
    let (_folder, database) = files();
    every_way(database, BARE_SQLITE).await;
}

#[tokio::test]
async fn issue_5_a_server_that_somebody_was_at_is_found_out() {
    let server = Postgres::start();
    every_way(|| server.database(), BARE_POSTGRES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_5_nodes_that_share_a_file_write_one_chain() {
    let (_folder, mut database) = files();
    no_fork(&database()).await;
    several_nodes(&database()).await;
    beside_a_writer(&database()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_5_nodes_that_share_a_server_write_one_chain() {
    let server = Postgres::start();
    no_fork(&server.database()).await;
    several_nodes(&server.database()).await;
    beside_a_writer(&server.database()).await;
}

#[tokio::test]
async fn issue_5_a_check_changes_nothing_and_says_what_it_cannot_read() {
    let (folder, mut database) = files();
    let address = database();
    written(&address).await;
    let file = address.strip_prefix("sqlite:").unwrap().to_owned();
    let before = std::fs::read(&file).unwrap();
    check(&address, None).await.unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), before);

    let missing = database();
    let error = trail(&missing).await.unwrap_err();
    assert!(matches!(error, OpenError::FileMissing(_)), "{error}");
    assert!(!Path::new(missing.strip_prefix("sqlite:").unwrap()).exists());
    let foreign = folder.path().join("recipes.db");
    std::fs::write(&foreign, "").unwrap();
    let foreign = format!("sqlite:{}", foreign.display());
    assert!(matches!(trail(&foreign).await.unwrap_err(), OpenError::Foreign(_)));
    sql(&foreign, "CREATE TABLE recipes (name TEXT)").await.unwrap();
    assert!(matches!(trail(&foreign).await.unwrap_err(), OpenError::Foreign(_)));
    for (version, newer) in [(99, true), (3, false)] {
        let address = database();
        written(&address).await;
        let aged = format!(
            "DELETE FROM _sqlx_migrations WHERE version > 3; \
                            UPDATE _sqlx_migrations SET version = {version} WHERE version = 3"
        );
        sql(&address, &aged).await.unwrap();
        let error = trail(&address).await.unwrap_err();
        match error {
            OpenError::Newer { found: 99, .. } => assert!(newer),
            OpenError::Older { found: 3, .. } => assert!(!newer),
            other => panic!("{other}"),
        }
    }
}
