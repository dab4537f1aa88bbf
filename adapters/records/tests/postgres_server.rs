//! The records on a server: what is waited for and what is told at once, the schema among several processes, TLS,
//! passwords, and a server that goes away. Queries are in the contract.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::time::Duration;

use jari_ports::{AuditEntry, Control, ControlError, SigningKey, SigningKeyState};
use jari_records::{Cause, OpenError, Records};
use jari_servers::Postgres;
use jari_units::Timestamp;
use tokio::time::Instant;

/// Longer than any server here takes to start.
const PATIENT: Duration = Duration::from_secs(30);

async fn open(address: &str) -> Result<Records, OpenError> {
    Records::open(address, Duration::ZERO).await
}

/// The cause of not opening; the text names the place and no password.
async fn refusal(address: &str) -> Cause {
    let error = open(address).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("127.0.0.1"), "{text}");
    let escaped = Postgres::PASSWORD.replace(' ', "%20");
    assert!(![Postgres::PASSWORD, &escaped, "wrong-word"].iter().any(|it| text.contains(it)));
    let OpenError::Database { cause, .. } = error else { panic!("{error}") };
    cause
}

fn entry() -> AuditEntry {
    AuditEntry { action: "test".to_owned(), ..AuditEntry::default() }
}

fn key(id: u8) -> SigningKey {
    let (state, created_at) = (SigningKeyState::Active, Timestamp(1));
    SigningKey { id, secret: [id; 32], state, created_at }
}

#[tokio::test]
async fn issue_4_a_wrong_user_password_or_database_is_told_at_once() {
    let server = Postgres::start();
    let place = server.database();
    let database = place.rsplit('/').next().unwrap();
    let with = |password: &str| {
        let user = format!("{}:{password}", Postgres::GUARDED);
        server.address(&user, database)
    };
    let started = Instant::now();
    for password in ["wrong-word", ""] {
        let error = Records::open(&with(password), PATIENT).await.unwrap_err();
        let told = matches!(error, OpenError::Database { cause: Cause::Credentials(_), .. });
        assert!(told, "{error}");
        refusal(&with(password)).await;
    }
    let missing = Records::open(&server.address("jari", "missing"), PATIENT).await.unwrap_err();
    let told = matches!(missing, OpenError::Database { cause: Cause::DatabaseMissing(_), .. });
    assert!(told && missing.to_string().contains("createdb"), "{missing}");
    assert!(started.elapsed() < PATIENT, "none of these is waited for");
    // The right password opens; without rights nothing is made.
    let password = Postgres::PASSWORD.replace(' ', "%20");
    let cause = refusal(&with(&password)).await;
    assert!(matches!(cause, Cause::Rights(_)), "{cause}");
    server.sql("postgres", &format!("ALTER DATABASE {database} OWNER TO guarded"));
    let records = open(&with(&password)).await.unwrap();
    assert!(!format!("{records:?}").contains(&password), "{records:?}");
    records.close().await;
}

#[tokio::test]
async fn issue_4_a_server_that_starts_later_is_waited_for_and_one_that_never_does_is_not() {
    let mut server = Postgres::start();
    let database = server.database();
    server.stop();
    let cause = refusal(&database).await;
    assert!(matches!(cause, Cause::Unreachable(_)), "{cause}");
    let started = Instant::now();
    let wait = Duration::from_millis(700);
    Records::open(&database, wait).await.unwrap_err();
    assert!(started.elapsed() <= wait + Duration::from_secs(2), "{:?}", started.elapsed());
    // Asked first, and then the server starts.
    let resume = tokio::task::spawn_blocking(move || {
        server.resume();
        server
    });
    let (opened, server) = tokio::join!(Records::open(&database, PATIENT), resume);
    let (records, _server) = (opened.unwrap(), server.unwrap());
    assert_eq!(records.revision().await, Ok(0));
    records.close().await;
}

/// Several processes that start on an empty database at once: one makes the schema, the others wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_processes_that_migrate_at_once_do_so_once() {
    let server = Postgres::start();
    for _ in 0..5 {
        let database = server.database();
        let start = || open(&database);
        let started = tokio::join!(start(), start(), start(), start(), start(), start());
        for records in <[_; 6]>::from(started) {
            let records = records.unwrap();
            assert_eq!(records.revision().await, Ok(0));
            records.close().await;
        }
        let steps = server.sql(&database, "SELECT count(*) FROM _sqlx_migrations");
        assert_eq!(steps, server.sql(&database, "SELECT max(version) FROM _sqlx_migrations"));
    }
}

#[tokio::test]
async fn issue_4_what_another_program_or_a_newer_jari_made_is_refused() {
    let server = Postgres::start();
    let database = server.database();
    server.sql(&database, "CREATE TABLE recipes (name TEXT)");
    let error = open(&database).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign(_)), "{error}");
    server.sql(&database, "DROP TABLE recipes");
    open(&database).await.unwrap().close().await;
    server.sql(&database, "UPDATE _sqlx_migrations SET version = 99 WHERE version = 3");
    let error = open(&database).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
    server.sql(
        &database,
        "UPDATE _sqlx_migrations SET version = 3 WHERE version = 99; \
         UPDATE _sqlx_migrations SET checksum = '' WHERE version = 1",
    );
    let error = open(&database).await.unwrap_err();
    assert!(matches!(error, OpenError::Altered { step: 1, .. }), "{error}");
    server.sql("postgres", "CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0");
    let error = open(&server.address("jari", "old")).await.unwrap_err();
    assert!(matches!(error, OpenError::Encoding { .. }), "{error}");
}

#[tokio::test]
async fn issue_4_the_trail_is_neither_changed_nor_shortened_on_the_server() {
    let server = Postgres::start();
    let database = server.database();
    let records = open(&database).await.unwrap();
    records.append_audit(entry()).await.unwrap();
    for change in ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"] {
        let tried = format!(
            "DO $$ BEGIN {change}; RAISE 'it was changed'; EXCEPTION WHEN raise_exception THEN \
             IF SQLERRM LIKE 'audit entries are never%' THEN RETURN; END IF; RAISE; END $$"
        );
        server.sql(&database, &tried);
    }
    assert_eq!(records.audit(None, None, 10).await.unwrap().entries.len(), 1);
    records.close().await;
}

/// What is answered is on the disk, whatever the server's default; a session that hangs lets go by itself.
#[tokio::test]
async fn issue_4_every_session_has_our_settings() {
    let server = Postgres::builder()
        .set("synchronous_commit=off")
        .set("default_transaction_isolation=serializable")
        .start();
    let database = server.database();
    let records = open(&database).await.unwrap();
    records.append_audit(entry()).await.unwrap();
    // Seen from within a write: a trigger keeps what its session has.
    server.sql(
        &database,
        "CREATE TABLE seen (name TEXT, value TEXT); \
         CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO seen SELECT name, setting FROM pg_settings WHERE name IN \
         ('synchronous_commit', 'transaction_isolation', 'statement_timeout', \
         'application_name'); RETURN NEW; END $$; \
         CREATE TRIGGER look BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION look()",
    );
    records.append_audit(entry()).await.unwrap();
    let seen = server.sql(&database, "SELECT name || '=' || value FROM seen ORDER BY name");
    let want = "application_name=jari\nstatement_timeout=5000\nsynchronous_commit=on\n\
                transaction_isolation=read committed";
    assert_eq!(seen, want);
    records.close().await;
}

#[tokio::test]
async fn issue_4_tls_is_used_and_a_strange_certificate_refused() {
    let server = Postgres::builder().tls().start();
    let database = server.database();
    let trusted = server.certificate().display().to_string();
    let verified = format!("{database}?sslmode=verify-full&sslrootcert={trusted}");
    let records = open(&verified).await.unwrap();
    records.append_audit(entry()).await.unwrap();
    let sessions = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                    WHERE application_name = 'jari' AND NOT ssl";
    assert_eq!(server.sql(&database, sessions), "0", "no session without TLS");
    records.close().await;
    let cause = refusal(&format!("{database}?sslmode=verify-full")).await;
    assert!(matches!(cause, Cause::Tls(_)), "nobody vouches for it: {cause}");
    let plain = Postgres::start();
    let cause = refusal(&format!("{}?sslmode=require", plain.database())).await;
    assert!(matches!(cause, Cause::Tls(_)), "it has no TLS: {cause}");
}

/// A server that is gone is told within a request's time, and used again once it is back.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_server_that_comes_back_is_used_again() {
    let mut server = Postgres::start();
    let database = server.database();
    let records = open(&database).await.unwrap();
    records.add_signing_key(key(1), entry()).await.unwrap();
    server.stop();
    let started = Instant::now();
    let refused = records.add_signing_key(key(2), entry()).await.unwrap_err();
    let ControlError::Unavailable(text) = refused else { panic!("{refused}") };
    assert!(text.contains("127.0.0.1") && started.elapsed() < Duration::from_secs(7), "{text}");
    server.resume();
    let again = async {
        while records.add_signing_key(key(3), entry()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENT, again).await.unwrap();
    let ids: Vec<_> = records.signing_keys().await.unwrap().iter().map(|key| key.id).collect();
    assert_eq!(ids, [1, 3], "the acknowledged ones, through a crash of the server");
    records.close().await;
}

/// A statement that waits for a lock gives up before the caller's request does, and leaves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_write_behind_a_foreign_lock_gives_up_in_time() {
    let server = Postgres::start();
    let database = server.database();
    let records = open(&database).await.unwrap();
    let name = database.rsplit('/').next().unwrap().to_owned();
    let (lock, locked) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            lock.send(()).unwrap();
            let hold = "BEGIN; UPDATE counters SET value = value; SELECT pg_sleep(8); ROLLBACK";
            server.sql(&name, hold)
        });
        locked.recv().unwrap();
        let held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        while server.sql(&name, held) != "1" {}
        let started = Instant::now();
        let write = records.add_signing_key(key(1), entry());
        let refused = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(write).unwrap_err()
        });
        assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
        assert!(matches!(refused, ControlError::Unavailable(_)), "{refused}");
        holder.join().unwrap();
    });
    assert_eq!(records.signing_keys().await.unwrap(), []);
    assert_eq!(records.add_signing_key(key(1), entry()).await, Ok(()));
    records.close().await;
}

/// A server that accepts and says nothing, as behind a broken network: while it starts, and while it is in use.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_silent_server_is_given_up_in_time_and_used_again() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let started = Instant::now();
    let cause = refusal(&format!("postgres://jari@{}/jari", silent.local_addr().unwrap())).await;
    assert!(matches!(cause, Cause::Unreachable(_)), "{cause}");
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());

    let mut server = Postgres::start();
    let database = server.database();
    let records = open(&database).await.unwrap();
    records.add_signing_key(key(1), entry()).await.unwrap();
    server.freeze();
    let started = Instant::now();
    let refused = records.signing_keys().await.unwrap_err();
    assert!(matches!(refused, ControlError::Unavailable(_)), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
    server.thaw();
    let again = async {
        while records.add_signing_key(key(2), entry()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENT, again).await.unwrap();
    records.close().await;
}
