//! Leases that pass on: at once where a node goes, within seconds where it dies.

use jari_servers::Server;
use jari_testkit::{Process, ProcessBuilder};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::nodes::{Site, holds, lasting, number};
use crate::watch::Watch;

/// Somebody who asks for more than the network holds and reads none of it: the node's drain waits for that, until it is
/// dropped.
async fn unread(node: &Process) -> TcpStream {
    const REQUESTS: usize = 300;
    let address = node.url().socket_addrs(|| None).expect("an address")[0];
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(REQUESTS);
    stream.write_all(requests.as_bytes()).await.expect("it takes them");
    stream
}

/// With a drain that no busy machine ends before the test has looked.
fn patient(site: &Site) -> ProcessBuilder {
    site.builder().env("JARI__HTTP__DRAIN_TIMEOUT_MS", "60000")
}

async fn at_work(redis: &Server, site: &Site, node: &Process, room: &str) -> Watch {
    site.make_room(node, room, lasting(500, 2), None).await;
    let watch = Watch::begin(&redis.url(), room).await;
    watch.crowd(1..=100).await;
    watch.goes_on(2).await;
    watch
}

/// A rolling restart waits for no lease to run out, and its rooms go on meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_that_drains_hands_over_at_once_and_while_it_still_serves() {
    let mut site = Site::new();
    let mut going = site.start(patient(&site)).await;
    let staying = site.node().await;
    holds(&staying, 32).await;
    let watch = at_work(&site.redis, &site, &staying, "rolling").await;
    let held = unread(&going).await;
    going.terminate().await;
    let told = Instant::now();
    holds(&staying, 64).await;
    println!("handed over {} ms after the signal", told.elapsed().as_millis());
    assert_eq!(number(&going.ops_url(), "jari_draining").await, Some(1.0), "it still serves");
    assert_eq!(number(&going.ops_url(), "jari_leases").await, Some(0.0));
    watch.goes_on(3).await;
    drop(held);
    assert!(going.wait().await.success(), "{}", going.output());
    watch.goes_on(3).await;
    watch.check().await;
}

/// Where nobody else is there, people are called until the node is gone, and its leases are free then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_the_last_node_ticks_while_it_drains_and_leaves_nothing_held() {
    let mut site = Site::new();
    let mut last = site.start(patient(&site)).await;
    let watch = at_work(&site.redis, &site, &last, "last").await;
    let held = unread(&last).await;
    last.terminate().await;
    jari_testkit::eventually("it drains", async || last.stderr().contains("draining").then_some(()))
        .await;
    watch.goes_on(2).await;
    assert_eq!(number(&last.ops_url(), "jari_draining").await, Some(1.0), "it is still there");
    drop(held);
    assert!(last.wait().await.success(), "{}", last.output());
    let next = site.node().await;
    let renewed = number(&next.ops_url(), "jari_admitters").await;
    assert!(renewed <= Some(1.0), "the one before is not waited for: {renewed:?}");
    holds(&next, 64).await;
    watch.goes_on(2).await;
    watch.check().await;
}

/// A node that is killed is replaced when its lease has run out, and soon enough that nobody's silence is put down to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_killed_nodes_rooms_go_on_within_seconds() {
    let mut site = Site::new();
    let [killed, staying] = site.pair().await;
    let mut watches = Vec::new();
    for room in ["killed-1", "killed-2", "killed-3", "killed-4"] {
        watches.push(at_work(&site.redis, &site, &staying, room).await);
    }
    killed.kill().await;
    let died = Instant::now();
    holds(&staying, 64).await;
    println!("taken over {} ms after the death", died.elapsed().as_millis());
    for watch in &watches {
        watch.goes_on(2).await;
        watch.check().await;
    }
    // Another one comes, and moves its share and no more.
    let newcomer = site.node().await;
    holds(&newcomer, 32).await;
    holds(&staying, 32).await;
    for watch in &watches {
        watch.goes_on(2).await;
        watch.check().await;
    }
}
