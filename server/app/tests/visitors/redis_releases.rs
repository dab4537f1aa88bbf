//! A node beside one of a newer release: rooms that the other one has written in a format of its own wait, all others are served.

use jari_api::admin::RoomBody;
use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, Visitor, eventually};

use crate::still;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_room_of_a_newer_format_waits_and_the_others_are_served() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    for id in ["ours", "newer"] {
        let named = |room: &mut RoomBody| {
            still(room);
            room.room = id.to_owned();
        };
        app.create_room(named).await;
    }
    assert_eq!(app.visitor().wait_in("newer").await.seq, 1);
    redis.ask("HSET jari:{newer}:s format 2");
    // A node that is started then, as in the middle of an upgrade.
    let app = app.restart().await;
    assert_eq!(app.visitor().wait_in("ours").await.seq, 1);
    let newcomer = app.visitor();
    newcomer.identify().await;
    newcomer.join("newer").await.problem(503, "store_unavailable");
    Visitor::new(app.ops_url()).get("/readyz").await.expect(200);
    let events = redis.ask("HGET jari:{newer}:s event_no");
    // The upgrade is taken back, or this node's is finished.
    redis.ask("HSET jari:{newer}:s format 1");
    let seq = eventually("the room is served", async || {
        let answer = newcomer.join("newer").await;
        (answer.status == 201).then(|| answer.json::<jari_api::PlaceView>().seq)
    })
    .await;
    assert_eq!((seq, events.as_str()), (2, "2"), "nothing was done to it meanwhile");
    app.stop().await;
}
