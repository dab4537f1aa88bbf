//! TickLeases: which rooms a node ticks where several nodes could. Saves work; guards nothing.

use jari_units::{BundleSet, Millis, NodeId};

use crate::{BoxFuture, StoreError};

/// What an admitter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The rooms of these bundles are its to tick.
    pub bundles: BundleSet,
    /// For so long, counted from before the call was made, unless renewed. `None`: for as long as the store is open, since
    /// nobody else could hold them.
    pub lasts: Option<Millis>,
    /// Admitters that are there, this one included.
    pub admitters: usize,
    /// Rises with every renewal and handing over of any admitter: which of two answers is the newer one.
    pub fence: u64,
}

/// Who ticks what. A room belongs to the bundle that [`jari_units::Bundle::of`] says, and a bundle is one admitter's at a
/// time; the rules are `jari_line::Leases`.
///
/// **A lease is no lock.** A node that is stopped in the middle of a tick finds, once it goes on, that another one ticks its
/// rooms, and its own tick may still arrive. That must do no harm, and does none, because
/// [`LineStore::admit`](crate::LineStore::admit) decides by the room's own state alone: capacity, bucket and frontier are the
/// same for whoever ticks. So nothing may ever be done *because* a lease is held that would be wrong without it.
pub trait TickLeases: Send + Sync + std::fmt::Debug {
    /// Says that an admitter is there, and answers what it holds. To be repeated every `LEASE_RENEWED_EVERY`: whoever was not
    /// heard from for `LEASE` has lost all, and others take it with their next renewal.
    ///
    /// Admitters that renew hold even shares of all bundles within a few renewals. An answer that did not come leaves what
    /// the caller held as it was, until `lasts` is over.
    ///
    /// # Errors
    /// `Unavailable`.
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<Held, StoreError>>;

    /// Says that an admitter goes away: the others take what it held with their next renewal, without waiting for `LEASE`.
    /// Idempotent.
    ///
    /// # Errors
    /// `Unavailable`: then it runs out by itself.
    fn give_up(&self, node: NodeId) -> BoxFuture<'_, Result<(), StoreError>>;
}
