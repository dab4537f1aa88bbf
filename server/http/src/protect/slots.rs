//! How many requests may be at the site at once, and how many of them one holder of a pass, or one address without, may have
//! there. Decides nothing about who is let through.

use std::future::poll_fn;
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use jari_units::{PassId, RoomId};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A request waits so long for one of the others to be done.
const SLOT_WAIT: Duration = Duration::from_secs(2);
/// The part of all slots that one holder may have: who keeps them all busy needs as many passes or addresses.
const HOLDER_PART: usize = 8;
/// Holders are looked up in so many tables, so that workers seldom meet at one.
const TABLES: usize = 16;
/// Slots that one holder may have in any case: a browser loads a page over six connections.
const HOLDER_MIN: usize = 8;

/// Whose a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    /// Somebody without a pass, as addresses are counted together.
    Address(u128),
    /// A pass of a room that is named by its hash: where two rooms have the same, two passes may share what one could have.
    Pass(u64, PassId),
}

impl Holder {
    pub(super) fn pass(room: &RoomId, pass: PassId) -> Self {
        Holder::Pass(BuildHasherDefault::<FxHasher>::default().hash_one(room), pass)
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    site: Arc<Semaphore>,
    holders: Arc<Holders>,
}

/// A request's place at the site, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _site: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    _visit: Visit,
}

/// Who is there. As many at most as requests that wait or are at the site.
#[derive(Debug)]
struct Holders {
    share: usize,
    tables: [Mutex<FxHashMap<Holder, Share>>; TABLES],
}

impl Holders {
    fn table(&self, holder: &Holder) -> &Mutex<FxHashMap<Holder, Share>> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(holder);
        // Any of them will do.
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are enough")]
        let number = hash as usize % TABLES;
        &self.tables[number]
    }
}

/// What one holder has.
#[derive(Debug)]
struct Share {
    slots: Arc<Semaphore>,
    requests: usize,
}

/// A request, waiting or at the site.
#[derive(Debug)]
struct Visit {
    holders: Arc<Holders>,
    holder: Holder,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        let share = (max / HOLDER_PART).max(HOLDER_MIN);
        let holders = Arc::new(Holders { share, tables: Default::default() });
        Slots { site: Arc::new(Semaphore::new(max)), holders }
    }

    /// Takes a slot. `None`: there is none, after a while.
    pub(super) async fn take(&self, holder: Holder) -> Option<Slot> {
        let (visit, slots) = Visit::begin(&self.holders, holder);
        let taken = async {
            let share = slots.acquire_owned().await.ok()?;
            let site = self.site.clone().acquire_owned().await.ok()?;
            Some(Slot { _site: site, _share: share, _visit: visit })
        };
        let mut taken = pin!(taken);
        // Most find one free, and need no timer.
        match poll_fn(|cx| Poll::Ready(taken.as_mut().poll(cx))).await {
            Poll::Ready(slot) => slot,
            Poll::Pending => timeout(SLOT_WAIT, taken).await.ok()?,
        }
    }
}

impl Visit {
    fn begin(holders: &Arc<Holders>, holder: Holder) -> (Self, Arc<Semaphore>) {
        let mut present = holders.table(&holder).lock();
        let share = present.entry(holder).or_insert_with(|| Share {
            slots: Arc::new(Semaphore::new(holders.share)),
            requests: 0,
        });
        share.requests += 1;
        (Visit { holders: holders.clone(), holder }, share.slots.clone())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut present = self.holders.table(&self.holder).lock();
        if let Some(share) = present.get_mut(&self.holder) {
            share.requests -= 1;
            if share.requests == 0 {
                present.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(slots: &Slots) -> usize {
        slots.holders.tables.iter().map(|table| table.lock().len()).sum()
    }

    const SOMEBODY: Holder = Holder::Address(1);

    fn pass(seq: u64, room: &str) -> Holder {
        Holder::pass(&room.parse().expect("an id"), PassId { incarnation: 1, seq, grant: 1 })
    }

    #[tokio::test(start_paused = true)]
    async fn one_address_or_pass_holds_its_share_and_no_more() {
        let slots = Slots::new(80);
        for holder in [SOMEBODY, pass(1, "shop")] {
            let mut held = Vec::new();
            for _ in 0..10 {
                held.push(slots.take(holder).await.expect("a slot"));
            }
            assert!(slots.take(holder).await.is_none());
            for other in [Holder::Address(2), pass(2, "shop"), pass(1, "show")] {
                assert!(slots.take(other).await.is_some(), "{other:?} is not held to it");
            }
            held.pop();
            assert!(slots.take(holder).await.is_some(), "what is given back may be taken again");
            held.clear();
            assert_eq!(present(&slots), 0, "nobody is remembered");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_of_them_have_no_more_than_the_site_takes() {
        let slots = Slots::new(2);
        let held = (slots.take(SOMEBODY).await, slots.take(pass(1, "shop")).await);
        assert!(held.0.is_some() && held.1.is_some());
        assert!(
            slots.take(SOMEBODY).await.is_none() && slots.take(pass(2, "shop")).await.is_none()
        );
        drop(held);
        assert!(slots.take(SOMEBODY).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let slots = Slots::new(1);
        let held = slots.take(pass(1, "shop")).await.expect("a slot");
        assert!(timeout(SLOT_WAIT / 2, slots.take(SOMEBODY)).await.is_err());
        assert_eq!(present(&slots), 1);
        drop(held);
    }
}
