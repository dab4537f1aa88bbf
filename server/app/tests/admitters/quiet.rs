//! What a line that stands asks of its store, whoever waits in it: counted, as a count holds on a busy machine too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jari_servers::Server;
use jari_testkit::Visitor;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::nodes::Site;

const ROOM: &str = "quiet";
/// Joins, and what nodes ask while they come to know a room, are over by then: the round over all rooms rests for five.
const SETTLED: Duration = Duration::from_secs(6);
/// As many turns of every kind as it takes for chance to even out.
const WATCHED: Duration = Duration::from_secs(20);
/// A second, for both nodes: a tick; two and a half for the leases, which tell what is due as well; who was heard from, by which
/// node, and the round over all rooms: one less a little. A tenth above that, for what falls into the time by chance.
const CALLS_PER_S_MAX: f64 = 4.9;

/// Calls by the nodes, not what their scripts do inside.
fn calls(redis: &Server) -> u64 {
    let told = redis.ask("INFO commandstats");
    let of = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let is_call = ["evalsha", "eval", "sscan", "smembers", "ping"].contains(&name);
        is_call.then(|| rest.split_once(',').expect("more numbers").0.parse::<u64>().ok()).flatten()
    };
    told.lines().filter_map(of).sum()
}

async fn waits(visitor: Visitor, enough: Arc<AtomicBool>) {
    while !enough.load(Ordering::SeqCst) {
        let answer = visitor.poll(ROOM).await;
        assert!([200, 429].contains(&answer.status.as_u16()), "{}", answer.text());
        // As a page far back in line asks, or more often.
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_line_that_stands_asks_its_store_few_things_a_second_for_two_nodes() {
    let mut site = Site::new();
    let nodes = site.pair().await;
    let settings = json!({"pacer": {"kind": "manual"}});
    site.make_room(&nodes[0], ROOM, settings, None).await;
    let enough = Arc::new(AtomicBool::new(false));
    let mut people = Vec::new();
    let first = nodes[0].visitor();
    first.wait_in(ROOM).await;
    jari_testkit::eventually("the other node knows the room", async || {
        let shown = nodes[1].visitor().get(&format!("/v1/rooms/{ROOM}")).await;
        (shown.status == 200).then_some(())
    })
    .await;
    for nth in 0..10 {
        let visitor = nodes[nth % 2].visitor();
        visitor.wait_in(ROOM).await;
        people.push(tokio::spawn(waits(visitor, enough.clone())));
    }
    sleep(SETTLED).await;
    let (before, began) = (calls(&site.redis), Instant::now());
    sleep(WATCHED).await;
    let per_s = (calls(&site.redis) - before) as f64 / began.elapsed().as_secs_f64();
    println!("{per_s:.1} calls a second");
    enough.store(true, Ordering::SeqCst);
    for one in people {
        one.await.expect("no panic");
    }
    let ticks = site.operator(&nodes[0]).stats(ROOM).await;
    assert_eq!(ticks.waiting, 11);
    assert!(per_s <= CALLS_PER_S_MAX, "{per_s:.1} calls a second");
    assert!(per_s >= 2.0, "ticks and leases at least: {per_s:.1}");
}
