//! Leases of a store that one process has for itself.

use jari_ports::TickLeases;
use jari_units::BundleSet;

use super::Bench;

#[tokio::test]
async fn the_one_process_holds_all_for_good_whoever_asks() {
    let bench = Bench::new();
    let store = bench.open();
    for node in [1, 2, 1] {
        let held = store.renew(node).await.expect("it answers");
        assert_eq!((held.bundles, held.lasts, held.admitters), (BundleSet::ALL, None, 1));
        store.give_up(node).await.expect("it answers");
    }
}
