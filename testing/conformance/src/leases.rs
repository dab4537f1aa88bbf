//! Each clause of the TickLeases contract: what several admitters on one store hold, as they come, go, die and return.

use std::collections::BTreeSet;
use std::sync::Arc;

use jari_ports::{BoxFuture, Held, TickLeases};
use jari_units::limits::{BUNDLES, LEASE, LEASE_RENEWED_EVERY};
use jari_units::{BundleSet, Millis, NodeId, Timestamp};

use crate::SetClock;
use crate::history::START;

/// An installation with a store that several nodes share, in a namespace of its own.
pub trait SharedLeases: Send + Sync {
    /// A node's own connection to it.
    fn node(&self) -> Arc<dyn TickLeases>;

    fn clock(&self) -> Arc<SetClock>;
}

type Clause = for<'a> fn(&'a dyn SharedLeases) -> BoxFuture<'a, ()>;

/// All clauses by name.
pub const CLAUSES: &[(&str, Clause)] = &[
    ("an admitter alone holds all", |site| Box::pin(alone(site))),
    ("admitters hold even shares, and no two the same", |site| Box::pin(even_shares(site))),
    ("who gives up is replaced without a wait", |site| Box::pin(given_up(site))),
    ("who is silent is replaced after a lease, and not before", |site| Box::pin(silent(site))),
    ("who comes back late holds nothing that passed on", |site| Box::pin(late(site))),
    ("a clock that steps leaves no bundle without a holder", |site| Box::pin(clock_steps(site))),
    ("renewals at once exclude each other", |site| Box::pin(at_once(site))),
];

/// Checks every clause, each on a fresh installation.
///
/// # Panics
/// Where one does not hold.
pub async fn check_all(fresh: &dyn Fn() -> Box<dyn SharedLeases>) {
    for (name, clause) in CLAUSES {
        crate::history::announce(&format!("leases: {name}"));
        let site = fresh();
        site.clock().set(START);
        clause(&*site).await;
    }
}

async fn renewed(node: &Arc<dyn TickLeases>, id: NodeId) -> Held {
    node.renew(id).await.expect("it answers")
}

/// What the admitters 1, 2, ... hold after some renewals of all.
async fn settled(nodes: &[Arc<dyn TickLeases>]) -> Vec<BundleSet> {
    let mut held = Vec::new();
    for _ in 0..5 {
        held.clear();
        for (id, node) in (1..).zip(nodes) {
            held.push(renewed(node, id).await.bundles);
        }
    }
    held
}

fn nodes(site: &dyn SharedLeases, count: usize) -> Vec<Arc<dyn TickLeases>> {
    (0..count).map(|_| site.node()).collect()
}

fn shared_evenly(held: &[BundleSet]) {
    let all = held.iter().copied().fold(BundleSet::NONE, BundleSet::union);
    let counts: Vec<u32> = held.iter().map(|held| held.len()).collect();
    assert_eq!((all, counts.iter().sum()), (BundleSet::ALL, BUNDLES), "each is held, by one");
    assert!(
        counts.iter().max() <= counts.iter().min().map(|least| least + 1).as_ref(),
        "{counts:?}"
    );
}

async fn alone(site: &dyn SharedLeases) {
    let node = site.node();
    let first = renewed(&node, 1).await;
    assert_eq!((first.bundles, first.admitters), (BundleSet::ALL, 1));
    assert_eq!(first.lasts, Some(LEASE));
    let next = renewed(&node, 1).await;
    assert!(next.fence > first.fence, "{next:?} is newer than {first:?}");
}

async fn even_shares(site: &dyn SharedLeases) {
    for count in [2, 3, 5] {
        let nodes = nodes(site, count);
        shared_evenly(&settled(&nodes).await);
        assert_eq!(renewed(&nodes[0], 1).await.admitters, count);
    }
}

async fn given_up(site: &dyn SharedLeases) {
    let nodes = nodes(site, 3);
    settled(&nodes).await;
    nodes[0].give_up(1).await.expect("it answers");
    nodes[0].give_up(1).await.expect("and again");
    let mut held = vec![renewed(&nodes[1], 2).await.bundles, renewed(&nodes[2], 3).await.bundles];
    shared_evenly(&held);
    nodes[1].give_up(2).await.expect("it answers");
    held = vec![renewed(&nodes[2], 3).await.bundles];
    shared_evenly(&held);
}

async fn silent(site: &dyn SharedLeases) {
    let nodes = nodes(site, 2);
    let held = settled(&nodes).await;
    site.clock().advance(Millis(LEASE.0 - 1));
    assert_eq!(renewed(&nodes[1], 2).await.bundles, held[1]);
    site.clock().advance(Millis(1));
    let after = renewed(&nodes[1], 2).await;
    assert_eq!((after.bundles, after.admitters), (BundleSet::ALL, 1));
}

async fn late(site: &dyn SharedLeases) {
    let nodes = nodes(site, 2);
    settled(&nodes).await;
    site.clock().advance(LEASE);
    let all = renewed(&nodes[1], 2).await;
    let late = renewed(&nodes[0], 1).await;
    assert_eq!((all.bundles, late.bundles), (BundleSet::ALL, BundleSet::NONE));
    assert!(late.fence > all.fence);
    shared_evenly(&settled(&nodes).await);
    // A word of farewell that was under way for long ends what its node holds now, and nobody else's.
    nodes[0].give_up(1).await.expect("it answers");
    assert_eq!(renewed(&nodes[1], 2).await.bundles, BundleSet::ALL);
}

async fn clock_steps(site: &dyn SharedLeases) {
    let nodes = nodes(site, 2);
    let before = settled(&nodes).await;
    // Back by five minutes: nobody is silent because of it, and the dead are not kept alive.
    site.clock().set(Timestamp(START.0 - 300_000));
    assert_eq!(settled(&nodes).await, before);
    for _ in 0..=LEASE.0.div_ceil(LEASE_RENEWED_EVERY.0) + 1 {
        site.clock().advance(LEASE_RENEWED_EVERY);
        renewed(&nodes[0], 1).await;
    }
    assert_eq!(renewed(&nodes[0], 1).await.bundles, BundleSet::ALL, "the other one is dead");
    // Forward: whoever renews first takes all, and shares again.
    settled(&nodes).await;
    site.clock().advance(Millis::from_mins(5));
    shared_evenly(&settled(&nodes).await);
}

async fn at_once(site: &dyn SharedLeases) {
    let nodes = nodes(site, 4);
    for _ in 0..8 {
        site.clock().advance(Millis(50));
        let renewals = (1..).zip(&nodes).map(|(id, node)| node.renew(id));
        let held: Vec<Held> = futures_util::future::join_all(renewals)
            .await
            .into_iter()
            .map(|held| held.expect("it answers"))
            .collect();
        let fences: BTreeSet<u64> = held.iter().map(|held| held.fence).collect();
        assert_eq!(fences.len(), held.len(), "each renewal is a step of its own");
    }
    shared_evenly(&settled(&nodes).await);
}
