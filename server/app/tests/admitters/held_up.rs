//! Ticks that arrive when their lease has long passed on.

use jari_units::{Bundle, BundleSet, RoomId};

use crate::nodes::{Site, holds, lasting};
use crate::proxy::Proxy;
use crate::watch::Watch;

const CAPACITY: u64 = 120;
const RATE_PER_S: u64 = 10;

/// A room that the node which was there first goes on ticking beside a second one.
pub(crate) fn room_of_the_first() -> String {
    let ids = (0..).map(|n| format!("held-{n}"));
    let is_first = |id: &String| {
        let room: RoomId = id.parse().expect("an id");
        BundleSet::ALL.first(32).contains(Bundle::of(&room))
    };
    ids.into_iter().find(is_first).expect("half of them are")
}

/// Q3, Q4. A node sends a tick, and renewals, into a network that holds them up. Its leases run out, the other one ticks; then
/// everything arrives, on connections that the node has given up meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_tick_that_arrives_after_its_lease_was_lost_does_no_harm() {
    const ROUNDS: usize = 3;
    let mut site = Site::new();
    let proxy = Proxy::start(site.redis.port()).await;
    let behind = site.start(site.builder_at(&proxy.url())).await;
    holds(&behind, 64).await;
    let other = site.node().await;
    holds(&behind, 32).await;
    holds(&other, 32).await;
    let room = room_of_the_first();
    site.make_room(&other, &room, lasting(CAPACITY, RATE_PER_S), None).await;
    let watch = Watch::begin(&site.redis.url(), &room).await;
    watch.crowd(1..=2 * CAPACITY).await;
    watch.goes_on(2).await;
    for round in 0..ROUNDS {
        proxy.hold();
        holds(&other, 64).await;
        watch.goes_on(2).await;
        let bytes = proxy.release();
        assert!(bytes > 0, "a renewal at least was under way");
        holds(&behind, 32).await;
        watch.goes_on(2).await;
        println!("round {round}: {bytes} bytes arrived late");
    }
    watch.until_admitted(CAPACITY).await;
    watch.goes_on(2).await;
    watch.check().await;
    assert_eq!(watch.admitted(), CAPACITY);
}
