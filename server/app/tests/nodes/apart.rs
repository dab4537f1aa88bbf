//! Two nodes on the same records whose lines are not the same: each room would be served twice. It is named, and the later node
//! serves nobody.

use jari_servers::{Kind, Server};
use jari_testkit::{Process, TestApp, Visitor, eventually};
use tempfile::TempDir;

use crate::{JARI, node, server};

async fn readiness(app: &TestApp) -> (u16, String) {
    let answer = Visitor::new(app.ops_url()).get("/readyz").await;
    (answer.status.as_u16(), answer.text())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_with_another_key_prefix_does_not_start_beside_the_others() {
    let ((_postgres, database), redis) = (server(), Server::start(Kind::Redis));
    let with = |prefix: &str| {
        node(&database).set("store.url", redis.url()).set("store.key_prefix", prefix)
    };
    let first = with("jari").start().await;
    let key = first.admin_key().to_owned();
    let room = first.create_room(|room| room.settings.capacity = 0).await;
    let refused = with("other").admin_key(&key).try_start().await.expect_err("it is named");
    let why = refused.to_string();
    for named in ["prefix jari at", "prefix other at", "store.key_prefix", "records.url"] {
        assert!(why.contains(named), "{named} is not in {why}");
    }
    assert_eq!(redis.ask("EXISTS other:rooms"), ":0", "it has made no line");

    // Those that agree start, also where the store has just lost everything, this word too.
    let second = with("jari").admin_key(&key).start().await;
    redis.ask("FLUSHALL");
    let third = with("jari").admin_key(&key).start().await;
    for node in [&first, &second, &third] {
        eventually("the node is ready", async || (readiness(node).await.0 == 200).then_some(()))
            .await;
    }
    // Once they have stopped, the lines may be moved.
    for node in [first, second, third] {
        node.stop().await;
    }
    let moved = with("other").admin_key(&key).start().await;
    moved.visitor().get(&format!("/v1/rooms/{room}")).await.expect(200);
    moved.stop().await;
}

/// Its store was away when it was started, so that it could not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_that_finds_its_lines_elsewhere_later_is_not_ready() {
    let ((_postgres, database), redis) = (server(), Server::start(Kind::Redis));
    let mut other = Server::start(Kind::Redis);
    let first = node(&database).set("store.url", redis.url()).start().await;
    let key = first.admin_key().to_owned();
    other.kill();
    let second = node(&database).set("store.url", other.url()).admin_key(&key).start().await;
    other.start_again();
    let why = eventually("the later one is not ready", async || {
        let (status, why) = readiness(&second).await;
        (status == 503 && why.contains("another node of these records")).then_some(why)
    })
    .await;
    assert!(why.contains(&redis.port().to_string()), "{why}");
    let told = eventually("the first one says so and serves", async || {
        let (status, told) = readiness(&first).await;
        assert_eq!(status, 200, "{told}");
        told.contains("warning: another node of these records").then_some(told)
    })
    .await;
    assert!(told.contains(&other.port().to_string()), "{told}");
    second.stop().await;
    first.stop().await;
}

fn check(database: &str, store: &str, prefix: &str) -> Process {
    Process::command(JARI, &["check", "--config", "/dev/null"])
        .env("JARI__RECORDS__URL", database)
        .env("JARI__STORE__URL", store)
        .env("JARI__STORE__KEY_PREFIX", prefix)
        .spawn()
}

/// As a start would say it, and changing nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_check_names_lines_that_are_elsewhere() {
    let ((_postgres, database), mut redis) = (server(), Server::start(Kind::Redis));
    let url = redis.url();
    let mut empty = check(&database, &url, "jari");
    assert!(empty.wait().await.success(), "nobody is there yet: {}", empty.output());
    assert_eq!(empty.stderr(), "", "all were asked");
    let first = node(&database).set("store.url", &url).start().await;
    let mut same = check(&database, &url, "jari");
    assert!(same.wait().await.success(), "{}", same.output());
    let mut other = check(&database, &url, "other");
    assert_eq!(other.wait().await.code(), Some(1), "{}", other.output());
    let why = other.stderr();
    for named in ["prefix jari at", "prefix other at", "store.key_prefix", "is forgotten 60 s"] {
        assert!(why.contains(named), "{named} is not in {why}");
    }
    assert_eq!(redis.ask_list("KEYS other:*"), Vec::<String>::new(), "it only asks");
    first.stop().await;
    let mut moved = check(&database, &url, "other");
    assert!(moved.wait().await.success(), "{}", moved.output());
    // Who prepares a machine may do so before the servers are there.
    redis.kill();
    let mut alone = check(&database, &url, "other");
    assert!(alone.wait().await.success(), "{}", alone.output());
    assert!(alone.stderr().contains("was not checked: store.url: "), "{}", alone.output());
    assert!(alone.stdout().contains("key_prefix = \"other\""), "{}", alone.output());
}

/// Whoever was killed took no leave: another store waits until that node is forgotten, and says so wherever one looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_start_elsewhere_after_a_kill_says_that_it_waits_and_until_when() {
    let ((postgres, database), redis) = (server(), Server::start(Kind::Redis));
    let folders = [TempDir::new().expect("a folder"), TempDir::new().expect("a folder")];
    let serve = |prefix: &str| {
        Process::serve(JARI, folders[usize::from(prefix != "jari")].path())
            .env("JARI__RECORDS__URL", &database)
            .env("JARI__STORE__URL", redis.url())
            .env("JARI__STORE__KEY_PREFIX", prefix)
    };
    serve("jari").start().await.kill().await;
    let mut moved = serve("moved").spawn();
    let ops = Visitor::new(moved.ops_while_starting().await);
    let waits = async |process: &Process| {
        eventually("it says that it waits", async || {
            process.stderr().contains("this node waits until 2").then_some(())
        })
        .await;
    };
    waits(&moved).await;
    let told = ops.get("/readyz").await;
    assert_eq!(told.status, 503);
    for named in ["starting: this node waits until 2", "prefix jari at", "was killed"] {
        assert!(told.text().contains(named), "{named} is not in {}", told.text());
    }
    let mut checked = check(&database, &redis.url(), "moved");
    assert_eq!(checked.wait().await.code(), Some(1));
    assert!(checked.stderr().contains("is forgotten 60 s after it was heard of, at 2"));
    assert_eq!(redis.ask("EXISTS moved:rooms"), ":0", "it has made no line");

    // It was not gone for good: whoever waits does not serve beside it.
    let again = serve("jari").start().await;
    assert_eq!(moved.wait().await.code(), Some(1), "{}", moved.output());
    again.kill().await;
    let moved = serve("moved").spawn();
    waits(&moved).await;
    // A minute later.
    postgres.sql(database.rsplit('/').next().expect("a name"), "DELETE FROM nodes");
    eventually("it serves", async || moved.stdout().contains("jari listens").then_some(())).await;
    moved.kill().await;
}
