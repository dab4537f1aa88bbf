//! How many requests may be at the site at once, and how many of them one address may hold without a pass. Decides nothing
//! about who is let through.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::client_address::limit_key;

/// A request waits so long for one of the others to be done.
const SLOT_WAIT: Duration = Duration::from_secs(2);
/// The part of all slots that one address may hold without a pass: who keeps them all busy needs as many addresses.
const GUEST_PART: usize = 8;
/// Slots that one address may hold in any case: a browser loads a page over six connections.
const GUEST_MIN: usize = 8;

#[derive(Debug)]
pub(super) struct Slots {
    site: Arc<Semaphore>,
    guests: Arc<Guests>,
}

/// A request's place at the site, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _site: OwnedSemaphorePermit,
    _guest: Option<GuestSlot>,
}

/// Who is there without a pass. As many at most as requests that wait or are at the site.
#[derive(Debug)]
struct Guests {
    share: usize,
    present: Mutex<FxHashMap<u128, Guest>>,
}

/// What one address holds.
#[derive(Debug)]
struct Guest {
    slots: Arc<Semaphore>,
    requests: usize,
}

/// A request of a guest, waiting or at the site.
#[derive(Debug)]
struct Visit {
    guests: Arc<Guests>,
    key: u128,
    slots: Arc<Semaphore>,
}

#[derive(Debug)]
struct GuestSlot {
    _permit: OwnedSemaphorePermit,
    _visit: Visit,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        let share = (max / GUEST_PART).max(GUEST_MIN);
        let guests = Arc::new(Guests { share, present: Mutex::default() });
        Slots { site: Arc::new(Semaphore::new(max)), guests }
    }

    /// Takes a slot; `guest` is the address of who has no pass. `None`: there is none, after a while.
    pub(super) async fn take(&self, guest: Option<IpAddr>) -> Option<Slot> {
        let visit = guest.map(|address| Visit::begin(&self.guests, limit_key(address)));
        let taken = async {
            let guest = match visit {
                Some(visit) => Some(visit.slot().await?),
                None => None,
            };
            let site = self.site.clone().acquire_owned().await.ok()?;
            Some(Slot { _site: site, _guest: guest })
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
    fn begin(guests: &Arc<Guests>, key: u128) -> Self {
        let mut present = guests.present.lock();
        let guest = present.entry(key).or_insert_with(|| Guest {
            slots: Arc::new(Semaphore::new(guests.share)),
            requests: 0,
        });
        guest.requests += 1;
        Visit { guests: guests.clone(), key, slots: guest.slots.clone() }
    }

    async fn slot(self) -> Option<GuestSlot> {
        let permit = self.slots.clone().acquire_owned().await.ok()?;
        Some(GuestSlot { _permit: permit, _visit: self })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut present = self.guests.present.lock();
        if let Some(guest) = present.get_mut(&self.key) {
            guest.requests -= 1;
            if guest.requests == 0 {
                present.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test(start_paused = true)]
    async fn one_address_without_a_pass_holds_its_share_and_no_more() {
        let slots = Slots::new(80);
        let mut held = Vec::new();
        for _ in 0..10 {
            held.push(slots.take(address(1)).await.expect("a slot"));
        }
        assert!(slots.take(address(1)).await.is_none());
        assert!(slots.take(address(2)).await.is_some(), "others are not held to it");
        assert!(slots.take(None).await.is_some(), "nor is who has a pass");
        held.pop();
        assert!(slots.take(address(1)).await.is_some(), "what is given back may be taken again");
        held.clear();
        assert!(slots.guests.present.lock().is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn all_of_them_have_no_more_than_the_site_takes() {
        let slots = Slots::new(2);
        let held = (slots.take(address(1)).await, slots.take(None).await);
        assert!(held.0.is_some() && held.1.is_some());
        assert!(slots.take(address(1)).await.is_none() && slots.take(None).await.is_none());
        drop(held);
        assert!(slots.take(None).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let slots = Slots::new(1);
        let held = slots.take(None).await.expect("a slot");
        assert!(timeout(SLOT_WAIT / 2, slots.take(address(1))).await.is_err());
        assert!(slots.guests.present.lock().is_empty());
        drop(held);
    }
}
