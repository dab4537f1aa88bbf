//! A node that dies at once, and one that hangs: everybody it served goes on elsewhere within 10 s, at the same place, and
//! everybody else notices nothing.

use std::time::Duration;

use jari_servers::BalancerKind;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::crowd::Crowd;
use crate::house::{House, ROOM};

const PEOPLE: usize = 60;
/// The first node; operators are at the last.
const VICTIM: usize = 0;
/// What a visitor may have to wait when a node dies.
const WITHIN: Duration = Duration::from_secs(10);
/// Watched for so long: a balancer tries a node that it left again after 10 s, and nobody may notice that either.
const WATCHED: Duration = Duration::from_secs(13);

#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Hangs,
}

/// Lets one in every half second until `until`, so that positions move.
async fn let_in(house: &House, until: Instant) {
    while Instant::now() < until {
        let _ = house.operator().steer(ROOM, "admit", json!({"count": 1})).await.expect(200);
        sleep(Duration::from_millis(500)).await;
    }
}

/// The node goes on as if nothing had been: what it knows is old, and nobody may be told so.
async fn come_back(house: &House, crowd: &Crowd) {
    house.thaw(VICTIM).await;
    house.wait_until_it_serves(VICTIM).await;
    let until = Instant::now() + Duration::from_secs(3);
    crowd.wait_until("everybody is well with it", |seen| seen.heard_since(until)).await;
}

async fn survive(kind: BalancerKind, fault: Fault) {
    let mut house = House::start(kind).await;
    let crowd = Crowd::gather(&house, PEOPLE).await;
    let streams = house.metric(VICTIM, "jari_streams").await;
    assert!(streams > 0.0, "nobody streams from the node that is to go");
    let began = Instant::now();
    match fault {
        Fault::Killed => house.kill(VICTIM).await,
        Fault::Hangs => house.freeze(VICTIM).await,
    }
    let until = began + WATCHED;
    let_in(&house, until).await;
    crowd.wait_until("everybody goes on", |seen| seen.heard_since(until)).await;
    let silence = crowd.silence(began);
    if let Fault::Hangs = fault {
        come_back(&house, &crowd).await;
    }
    let counts = crowd.check().await;
    println!("{kind:?}, {fault:?} with {streams} streams: silent for {silence:?} at most; {counts:?}");
    assert!(silence < WITHIN, "somebody heard nothing for {silence:?}: {counts:?}");
    // Who had a stream there has another.
    assert!((counts.broke_off + counts.given_up) as f64 >= streams, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_nginx_a_killed_node_costs_nobody_their_place() {
    survive(BalancerKind::Nginx, Fault::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_nginx_a_node_that_hangs_is_left_within_10_s() {
    survive(BalancerKind::Nginx, Fault::Hangs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_envoy_a_killed_node_costs_nobody_their_place() {
    survive(BalancerKind::Envoy, Fault::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_envoy_a_node_that_hangs_is_left_within_10_s() {
    survive(BalancerKind::Envoy, Fault::Hangs).await;
}
