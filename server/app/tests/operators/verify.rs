//! `jari verify audit`: beside a running server and without one, on a file and on a database server, whole and not.

use jari_servers::Postgres;
use jari_testkit::{Process, TestApp};
use serde_json::{Value, json};

use crate::JARI;

/// Runs the check; gives the exit code and both outputs.
async fn verify(args: &[&str]) -> (i32, String, String) {
    let mut process = Process::command(JARI, &[&["verify", "audit"], args].concat()).spawn();
    let code = process.wait().await.code().expect("it ends by itself");
    (code, process.stdout(), process.stderr())
}

async fn whole(args: &[&str]) -> String {
    let (code, stdout, stderr) = verify(args).await;
    assert_eq!((code, stderr.as_str()), (0, ""), "{args:?}: {stdout}");
    stdout
}

/// Fails with one line, which it gives.
async fn broken(args: &[&str]) -> String {
    let (code, stdout, stderr) = verify(args).await;
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (1, "", 1), "{args:?}: {stderr}");
    stderr
}

/// Number and hash of the head that was printed.
fn head(said: &str) -> (u64, String) {
    let line = said.lines().find_map(|line| line.strip_prefix("head ")).expect("a head");
    let (no, hash) = line.split_once(' ').expect("a number and a hash");
    (no.parse().expect("a number"), hash.to_owned())
}

#[tokio::test]
async fn issue_5_a_trail_is_checked_beside_its_server_and_without_it() {
    let app = TestApp::start().await;
    let data = app.data_dir().display().to_string();
    let id = app.create_room(|_| {}).await;
    let said = whole(&["--data", &data]).await;
    assert!(said.starts_with("entries 1 to 4 are whole and in order\n"), "{said}");
    assert!(said.contains("keep it elsewhere"), "{said}");
    let (no, hash) = head(&said);
    let page: Value = app.operator().get("/v1/admin/audit?limit=2").await.expect(200).json();
    let newest = &page["entries"][0];
    assert_eq!((newest["no"].as_u64(), newest["hash"].as_str()), (Some(no), Some(hash.as_str())));
    assert_eq!(newest["prev_hash"], page["entries"][1]["hash"]);

    app.operator().steer(&id, "pause", json!({})).await.expect(200);
    let said = whole(&["--data", &data, "--expect", &hash]).await;
    assert!(said.contains("the expected head is among them"), "{said}");
    assert_eq!(head(&said).0, 5);
    let said = whole(&["--data", &data, "--from", "5", "--expect", &hash]).await;
    assert!(said.starts_with("entries 5 to 5 are"), "{said}");
    let (_, newest) = head(&said);
    let nothing = "nothing new: the trail ends at entry 5, right before 6\n";
    let said = whole(&["--data", &data, "--from", "6", "--expect", &newest]).await;
    assert_eq!(said, format!("{nothing}the expected head is that entry\nhead 5 {newest}\n"));
    let said = whole(&["--data", &data, "--from", "6"]).await;
    assert!(said.starts_with(nothing) && said.contains("keep it elsewhere"), "{said}");
    let told = broken(&["--data", &data, "--from", "7"]).await;
    assert!(told.contains("ends at entry 5, so entry 6"), "{told}");
    let other = "0".repeat(64);
    let refused = broken(&["--data", &data, "--expect", &other]).await;
    assert!(refused.contains(&other) && refused.contains("written anew"), "{refused}");

    let _dir = app.stop().await;
    let file = format!("{data}/records.db");
    assert_eq!(head(&whole(&["--file", &file]).await).0, 5);
    // A hand in the file, past everything that Jari and its database refuse.
    let mut bytes = std::fs::read(&file).expect("it is readable");
    let (good, bad) = (b"room.pause", b"room.pausf");
    let places = bytes.windows(good.len()).enumerate().filter(|(_, part)| part == good);
    let places: Vec<_> = places.map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + bad.len()].copy_from_slice(bad);
    }
    std::fs::write(&file, bytes).expect("it is writable");
    let told = broken(&["--data", &data]).await;
    assert!(told.contains("entry 5 was changed") && told.contains(&file), "{told}");
}

#[tokio::test]
async fn issue_5_a_trail_on_a_server_is_checked_and_a_cut_end_found_by_the_head_that_was_kept() {
    let server = Postgres::start();
    let database = server.database();
    let node = TestApp::builder().set("records.url", &database).set("records.start_wait_ms", 0);
    let app = node.start().await;
    app.create_room(|_| {}).await;
    let data = app.data_dir().display().to_string();
    let records = ["--data", &data, "--records", &database];
    let (no, hash) = head(&whole(&records).await);
    assert_eq!(no, 4);
    let elsewhere = broken(&["--data", &data]).await;
    assert!(elsewhere.contains("--records"), "{elsewhere}");
    server.sql(
        &database,
        "DROP TRIGGER audit_keeps_entries ON audit; DELETE FROM audit WHERE no = 4",
    );
    let told = broken(&records).await;
    assert!(told.contains("the trail ends at entry 3, though 4 were written"), "{told}");
    // A timer goes on behind the head of yesterday, and has kept nothing but its number.
    let beyond = [&records[..], &["--from", "5"]].concat();
    let told = broken(&beyond).await;
    assert!(told.contains("the trail ends at entry 3, though 4 were written"), "{told}");
    server.sql(&database, "UPDATE counters SET value = 3 WHERE name = 'audit'");
    let told = broken(&beyond).await;
    assert!(told.contains("the trail ends at entry 3, so entry 4"), "{told}");
    assert_eq!(head(&whole(&records).await).0, 3, "without the head nothing tells of it");
    let kept = [&records[..], &["--expect", &hash]].concat();
    let told = broken(&kept).await;
    assert!(told.contains(&hash) && told.contains("cut off"), "{told}");
    server.sql(&database, "UPDATE audit SET actor = 'key:nobody' WHERE no = 2");
    let told = broken(&kept).await;
    assert!(told.contains("entry 2 was changed"), "{told}");
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_checked_is_told() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let data = folder.path().join("none").display().to_string();
    let told = broken(&["--data", &data]).await;
    assert!(told.contains("records.db is missing"), "{told}");
    for wrong in [&["--expect", "abc"][..], &["--from", "0"], &["--file", "a", "--data", "b"]] {
        assert_eq!(verify(wrong).await.0, 2, "{wrong:?}");
    }
}
