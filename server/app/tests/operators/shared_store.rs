//! Two installations on one Redis with the same key prefix by a slip, each with its own records: nobody loses a place by it,
//! and both operators are told.

use jari_api::PlaceView;
use jari_api::admin::{PacerBody, RoomBody};
use jari_servers::{Kind, Server};
use jari_testkit::{Process, TestApp, eventually};
use serde_json::json;
use tempfile::TempDir;

use crate::JARI;

fn still(room: &mut RoomBody) {
    room.settings.pacer = PacerBody::Manual;
}

/// Q1: the second installation does not take the line for what a deletion left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_another_installation_serves_is_not_made_anew() {
    let redis = Server::start(Kind::Redis);
    let ours = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = ours.create_room(still).await;
    let (first, second) = (ours.visitor(), ours.visitor());
    assert_eq!(first.wait_in(&room).await.seq, 1);
    assert_eq!(second.wait_in(&room).await.seq, 2);

    let theirs = TestApp::builder().set("store.url", redis.url()).start().await;
    let body = json!({
        "room": room, "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
    });
    let refused = theirs.operator().post("/v1/admin/rooms", &body).await;
    let problem = refused.problem(409, "line_in_use");
    assert!(problem.detail.contains("store.key_prefix"), "{}", problem.detail);
    theirs.visitor().get(&format!("/v1/rooms/{room}")).await.problem(404, "unknown_room");
    let place: PlaceView = second.poll(&room).await.expect(200).json();
    assert_eq!((place.seq, place.position), (2, Some(2)));
    theirs.stop().await;

    // Who deletes their own room makes it anew at once.
    ours.operator().delete(&format!("/v1/admin/rooms/{room}")).await.expect(204);
    ours.create_room(still).await;
    assert_eq!(ours.visitor().wait_in(&room).await.seq, 1);
    ours.stop().await;
}

#[tokio::test]
async fn a_start_warns_of_rooms_that_its_records_do_not_know() {
    let redis = Server::start(Kind::Redis);
    let ours = TestApp::builder().set("store.url", redis.url()).start().await;
    ours.create_room(still).await;
    let folder = TempDir::new().expect("a folder");
    let theirs = Process::serve(JARI, folder.path()).arg("--store").arg(redis.url()).start().await;
    eventually("the operator is warned", async || {
        let said = theirs.output();
        (said.contains("these records do not know (room)") && said.contains("store.key_prefix"))
            .then_some(())
    })
    .await;
    theirs.kill().await;
    ours.stop().await;
}

/// The store was away at the start, and with it whatever could have been warned of.
#[tokio::test]
async fn issue_4_a_start_without_its_store_warns_of_strangers_once_it_is_back() {
    let mut redis =
        Server::start_with(Kind::Redis, &["--appendonly", "yes", "--appendfsync", "always"]);
    let ours = TestApp::builder().set("store.url", redis.url()).start().await;
    ours.create_room(still).await;
    ours.stop().await;
    let folder = TempDir::new().expect("a folder");
    let url = redis.url();
    let serve = || Process::serve(JARI, folder.path()).arg("--store").arg(&url);
    let mut theirs = serve().start().await;
    let body = json!({
        "room": "mine", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
    });
    let key = theirs.wait_for_key().await;
    theirs.operator(&key).post("/v1/admin/rooms", &body).await.expect(201);
    theirs.terminate().await;
    assert!(theirs.wait().await.success(), "{}", theirs.output());
    let again = serve();
    redis.kill();
    let theirs = again.start().await;
    let warned = || theirs.output().contains("these records do not know (room)");
    assert!(!warned(), "it cannot know");
    redis.start_again();
    eventually("the operator is warned", async || warned().then_some(())).await;
    theirs.kill().await;
}
