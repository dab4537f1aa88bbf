//! A leader that is stopped where it stands, and goes on when another one has long taken over.

use jari_testkit::{Process, eventually};
use jari_units::{Bundle, Millis};

use crate::nodes::{Site, holds, lasting, number};
use crate::watch::Watch;

const CAPACITY: u64 = 150;
const RATE_PER_S: u64 = 10;

/// Which of the two ticks: the one whose count of ticks rises while no other room is there.
async fn leader(nodes: &[Process; 2], watch: &Watch) -> usize {
    let count = "jari_tick_duration_seconds_count";
    let before =
        [number(&nodes[0].ops_url(), count).await, number(&nodes[1].ops_url(), count).await];
    loop {
        watch.goes_on(1).await;
        for (nth, node) in nodes.iter().enumerate() {
            if number(&node.ops_url(), count).await > before[nth] {
                return nth;
            }
        }
    }
}

/// Q3, Q4. Stopped at whichever moment it was, in a tick or between two; its leases pass on; then it goes on as if nothing had
/// been, with what it had under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_leader_stopped_and_resumed_after_the_takeover_does_no_harm() {
    const ROUNDS: usize = 4;
    let mut site = Site::new();
    let nodes = site.pair().await;
    site.make_room(&nodes[0], "stopped", lasting(CAPACITY, RATE_PER_S), None).await;
    let watch = Watch::begin(&site.redis.url(), "stopped").await;
    watch.crowd(1..=2 * CAPACITY).await;
    watch.until_admitted(RATE_PER_S).await;
    for round in 0..ROUNDS {
        let stopped = leader(&nodes, &watch).await;
        nodes[stopped].pause().await;
        holds(&nodes[1 - stopped], 64).await;
        watch.goes_on(2).await;
        nodes[stopped].resume().await;
        // Both tick for a moment, at worst; then they share.
        for node in &nodes {
            holds(node, 32).await;
        }
        watch.goes_on(2).await;
        println!("round {round}: node {stopped} was stopped and went on");
    }
    watch.until_admitted(CAPACITY).await;
    watch.goes_on(3).await;
    watch.check().await;
    assert_eq!(watch.admitted(), CAPACITY, "nobody above the capacity, and the line went on");
}

/// What leases are for: two nodes tick a room as often as one does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_two_admitters_tick_each_room_once_a_second() {
    const ROOMS: [&str; 6] = ["once-1", "once-2", "once-3", "once-4", "once-5", "once-6"];
    let mut site = Site::new();
    let nodes = site.pair().await;
    let mut watches = Vec::new();
    for room in ROOMS {
        site.make_room(&nodes[0], room, lasting(5, 1), None).await;
        let watch = Watch::begin(&site.redis.url(), room).await;
        watch.crowd(1..=10).await;
        watches.push(watch);
    }
    for watch in &watches {
        let ticks = eventually("it has ticked ten times", async || {
            let ticks = watch.ticks();
            (ticks.len() >= 10).then_some(ticks)
        })
        .await;
        let span = ticks[9].now.since(ticks[0].now);
        // A busy machine ticks late, which is fewer ticks and never more.
        assert!(span >= Millis(8_000), "{}: ten ticks within {span}", watch.room);
        watch.check().await;
    }
    let bundles: Vec<_> = watches.iter().map(|watch| Bundle::of(&watch.room)).collect();
    let mut ticked = Vec::new();
    for node in &nodes {
        ticked.push(number(&node.ops_url(), "jari_tick_duration_seconds_count").await);
    }
    println!("bundles {bundles:?}, ticks by node {ticked:?}");
    assert!(ticked.iter().all(|count| *count > Some(5.0)), "both have rooms: {ticked:?}");
}
