//! Leases for a node that is built by hand in a test: it ticks every room, whatever others do.

use jari_ports::{BoxFuture, Held, StoreError, TickLeases};
use jari_units::{BundleSet, NodeId};

/// Holds all bundles for good.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryRoom;

impl TickLeases for EveryRoom {
    fn renew(&self, _node: NodeId) -> BoxFuture<'_, Result<Held, StoreError>> {
        let held = Held { bundles: BundleSet::ALL, lasts: None, admitters: 1, fence: 0 };
        Box::pin(std::future::ready(Ok(held)))
    }

    fn give_up(&self, _node: NodeId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
