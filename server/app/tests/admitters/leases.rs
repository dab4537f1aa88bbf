//! Leases that pass on: at once where a node goes, within seconds where it dies.

use jari_servers::Server;
use jari_testkit::{Process, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::nodes::{Site, holds, lasting, number};
use crate::watch::Watch;

/// What a node says when it has told the store that it goes.
const GAVE_UP: &str = "gave up its leases";

/// A request whose body does not come: a drain waits for it, 5 s at most.
async fn unfinished(node: &Process, room: &str) -> TcpStream {
    let address = node.url().socket_addrs(|| None).expect("an address")[0];
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head =
        format!("POST /v1/rooms/{room}/places HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it takes a head");
    eventually("the node waits for the body", async || {
        let route = "jari_calls_in_flight{route=\"/v1/rooms/{room}/places\"}";
        (number(&node.ops_url(), route).await == Some(1.0)).then_some(())
    })
    .await;
    stream
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
    let [mut going, staying] = site.pair().await;
    let watch = at_work(&site.redis, &site, &staying, "rolling").await;
    let held = unfinished(&going, "rolling").await;
    going.terminate().await;
    let signalled = Instant::now();
    holds(&staying, 64).await;
    println!("handed over {} ms after the signal", signalled.elapsed().as_millis());
    watch.goes_on(3).await;
    drop(held);
    assert!(going.wait().await.success(), "{}", going.output());
    let said = going.stderr();
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("it never said {what}: {said}"));
    assert!(at("draining") < at(GAVE_UP) && at(GAVE_UP) < at("stopped"), "{said}");
    watch.goes_on(3).await;
    watch.check().await;
}

/// A drain that has nothing to wait for is over in a moment: the leases are given up all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_node_that_stops_in_a_moment_gives_up_its_leases_too() {
    let mut site = Site::new();
    for _ in 0..3 {
        let [mut going, mut staying] = site.pair().await;
        for node in [&mut going, &mut staying] {
            node.terminate().await;
            assert!(node.wait().await.success(), "{}", node.output());
            assert!(node.stderr().contains(GAVE_UP), "{}", node.output());
        }
    }
}

/// Where nobody else is there, people are called until the node is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_the_last_node_ticks_while_it_drains_and_leaves_nothing_held() {
    let mut site = Site::new();
    let mut last = site.node().await;
    let watch = at_work(&site.redis, &site, &last, "last").await;
    let held = unfinished(&last, "last").await;
    let before = watch.ticks().len();
    last.terminate().await;
    assert!(last.wait().await.success(), "{}", last.output());
    drop(held);
    let ticks = watch.ticks().len() - before;
    assert!(ticks >= 2, "{ticks} ticks in a drain of 5 s");
    assert!(last.stderr().contains(GAVE_UP), "{}", last.output());
    let next = site.node().await;
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
