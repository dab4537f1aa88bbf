//! Two nodes on the same records whose lines are not the same: each room would be served twice. It is named, and the later node
//! serves nobody.

use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, Visitor, eventually};

use crate::{node, server};

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
