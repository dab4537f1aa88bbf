//! A node that is started while its Redis is away: it waits, says so, and opens when the store comes. What no waiting mends
//! ends it at once.

use std::time::Duration;

use jari_api::PlaceView;
use jari_api::admin::RoomBody;
use jari_servers::{Kind, Server};
use jari_testkit::{FakeSite, TestApp, Visitor, eventually};
use tokio::time::timeout;

use crate::still;

/// Far more than a start takes.
const START_MAX: Duration = Duration::from_secs(60);

fn durable() -> Server {
    Server::start_with(Kind::Redis, &["--appendonly", "yes", "--appendfsync", "always"])
}

async fn readiness(app: &TestApp) -> (u16, String) {
    let answer = Visitor::new(app.ops_url()).get("/readyz").await;
    (answer.status.as_u16(), answer.text())
}

async fn is_ready(app: &TestApp) {
    eventually("the node is ready", async || (readiness(app).await.0 == 200).then_some(())).await;
}

/// A2, Q1: everybody is where they were, and what an operator set holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_that_starts_before_its_redis_waits_for_it_and_opens() {
    let mut redis = durable();
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    for id in ["one", "two", "three", "four", "five"] {
        let named = |room: &mut RoomBody| {
            still(room);
            room.room = id.to_owned();
        };
        app.create_room(named).await;
    }
    let visitor = app.visitor();
    assert_eq!(visitor.wait_in("one").await.seq, 1);
    redis.kill();
    let app = timeout(START_MAX, app.restart()).await.expect("it starts without its store");
    let visitor = visitor.sent_to(app.url());
    let (status, why) = readiness(&app).await;
    assert_eq!(status, 503, "{why}");
    assert!(
        why.contains(&format!("127.0.0.1:{}", redis.port())),
        "it says whom it waits for: {why}"
    );
    Visitor::new(app.ops_url()).get("/healthz").await.expect(200);
    visitor.poll("one").await.problem(503, "store_unavailable");
    let newcomer = app.visitor();
    newcomer.identify().await;
    let refused = newcomer.join("two").await;
    assert!(refused.problem(503, "store_unavailable").fields.contains_key("poll_after_ms"));
    // What control holds is known, and told to the store when it comes.
    app.operator().get("/v1/admin/rooms/five").await.expect(200);

    redis.start_again();
    is_ready(&app).await;
    let place: PlaceView = eventually("the place is found", async || {
        let answer = visitor.poll("one").await;
        (answer.status == 200).then(|| answer.json())
    })
    .await;
    assert_eq!((place.seq, place.position), (1, Some(1)));
    eventually("newcomers are taken", async || {
        (newcomer.join("two").await.status == 201).then_some(())
    })
    .await;
    app.stop().await;
}

/// A site that is protected for the first time needs its room made: nobody is served before that is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_first_start_before_a_site_waits_for_the_store_that_its_room_is_made_in() {
    let mut redis = durable();
    redis.kill();
    let site = FakeSite::start().await;
    let starting = TestApp::builder().protect(&site).set("protect.path", "/tickets/*");
    let mut starting = Box::pin(starting.set("store.url", redis.url()).start());
    let early = timeout(Duration::from_secs(2), &mut starting).await;
    assert!(early.is_err(), "its room is nowhere yet");
    redis.start_again();
    let app = timeout(START_MAX, starting).await.expect("it starts");
    is_ready(&app).await;
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_wrong_password_ends_the_start_with_what_to_do() {
    let redis = Server::start_with(Kind::Redis, &["--requirepass", "s3cret"]);
    for user in [":hunter2@", ""] {
        let url = format!("redis://{user}127.0.0.1:{}", redis.port());
        let started = TestApp::builder().set("store.url", url).try_start();
        let refused = timeout(START_MAX, started).await.expect("nobody waits for that");
        let told = refused.expect_err("it is refused").to_string();
        assert!(told.contains("store.url") && told.contains("password"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

/// A store that can be read and not written serves nobody: balancers send people elsewhere until it can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_before_a_redis_that_takes_no_writes_is_not_ready() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    is_ready(&app).await;
    redis.ask("REPLICAOF 127.0.0.1 1");
    // What was found a moment ago is told for a second.
    let why = eventually("the node is not ready", async || {
        let (status, why) = readiness(&app).await;
        (status == 503).then_some(why)
    })
    .await;
    assert!(why.contains("it is a replica now"), "{why}");
    redis.ask("REPLICAOF NO ONE");
    is_ready(&app).await;
    app.stop().await;
}
