//! Limit groups whose rooms are ticked by different nodes, with leaders that come and go.

use jari::SystemClock;
use jari_ports::Clock;
use serde_json::json;

use crate::nodes::{Site, holds, lasting};
use crate::watch::Watch;

const CAPACITY: u64 = 90;
const RATE_PER_S: u64 = 10;
const ROOMS: [&str; 6] = ["group-1", "group-2", "group-3", "group-4", "group-5", "group-6"];

/// Q4: what the site behind can take is taken in sum, over rooms and nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_groups_limits_hold_in_sum_across_rooms_and_nodes() {
    let mut site = Site::new();
    let nodes = site.pair().await;
    let started = SystemClock.now();
    let limits = json!({"capacity": CAPACITY, "rate_per_s": RATE_PER_S, "burst": RATE_PER_S});
    site.operator(&nodes[0]).put("/v1/admin/groups/site", &limits).await.expect(200);
    let mut watches = Vec::new();
    for room in ROOMS {
        site.make_room(&nodes[0], room, lasting(1_000, 100), Some("site")).await;
        watches.push(Watch::begin(&site.redis.url(), room).await);
    }
    for watch in &watches {
        watch.crowd(1..=60).await;
    }
    for stopped in [0, 1, 0] {
        nodes[stopped].pause().await;
        holds(&nodes[1 - stopped], 64).await;
        for watch in &watches {
            watch.goes_on(1).await;
        }
        nodes[stopped].resume().await;
        for node in &nodes {
            holds(node, 32).await;
        }
    }
    jari_testkit::eventually("the group is full", async || {
        let inside: u64 = watches.iter().map(Watch::admitted).sum();
        (inside >= CAPACITY).then_some(())
    })
    .await;
    for watch in &watches {
        watch.goes_on(2).await;
        watch.check().await;
    }
    // Nobody leaves here, so those admitted are those inside.
    let mut ticks: Vec<_> = watches.iter().flat_map(Watch::ticks).collect();
    ticks.sort_by_key(|tick| tick.now);
    let mut admitted = 0;
    for tick in &ticks {
        admitted += tick.called.len() as u64;
        let most = RATE_PER_S * 1_000 + RATE_PER_S * tick.now.since(started).0;
        assert!(admitted * 1_000 <= most, "{admitted} in sum by {tick:?}, since {started:?}");
        assert!(admitted <= CAPACITY, "{admitted} inside in sum");
    }
    println!(
        "{} rooms, {} ticks, {admitted} of {CAPACITY} admitted in sum",
        ROOMS.len(),
        ticks.len()
    );
    assert_eq!(admitted, CAPACITY, "and the line went on");
    let shares: Vec<_> = watches.iter().map(Watch::admitted).collect();
    assert!(shares.iter().all(|share| *share > 0), "each room had a share: {shares:?}");
}
