//! A node that dies at once, and one that hangs: everybody it served goes on elsewhere within 10 s, at the same place, and
//! everybody else notices nothing.

use std::time::Duration;

use jari_servers::BalancerKind;
use reqwest::Response;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::crowd::Crowd;
use crate::house::{House, ROOM};
use crate::page::{Net, Page};

const PEOPLE: usize = 60;
/// The first node; operators are at the last.
const VICTIM: usize = 0;
/// What a visitor may have to wait when a node dies.
const WITHIN: Duration = Duration::from_secs(10);
/// Streams whose readers do nothing but read.
const PLAIN: usize = 9;

#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Hangs,
}

impl Fault {
    /// Watched for so long: a balancer tries a node that hung again after 10 s, and nobody may notice that either.
    fn watched(self) -> Duration {
        Duration::from_secs(match self {
            Fault::Killed => 5,
            Fault::Hangs => 13,
        })
    }
}

/// Reads until the stream ends, however it does, or until `until`; when it ended.
async fn read_on(mut answer: Response, until: Instant) -> Option<Instant> {
    let reading = async { while let Ok(Some(_)) = answer.chunk().await {} };
    timeout_at(until, reading).await.ok().map(|()| Instant::now())
}

/// What a client that only reads sees of a node's end: its stream ends, and others' go on.
async fn plain_streams(house: &House, until: Instant) -> Vec<JoinHandle<Option<Instant>>> {
    let net = Net::new(house.url());
    // All join first: in turn with their three calls, every stream would meet the same one of three nodes.
    let mut pages = Vec::new();
    for _ in 0..PLAIN {
        pages.push(Page::join(net.clone()).await);
    }
    let mut reading = Vec::new();
    for page in pages {
        reading.push(tokio::spawn(read_on(page.plain_stream().await, until)));
    }
    reading
}

/// Lets one in every half second until `until`, so that positions move; how many.
async fn let_in(house: &House, until: Instant) -> u64 {
    let mut admitted = 0;
    while Instant::now() < until {
        let _ = house.operator().steer(ROOM, "admit", json!({"count": 1})).await.expect(200);
        admitted += 1;
        sleep(Duration::from_millis(500)).await;
    }
    admitted
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
    // From before the fault until well after it.
    let plain = plain_streams(&house, Instant::now() + fault.watched()).await;
    let streams = house.metric(VICTIM, "jari_streams").await;
    assert!(streams > 0.0, "nobody streams from the node that is to go");
    let began = Instant::now();
    match fault {
        Fault::Killed => house.kill(VICTIM).await,
        Fault::Hangs => house.freeze(VICTIM).await,
    }
    let until = began + fault.watched();
    let admitted = let_in(&house, until).await;
    crowd.wait_until("everybody goes on", |seen| seen.heard_since(until)).await;
    let silence = crowd.silence(began);
    let mut ended = Vec::new();
    for reading in plain {
        ended.extend(reading.await.expect("reading does not panic"));
    }
    let last = ended.iter().max().expect("some read from the node that went").duration_since(began);
    crate::report(format_args!(
        "{} of {PLAIN} plain streams ended, the last one after {last:?}",
        ended.len()
    ));
    assert!(ended.len() < PLAIN && last < WITHIN, "{last:?}");
    if let Fault::Hangs = fault {
        come_back(&house, &crowd).await;
    }
    let repeated = house.balanced.repeated().await;
    let counts = crowd.check().await;
    let let_in = house.operator().stats(ROOM).await.admitted_total;
    assert_eq!(let_in, admitted, "as many are let in as were admitted by hand, and nobody twice");
    crate::report(format_args!(
        "{kind:?}, {fault:?} with {streams} streams: silent for {silence:?} at most"
    ));
    crate::report(format_args!("the balancer tried {repeated} calls again; {counts:?}"));
    assert!(silence < WITHIN, "somebody heard nothing for {silence:?}: {counts:?}");
    // Who had a stream there has another.
    let moved = counts.broke_off + counts.given_up + ended.len() as u64;
    assert!(moved as f64 >= streams, "{counts:?}");
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
