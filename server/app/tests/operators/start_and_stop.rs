//! Starting, refusing to start, and going away without losing anything.

use std::path::Path;

use jari_testkit::{Process, TestApp, Visitor, eventually};
use serde_json::json;
use tempfile::TempDir;

use crate::JARI;

#[tokio::test]
async fn the_admin_key_is_printed_at_the_first_start_only() {
    let dir = TempDir::new().expect("a folder");
    let data = dir.path().join("data");
    let mut first = Process::serve(JARI, &data).start().await;
    let key = first.wait_for_key().await;
    first.operator(&key).get("/v1/admin/rooms").await.expect(200);
    first.terminate().await;
    assert!(first.wait().await.success(), "{}", first.output());
    let secret = key.rsplit('_').next().expect("a part").to_owned();
    assert!(!first.stderr().contains(&secret), "the key is in the log");
    assert!(!kept_in(&data, &secret), "the key itself is in a file of the data folder");

    let mut second = Process::serve(JARI, &data).start().await;
    second.operator(&key).get("/v1/admin/rooms").await.expect(200);
    second.terminate().await;
    assert!(second.wait().await.success());
    assert!(
        second.printed_key().is_none() && !second.output().contains(&secret),
        "{}",
        second.output()
    );
}

#[tokio::test]
async fn who_lost_the_key_and_owns_the_folder_gets_another() {
    let dir = TempDir::new().expect("a folder");
    let first = Process::serve(JARI, dir.path()).start().await;
    let lost = first.wait_for_key().await;
    first.kill().await;
    let second = Process::serve(JARI, dir.path()).arg("--new-admin-key").start().await;
    let found = second.wait_for_key().await;
    assert_ne!(found, lost);
    for key in [&found, &lost] {
        second.operator(key).get("/v1/admin/rooms").await.expect(200);
    }
    second.kill().await;
}

fn kept_in(data: &Path, secret: &str) -> bool {
    let files = std::fs::read_dir(data).expect("the data folder is there");
    files.flatten().any(|file| {
        let bytes = std::fs::read(file.path()).expect("its files can be read");
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    })
}

#[tokio::test]
async fn a_second_process_on_the_data_folder_is_refused() {
    let dir = TempDir::new().expect("a folder");
    let first = Process::serve(JARI, dir.path()).start().await;
    let mut second = Process::serve(JARI, dir.path()).spawn();
    let ended = second.wait().await;
    assert_eq!(ended.code(), Some(1), "{}", second.output());
    let said = second.stderr();
    assert!(said.contains("in use") && said.contains(&first.id().to_string()), "{said}");
    let key = first.wait_for_key().await;
    first.operator(&key).get("/v1/admin/rooms").await.expect(200);
    first.kill().await;
    let third = Process::serve(JARI, dir.path()).start().await;
    third.operator(&key).get("/v1/admin/rooms").await.expect(200);
    third.kill().await;
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_written_is_a_clear_error() {
    let dir = TempDir::new().expect("a folder");
    // A file where the folder should be fails for every user; permissions do not bind root.
    let blocked = dir.path().join("data");
    std::fs::write(&blocked, "not a folder").expect("the folder can be written");
    let mut process = Process::serve(JARI, &blocked).spawn();
    let ended = process.wait().await;
    assert_eq!(ended.code(), Some(1));
    let said = process.stderr();
    assert!(said.contains("jari: the data folder") && said.contains("permissions"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// As with a full disk: callers are told, and the process goes on.
#[tokio::test]
async fn a_file_that_meets_its_size_limit_is_told_and_ends_nothing() {
    let dir = TempDir::new().expect("a folder");
    let limited = r#"ulimit -f 1200; exec "$0" serve --config /dev/null --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 --data "$1""#;
    let process = Process::command("/bin/sh", &["-c", limited, JARI]).arg(dir.path()).start().await;
    let key = process.wait_for_key().await;
    let room = json!({
        "room": "shop", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
    });
    process.operator(&key).post("/v1/admin/rooms", &room).await.expect(201);
    process.operator(&key).steer("shop", "pause", json!({})).await.expect(200);
    let mut acknowledged = 0;
    let refused = loop {
        let visitor = process.visitor();
        visitor.identify().await;
        let answer = visitor.join("shop").await;
        if answer.status != 201 {
            break answer;
        }
        acknowledged += 1;
        assert!(acknowledged < 2_000, "the limit is met long before");
    };
    refused.problem(503, "store_unavailable");
    process.operator(&key).get("/v1/admin/rooms").await.expect(200);
    process.kill().await;
    let free = Process::serve(JARI, dir.path()).start().await;
    let stats = free.operator(&key).stats("shop").await;
    assert!(stats.waiting >= acknowledged, "A2: {} of {acknowledged}", stats.waiting);
    free.kill().await;
}

/// A lost file is not a first start: with new keys every token would be void, with an empty line every place.
#[tokio::test]
async fn a_data_folder_that_lost_a_file_is_refused_and_a_fresh_one_is_not() {
    let app = TestApp::start().await;
    let room = app.create_room(|_| {}).await;
    app.visitor().wait_in(&room).await;
    let data = app.data_dir();
    let dir = app.stop().await;
    for file in ["records.db", "journal.db"] {
        let (lost, away) = (data.join(file), dir.path().join("away"));
        std::fs::rename(&lost, &away).expect("the file");
        for empty in [false, true] {
            if empty {
                std::fs::write(&lost, "").expect("the folder can be written");
            }
            let mut process = Process::serve(JARI, &data).spawn();
            assert_eq!(process.wait().await.code(), Some(1), "{file}: {}", process.output());
            let said = process.stderr();
            assert!(said.contains(file) && said.contains("restore a backup"), "{said}");
        }
        std::fs::rename(&away, &lost).expect("the file");
    }
    let whole = Process::serve(JARI, &data).start().await;
    whole.kill().await;
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error_and_no_key_is_made() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = taken.local_addr().expect("it is bound").to_string();
    let dir = TempDir::new().expect("a folder");
    let mut process =
        Process::command(JARI, &["serve", "--ops-listen", "127.0.0.1:0", "--config", "/dev/null"])
            .arg("--listen")
            .arg(&addr)
            .arg("--data")
            .arg(dir.path())
            .spawn();
    assert_eq!(process.wait().await.code(), Some(1));
    let said = process.stderr();
    assert!(said.contains(&addr) && said.contains("http.listen"), "{said}");
    let first = Process::serve(JARI, dir.path()).start().await;
    assert!(!first.wait_for_key().await.is_empty(), "the first start that works shows the key");
    first.kill().await;
}

#[tokio::test]
async fn a_wrong_configuration_names_every_problem_and_its_fix() {
    let dir = TempDir::new().expect("a folder");
    let file = dir.path().join("jari.toml");
    let text = "[http]\nlisten = \"nowhere\"\nrequest_timeout_ms = 1\n[htp]\nlisten = \"x\"\n";
    std::fs::write(&file, text).expect("the folder can be written");
    for command in ["check", "serve"] {
        let mut process = Process::command(JARI, &[command]).arg("--config").arg(&file).spawn();
        assert_eq!(process.wait().await.code(), Some(1));
        let said = process.stderr();
        for part in
            ["http.listen", "http.request_timeout_ms", "htp.listen", "nowhere", "100 to 600000"]
        {
            assert!(said.contains(part), "{command}: {part} is not in {said}");
        }
    }
    let mut good = Process::command(JARI, &["check", "--config", "/dev/null"])
        .env("JARI__HTTP__DRAIN_TIMEOUT_MS", "123")
        .spawn();
    assert!(good.wait().await.success(), "{}", good.output());
    assert!(
        good.stdout().contains("drain_timeout_ms = 123 # JARI__HTTP__DRAIN_TIMEOUT_MS"),
        "{}",
        good.stdout()
    );
}

/// What a start would refuse for the configuration alone, the check refuses with the same words.
#[tokio::test]
async fn a_check_reads_addresses_as_a_start_does() {
    for (flag, address, told) in [
        ("--store", "redis://u:p4ss@h:99999", "store.url"),
        ("--store", "redis://h/abc", "store.url"),
        ("--store", "redis+sentinel://h:1", "master's name"),
        ("--store", "redis+cluster://h:1/3", "database number"),
        ("--records", "postgres://u:p4ss@h/jari?bad=1", "bad"),
    ] {
        let mut process = Process::command(JARI, &["check", "--config", "/dev/null"])
            .arg(flag)
            .arg(address)
            .spawn();
        assert_eq!(process.wait().await.code(), Some(1), "{address}");
        let said = process.stderr();
        assert!(said.contains(told) && !said.contains("p4ss"), "{address}: {said}");
    }
}

/// And so it does with the files that a start reads.
#[tokio::test]
async fn a_check_reads_a_certificate_as_a_start_does() {
    let dir = TempDir::new().expect("a folder");
    for command in ["check", "serve"] {
        let mut process = Process::command(JARI, &[command, "--config", "/dev/null"])
            .env("JARI__HTTP__LISTEN", "127.0.0.1:0")
            .env("JARI__OPS__LISTEN", "127.0.0.1:0")
            .env("JARI__PROTECT__LISTEN", "127.0.0.1:0")
            .env("JARI__PROTECT__UPSTREAM", "http://127.0.0.1:9")
            .env("JARI__PROTECT__TLS_CERT", dir.path().join("none.pem").to_str().expect("a path"))
            .env("JARI__PROTECT__TLS_KEY", dir.path().join("none.key").to_str().expect("a path"))
            .arg("--data")
            .arg(dir.path())
            .spawn();
        let code = process.wait().await.code();
        let said = process.stderr();
        assert_eq!(code, Some(1), "{command}: {said}");
        assert!(
            said.contains("protect.tls_cert") && said.contains("none.pem"),
            "{command}: {said}"
        );
    }
}

#[tokio::test]
async fn a_drain_tells_streams_to_come_back_and_finishes_what_is_in_flight() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.rate_per_s = 0.0).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    let mut events = visitor.events(&id).await;
    events.next_of("place").await;
    let stopping = tokio::spawn(app.stop());
    let reconnect = events.next_of("reconnect").await;
    assert!(reconnect.json()["after_ms"].is_u64(), "{reconnect:?}");
    assert_eq!(events.next().await, None, "the stream ends");
    drop(stopping.await.expect("it stops within its limit"));
}

/// Balancers that ask are told before anybody is sent away; a second signal cuts the notice short.
#[tokio::test]
async fn issue_4_a_drain_is_announced_while_everybody_is_still_served() {
    let dir = TempDir::new().expect("a folder");
    let process = Process::serve(JARI, dir.path()).env("JARI__HTTP__DRAIN_NOTICE_MS", "600000");
    let mut process = process.start().await;
    let key = process.wait_for_key().await;
    let room = json!({
        "room": "shop", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
        "settings": {"rate_per_s": 0},
    });
    process.operator(&key).post("/v1/admin/rooms", &room).await.expect(201);
    let visitor = process.visitor();
    visitor.wait_in("shop").await;
    let mut events = visitor.events("shop").await;
    events.next_of("place").await;
    process.terminate().await;
    let ops = Visitor::new(process.ops_url());
    let ready = eventually("it is not ready any more", async || {
        let ready = ops.get("/readyz").await;
        (ready.status == 503).then(|| ready.text())
    })
    .await;
    assert!(ready.contains("draining"), "{ready}");
    ops.get("/healthz").await.expect(200);
    assert_eq!(process.visitor().wait_in("shop").await.seq, 2, "on a new connection");
    process.operator(&key).steer("shop", "announce", json!({"text": "soon"})).await.expect(200);
    let line = events.until("line", |line: &serde_json::Value| !line["notice"].is_null()).await;
    assert_eq!(line["notice"]["text"], "soon", "the stream goes on");
    process.terminate().await;
    assert!(process.wait().await.success(), "{}", process.output());
}

/// A hook that renews certificates sends it to every node, also to those that have none.
#[tokio::test]
async fn issue_4_a_hangup_ends_no_server() {
    let dir = TempDir::new().expect("a folder");
    let mut process = Process::serve(JARI, dir.path()).start().await;
    let key = process.wait_for_key().await;
    process.hang_up().await;
    eventually("it is heard", async || process.output().contains("SIGHUP").then_some(())).await;
    process.operator(&key).get("/v1/admin/rooms").await.expect(200);
    process.terminate().await;
    assert!(process.wait().await.success(), "{}", process.output());
}

#[tokio::test]
async fn acknowledged_places_and_commands_survive_kill_9() {
    let dir = TempDir::new().expect("a folder");
    let first = Process::serve(JARI, dir.path()).start().await;
    let key = first.wait_for_key().await;
    let room = json!({
        "room": "shop", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
        "settings": {"rate_per_s": 0},
    });
    first.operator(&key).post("/v1/admin/rooms", &room).await.expect(201);
    first.operator(&key).steer("shop", "pause", json!({})).await.expect(200);
    let mut seqs = Vec::new();
    for _ in 0..5 {
        seqs.push(first.visitor().wait_in("shop").await.seq);
    }
    first.kill().await;
    assert_eq!(seqs, [1, 2, 3, 4, 5], "Q1");
    let second = Process::serve(JARI, dir.path()).start().await;
    let stats = second.operator(&key).stats("shop").await;
    assert_eq!(stats.waiting, 5, "A2: what was acknowledged is there");
    assert_eq!(stats.state, jari_api::LineState::Paused);
    assert_eq!(second.visitor().wait_in("shop").await.seq, 6);
    second.kill().await;
}
