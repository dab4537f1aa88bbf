//! What `/readyz` tells a balancer: a node serves as long as any part of its store answers, and asking costs the store nothing.

use std::time::Duration;

use jari_api::admin::RoomBody;
use jari_servers::{Cluster, Kind, Server};
use jari_testkit::{TestApp, Visitor, eventually};
use tokio::time::Instant;

use crate::still;

/// Questions of a flood.
const FLOOD: usize = 400;

fn named(id: &str) -> impl FnOnce(&mut RoomBody) {
    let id = id.to_owned();
    move |room| {
        still(room);
        room.room = id;
    }
}

fn keys(name: &str) -> impl Iterator<Item = String> {
    let name = name.to_owned();
    (0..1_000).map(move |n| format!("jari:{{{name}-{n}}}:s"))
}

fn room_of(key: &str) -> &str {
    let (_, rest) = key.split_once('{').expect("it has a hash tag");
    rest.split_once('}').expect("it has a hash tag").0
}

/// Every node would say the same: a balancer that heard 503 would take all of them away, with the rooms that work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_is_ready_while_any_room_of_a_cluster_is_answered_for() {
    let mut cluster = Cluster::start(Kind::Redis);
    cluster.tell_all("CONFIG SET cluster-require-full-coverage no");
    let gone = cluster.apart(keys("gone"), &["jari:{:due}:at"]);
    let kept = cluster.apart_from(keys("kept"), &gone);
    let app = TestApp::builder().set("store.url", cluster.url()).start().await;
    app.create_room(named(room_of(&gone))).await;
    app.create_room(named(room_of(&kept))).await;
    let ops = Visitor::new(app.ops_url());
    let ready = ops.get("/readyz").await.expect(200).text();
    assert!(!ready.contains("away"), "{ready}");

    cluster.primary_of(&gone).kill();
    let told = eventually("it tells of the room that is away", async || {
        let ready = ops.get("/readyz").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        let text = ready.text();
        text.contains("rooms away").then_some(text)
    })
    .await;
    let named = format!("rooms away: 1 of 2 ({}), ", room_of(&gone));
    assert!(told.starts_with("ready\n") && told.contains(&named), "{told}");
    eventually("the metrics tell too", async || {
        ops.get("/readyz").await.expect(200);
        let text = ops.get("/metrics").await.expect(200).text();
        text.contains("jari_rooms_away 1\n").then_some(())
    })
    .await;
    // And it goes on so: what is known of a room is asked for again.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(8) {
        let ready = ops.get("/readyz").await.expect(200).text();
        assert!(ready.contains(&named), "{ready}");
        // Several times within each second that one look is kept.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    cluster.primary_of(&kept).kill();
    let told = eventually("no room is answered for", async || {
        let ready = ops.get("/readyz").await;
        (ready.status == 503).then(|| ready.text())
    })
    .await;
    assert!(!told.starts_with("ready"), "{told}");
    app.stop().await;
}

/// However often somebody asks, the store is written to once a second at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_flood_of_questions_is_none_to_the_store() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let ops = Visitor::new(app.ops_url());
    ops.get("/readyz").await.expect(200);
    let before = probes(&redis);
    let since = Instant::now();
    let asking = (0..FLOOD).map(|_| ops.get("/readyz"));
    for ready in futures_util::future::join_all(asking).await {
        ready.expect(200);
    }
    let most = since.elapsed().as_secs() + 2;
    let written = probes(&redis) - before;
    assert!(written <= most, "{written} writes for {FLOOD} questions in {:?}", since.elapsed());
    app.stop().await;
}

/// How often a node has tried whether it may write. Nobody is in any room, so that nothing else is appended to a stream.
fn probes(redis: &Server) -> u64 {
    let told = redis.ask("INFO commandstats");
    let calls = told.lines().find_map(|line| line.strip_prefix("cmdstat_xadd:calls="));
    let calls = calls.and_then(|rest| rest.split(',').next()).expect("it has probed");
    calls.parse().expect("a number")
}
