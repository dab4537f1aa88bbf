//! Two nodes on one Redis and the same records: whichever node a visitor meets, it is the same line.

use futures_util::future::join_all;
use jari_api::{PlaceStatus, PlaceView};
use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, eventually};
use serde_json::json;

use crate::{open, still};

/// Q1, Q2: joined at one node, polled at the other, told by its stream, let in by either, and known at both gates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_are_one_line() {
    let redis = Server::start(Kind::Redis);
    let one = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = one.create_room(still).await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let (first, second) = (one.visitor(), two.visitor());
    first.wait_in(&room).await;
    let place = second.wait_in(&room).await;
    assert_eq!((place.seq, place.position), (2, Some(2)));
    // The load balancer sends the first visitor elsewhere: a place token is good everywhere, a second join finds it.
    let elsewhere = first.sent_to(two.url());
    let polled: PlaceView = elsewhere.poll(&room).await.expect(200).json();
    assert_eq!((polled.seq, polled.position), (1, Some(1)));
    let again: PlaceView = elsewhere.join(&room).await.expect(200).json();
    assert_eq!(again.seq, 1);
    let mut stream = second.events(&room).await;
    stream.next_of("place").await;
    let _ = one.operator().steer(&room, "admit", json!({"count": 2})).await.expect(200);
    let told = stream.next_of("place").await.json();
    assert_eq!(told["status"], "admitted", "{told}");
    let inside: PlaceView = elsewhere.poll(&room).await.expect(200).json();
    assert_eq!(inside.status, PlaceStatus::Admitted);
    for node in [one.url(), two.url()] {
        first.sent_to(node).gate(&room).await.expect(204);
    }
    let stats = two.operator().stats(&room).await;
    assert_eq!(stats.joined_total, 2);
    one.stop().await;
    // The node that made the room is gone; the line is not.
    let third = two.visitor();
    assert_eq!(third.wait_in(&room).await.seq, 3);
    two.stop().await;
}

/// Nothing of a line is on the node: it starts again and finds everybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_node_finds_the_line() {
    let redis = Server::start(Kind::Valkey);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let before = visitor.wait_in(&room).await;
    let app = app.restart().await;
    let after: PlaceView = visitor.sent_to(app.url()).poll(&room).await.expect(200).json();
    assert_eq!((after.seq, after.position), (before.seq, before.position));
    app.stop().await;
}

/// Q4: newcomers at two gates of an `auto` room are counted together, and both gates know when it queues, by whomever the
/// mode was set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gates_let_in_no_more_than_the_one_room_takes() {
    const CAPACITY: u64 = 20;
    let redis = Server::start(Kind::Redis);
    let one = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = one.create_room(open).await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let settings = json!({
        "mode": "auto", "capacity": CAPACITY, "queue_at_live": 15, "queue_at_arrivals_per_s": 1_000,
    });
    one.operator().set(&room, settings).await;
    let first = two.visitor();
    eventually("the other gate knows the mode", async || {
        (first.gate(&room).await.status == 204).then_some(())
    })
    .await;
    let crowd = (0..120).map(|number| {
        let visitor = if number % 2 == 0 { one.visitor() } else { two.visitor() };
        let room = &room;
        async move { visitor.gate(room).await.status }
    });
    let answers = join_all(crowd).await;
    let inside = answers.iter().filter(|status| **status == 204).count() as u64;
    assert_eq!(inside, 14, "fifteen with the first, by whichever gate");
    assert!(answers.iter().all(|status| *status == 204 || *status == 428), "{answers:?}");
    let stats = eventually("both know that it queues", async || {
        let (here, there) = (one.operator().stats(&room).await, two.operator().stats(&room).await);
        (here.queueing.is_some() && there.queueing.is_some()).then_some(there)
    })
    .await;
    assert!(stats.live <= CAPACITY, "{} inside", stats.live);
    two.visitor().gate(&room).await.problem(428, "pass_required");
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn an_address_that_is_none_is_told_at_the_start() {
    let refused = TestApp::builder().set("store.url", "redis://a,b").try_start().await;
    let told = refused.expect_err("two hosts are no server").to_string();
    assert!(told.contains("store.url") && told.contains("several hosts"), "{told}");
}
