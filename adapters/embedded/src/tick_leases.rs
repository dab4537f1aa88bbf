//! Leases of the embedded store: the one process that has the data folder's lock holds all of them.

use jari_ports::{BoxFuture, Held, StoreError, TickLeases};
use jari_units::{BundleSet, NodeId};

use crate::EmbeddedStore;

impl TickLeases for EmbeddedStore {
    fn renew(&self, _node: NodeId) -> BoxFuture<'_, Result<Held, StoreError>> {
        let held = Held { bundles: BundleSet::ALL, lasts: None, admitters: 1, fence: 0 };
        Box::pin(std::future::ready(Ok(held)))
    }

    fn give_up(&self, _node: NodeId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
