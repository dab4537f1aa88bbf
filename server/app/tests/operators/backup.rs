//! `jari backup` of a running server: the copy is a data folder in which everything acknowledged before is there.

use jari_servers::{Kind, Server};
use jari_testkit::{Process, TestApp};
use tempfile::TempDir;

use crate::JARI;

#[tokio::test]
async fn a_copy_of_a_running_server_serves() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.pacer = jari_api::admin::PacerBody::Manual).await;
    app.operator().set(&id, serde_json::json!({"capacity": 0})).await;
    for _ in 0..3 {
        app.visitor().wait_in(&id).await;
    }
    let target = TempDir::new().expect("a folder");
    let to = target.path().join("copy");
    let backup = || {
        Process::command(JARI, &["backup"])
            .arg("--data")
            .arg(app.data_dir())
            .arg("--to")
            .arg(&to)
            .spawn()
    };
    let mut copied = backup();
    assert!(copied.wait().await.success(), "{}", copied.output());
    app.visitor().wait_in(&id).await;

    let mut again = backup();
    assert_eq!(again.wait().await.code(), Some(1), "an older copy is not overwritten");
    assert!(again.stderr().contains("exists"), "{}", again.stderr());

    let copy = Process::serve(JARI, &to).start().await;
    let stats = copy.operator(app.admin_key()).stats(&id).await;
    assert_eq!(stats.waiting, 3, "what came after the copy is not in it");
    // People were told more since: for half a minute they are asked for it, and nobody new gets a number.
    let newcomer = copy.visitor();
    newcomer.identify().await;
    newcomer.join(&id).await.problem(503, "recovering");
    copy.kill().await;
    app.stop().await;
}

/// With the lines on Redis the folder holds the records alone: the copy has to be asked for as that, and serves.
#[tokio::test]
async fn the_records_alone_where_the_lines_are_on_redis() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let id = app.create_room(|room| room.settings.pacer = jari_api::admin::PacerBody::Manual).await;
    let place = app.visitor().wait_in(&id).await;
    let target = TempDir::new().expect("a folder");
    let to = target.path().join("copy");
    let backup = |flags: &[&str]| {
        let command = Process::command(JARI, &[&["backup"], flags].concat());
        command.arg("--data").arg(app.data_dir()).arg("--to").arg(&to).spawn()
    };
    let mut whole = backup(&[]);
    assert_eq!(whole.wait().await.code(), Some(1));
    assert!(whole.stderr().contains("--records-only"), "{}", whole.stderr());
    let mut copied = backup(&["--records-only"]);
    assert!(copied.wait().await.success(), "{}", copied.output());
    let copy = Process::serve(JARI, &to).env("JARI__STORE__URL", redis.url()).start().await;
    assert_eq!(copy.visitor().wait_in(&id).await.seq, place.seq + 1);
    copy.kill().await;
    app.stop().await;
}

#[tokio::test]
async fn a_copy_of_nothing_is_refused() {
    let dir = TempDir::new().expect("a folder");
    let mut process = Process::command(JARI, &["backup"])
        .arg("--data")
        .arg(dir.path().join("none"))
        .arg("--to")
        .arg(dir.path().join("copy"))
        .spawn();
    assert_eq!(process.wait().await.code(), Some(1));
    assert!(process.stderr().contains("there is no store"), "{}", process.stderr());
    assert!(!dir.path().join("copy").exists());
}
