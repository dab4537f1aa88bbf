//! A node with its records on a server: what it says when it cannot start, what an outage of the server costs, and what a
//! backup holds.

use std::time::Duration;

use jari::{RecordsError, ServeError};
use jari_servers::Postgres;
use jari_testkit::{Process, TestApp, Visitor, eventually};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::{JARI, node, server};

/// Longest that an operator's call takes while the records are down: the request's own limit, and a little.
const TOLD_WITHIN: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_visitors_notice_nothing_while_the_records_are_down() {
    let (mut server, database) = server();
    let app = node(&database).start().await;
    let id = app.create_room(|room| room.settings.capacity = 0).await;
    app.visitor().wait_in(&id).await;
    server.stop();
    assert_eq!(app.visitor().wait_in(&id).await.seq, 2);
    let path = format!("/v1/admin/rooms/{id}");
    let started = Instant::now();
    let change = json!({"settings": {"rate_per_s": 5}});
    app.operator().patch(&path, &change).await.problem(503, "records_unavailable");
    assert!(started.elapsed() < TOLD_WITHIN, "{:?}", started.elapsed());
    assert_eq!(app.visitor().wait_in(&id).await.seq, 3);
    // A balancer keeps sending people here; who looks reads why operators wait.
    let ready = Visitor::new(app.ops_url()).get("/readyz").await.expect(200).text();
    assert!(ready.starts_with("ready\n") && ready.contains("operators wait"), "{ready}");
    server.resume();
    eventually("operators can work again", async || {
        (app.operator().patch(&path, &change).await.status == 200).then_some(())
    })
    .await;
    app.stop().await;
}

#[tokio::test]
async fn issue_4_a_restart_finds_everything_on_the_server() {
    let (_server, database) = server();
    let app = node(&database).start().await;
    let id = app.create_room(|room| room.settings.capacity = 0).await;
    assert!(!app.data_dir().join("records.db").exists());
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    let app = app.restart().await;
    assert_eq!(app.operator().stats(&id).await.waiting, 1);
    assert_eq!(app.visitor().wait_in(&id).await.seq, 2);
    app.stop().await;
}

/// What PostgreSQL cannot keep is a caller's mistake, not an outage.
#[tokio::test]
async fn issue_4_a_nul_in_a_text_is_refused_as_such() {
    let (_server, database) = server();
    let app = node(&database).start().await;
    let operator = app.operator();
    let id = app.create_room(|_| {}).await;
    let title = json!({"title": {"en": "a\u{0}b"}});
    let path = format!("/v1/admin/rooms/{id}");
    operator.patch(&path, &title).await.problem(422, "invalid_field");
    let key = json!({"name": "a\u{0}b", "scope": "tenant"});
    operator.post("/v1/admin/keys", &key).await.problem(422, "invalid_field");
    operator.get("/v1/admin/audit?target=a%00b").await.problem(422, "invalid_field");
    operator.delete("/v1/admin/keys/a%00b").await.problem(422, "invalid_field");
    // In what is kept as JSON it is an escape like others.
    operator.steer(&id, "announce", json!({"text": "a\u{0}b"})).await.expect(200);
    app.stop().await;
}

/// A slip of the configuration never mixes one installation's line with another's keys.
#[tokio::test]
async fn issue_4_a_line_is_never_served_with_other_records_than_its_own() {
    let (server, database) = server();
    let app = node(&database).start().await;
    app.create_room(|_| {}).await;
    let folder = app.data_dir();
    let dir = app.stop().await;
    let refusal = async |records: &str| {
        let started = TestApp::builder().set("store.data_dir", folder.display());
        let started = started.set("records.url", records).set("records.start_wait_ms", 0);
        match started.try_start().await {
            Err(ServeError::Records(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let error = refusal("").await;
    assert!(matches!(error, RecordsError::Elsewhere { .. }), "{error}");
    assert!(error.to_string().contains("127.0.0.1") && error.to_string().contains("records.url"));
    let error = refusal(&server.database()).await;
    assert!(matches!(error, RecordsError::Empty { .. }), "{error}");

    let own = TestApp::start().await;
    let data = own.data_dir();
    let own_dir = own.stop().await;
    let other = TestApp::builder().set("store.data_dir", data.display());
    let other = other.set("records.url", &database).try_start().await;
    let Err(ServeError::Records(error)) = other else { panic!("{other:?}") };
    assert!(matches!(error, RecordsError::Here { .. }), "{error}");
    drop((dir, own_dir));
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_start_waits_for_the_server_and_says_so() {
    let (mut server, database) = server();
    server.stop();
    let dir = TempDir::new().expect("a folder");
    let process = Process::serve(JARI, dir.path()).env("JARI__RECORDS__URL", &database).spawn();
    eventually("it says what it waits for", async || {
        process.stderr().contains("waiting up to").then_some(())
    })
    .await;
    server.resume();
    eventually("it serves", async || process.stdout().contains("jari listens").then_some(())).await;
    process.kill().await;
}

/// Whoever runs it sees what it waits for, and may end it, also where nothing else would (the first process of a container).
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_start_that_waits_says_so_to_health_checks_and_ends_when_told() {
    let (mut server, database) = server();
    server.stop();
    let dir = TempDir::new().expect("a folder");
    let process = Process::serve(JARI, dir.path()).env("JARI__RECORDS__URL", &database);
    let mut process = process.spawn();
    let ops = Visitor::new(process.ops_while_starting().await);
    ops.get("/healthz").await.expect(200);
    eventually("it says what it waits for", async || {
        let answer = ops.get("/readyz").await;
        assert_eq!(answer.status, 503);
        answer.text().contains("starting: waits up to 30s for the records at ").then_some(())
    })
    .await;
    assert_eq!(ops.get("/metrics").await.status, 503);
    process.terminate().await;
    assert_eq!(process.wait().await.code(), Some(0), "{}", process.output());
    assert!(process.stderr().contains("stopped before it served"), "{}", process.output());
}

#[tokio::test]
async fn issue_4_a_start_without_the_right_password_ends_with_what_to_do() {
    let (server, database) = server();
    let name = database.rsplit('/').next().expect("a name");
    let dir = TempDir::new().expect("a folder");
    let start = |password: &str| {
        let address = server.address(&format!("{}:{password}", Postgres::GUARDED), name);
        Process::serve(JARI, dir.path()).arg("--records").arg(address).spawn()
    };
    let mut process = start("hunter2");
    assert_eq!(process.wait().await.code(), Some(1), "{}", process.output());
    let told = process.output();
    assert!(told.contains("refuses the user or password") && !told.contains("hunter2"), "{told}");
    server.sql("postgres", &format!("ALTER DATABASE {name} OWNER TO guarded"));
    // The password may stay out of the address.
    let address = server.address(Postgres::GUARDED, name);
    let process = Process::serve(JARI, dir.path()).arg("--records").arg(address);
    let process = process.env("PGPASSWORD", Postgres::PASSWORD).arg("--log-level").arg("debug");
    let process = process.start().await;
    let key = process.wait_for_key().await;
    process.operator(&key).get("/v1/admin/rooms").await.expect(200);
    assert!(!process.output().contains(Postgres::PASSWORD), "not even in a detailed log");
    process.kill().await;
}

#[tokio::test]
async fn issue_4_a_backup_says_that_the_records_are_elsewhere_and_a_dump_restores_them() {
    let (server, database) = server();
    let app = node(&database).start().await;
    let id = app.create_room(|room| room.settings.capacity = 0).await;
    app.visitor().wait_in(&id).await;
    let to = app.temp_dir().join("copy");
    let mut backup = Process::command(JARI, &["backup"])
        .arg("--data")
        .arg(app.data_dir())
        .arg("--to")
        .arg(&to)
        .spawn();
    assert!(backup.wait().await.success(), "{}", backup.output());
    let told = backup.stdout();
    assert!(told.contains("pg_dump") && told.contains("127.0.0.1"), "{told}");
    assert!(!told.contains("complete data folder"), "{told}");
    // With its records the copy serves; without them it is refused.
    let (alone, wait) = (Process::serve(JARI, &to), "JARI__RECORDS__START_WAIT_MS");
    let mut alone = alone.env(wait, "0").spawn();
    assert_eq!(alone.wait().await.code(), Some(1));
    assert!(alone.stderr().contains("records.url"), "{}", alone.stderr());
    let restored = server.restored(&database);
    let key = app.admin_key().to_owned();
    let dir = app.stop().await;
    let copy = Process::serve(JARI, &to).arg("--records").arg(&restored).start().await;
    assert_eq!(copy.operator(&key).stats(&id).await.waiting, 1);
    copy.operator(&key).set(&id, json!({"rate_per_s": 5})).await;
    copy.kill().await;
    drop(dir);
}
