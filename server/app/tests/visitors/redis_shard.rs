//! One shard of a Cluster is gone: its rooms do what they are set to do without a store, and the others notice nothing.

use std::time::Duration;

use jari_api::admin::{OnStoreFailure, RoomBody};
use jari_servers::{Cluster, Kind};
use jari_testkit::{TestApp, eventually};
use serde_json::json;
use tokio::time::Instant;

use crate::still;

/// As the gate: it opens to all only after this.
const FAIL_OPEN_AFTER: Duration = Duration::from_secs(5);

/// A tick, and a busy machine: less than it takes to find out by looking.
const HEARD_WITHIN: Duration = Duration::from_secs(4);

fn named(id: &str, policy: OnStoreFailure) -> impl FnOnce(&mut RoomBody) {
    let id = id.to_owned();
    move |room| {
        still(room);
        room.room = id;
        room.on_store_failure = policy;
    }
}

/// The room in a key that [`Cluster::apart`] chose.
fn room_of(key: &str) -> String {
    let (_, rest) = key.split_once('{').expect("it has a hash tag");
    rest.split_once('}').expect("it has a hash tag").0.to_owned()
}

fn keys(name: &str) -> impl Iterator<Item = String> {
    let name = name.to_owned();
    (0..1_000).map(move |n| format!("jari:{{{name}-{n}}}:s"))
}

/// Nobody is in these rooms, so that nothing but the gate asks for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_of_a_cluster_with_one_dead_shard_the_gates_of_its_rooms_open_and_no_others() {
    let mut cluster = Cluster::start(Kind::Redis);
    // As installations are set that can do without a shard; else all of it refuses.
    cluster.tell_all("CONFIG SET cluster-require-full-coverage no");
    let gone_key = cluster.apart(keys("gone"), &["jari:{:due}:at"]);
    let kept_key = cluster.apart_from(keys("kept"), &gone_key);
    let also_key = cluster.together(keys("also"), &gone_key);
    let (gone, kept, refusing) = (room_of(&gone_key), room_of(&kept_key), room_of(&also_key));
    let app = TestApp::builder().set("store.url", cluster.url()).start().await;
    app.create_room(named(&gone, OnStoreFailure::Pass)).await;
    app.create_room(named(&refusing, OnStoreFailure::Refuse)).await;
    app.create_room(named(&kept, OnStoreFailure::Pass)).await;
    let stranger = app.visitor();
    stranger.identify().await;
    for room in [&gone, &kept, &refusing] {
        stranger.gate(room).await.problem(428, "pass_required");
    }
    cluster.primary_of(&gone_key).kill();
    let died = Instant::now();
    let opened = eventually("the gate of the dead shard's room opens", async || {
        stranger.gate(&kept).await.problem(428, "pass_required");
        let answer = stranger.gate(&gone).await;
        (answer.status == 204).then_some(answer)
    })
    .await;
    assert!(died.elapsed() >= FAIL_OPEN_AFTER, "{:?}", died.elapsed());
    assert_eq!(opened.header("jari-unchecked"), Some("store_unavailable"));
    eventually("a room that lets nobody in without a store says so", async || {
        stranger.gate(&kept).await.problem(428, "pass_required");
        (stranger.gate(&refusing).await.status == 503).then_some(())
    })
    .await;
    // And it stays so, though the other shards answer all the time.
    for _ in 0..20 {
        assert_eq!(stranger.gate(&gone).await.status, 204);
        stranger.gate(&kept).await.problem(428, "pass_required");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let someone = app.visitor();
    assert_eq!(someone.wait_in(&kept).await.seq, 1, "the others go on");
    // And their news are heard at once, not when somebody looks.
    let mut stream = someone.events(&kept).await;
    for text in ["one", "two", "three", "four", "five"] {
        let _ = app.operator().steer(&kept, "announce", json!({"text": text})).await.expect(200);
        let said = Instant::now();
        stream.until("line", |line: &serde_json::Value| line["notice"]["text"] == text).await;
        assert!(said.elapsed() < HEARD_WITHIN, "{:?}", said.elapsed());
    }
    app.stop().await;
}
