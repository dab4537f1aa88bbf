//! Which rooms this node ticks: its leases, renewed while it lives and given up as it goes. What a lease means, and that it
//! guards nothing, is told in `jari_ports::TickLeases`.

use std::sync::Arc;
use std::time::Duration;

use jari_ports::{Held, StoreError, TickLeases};
use jari_units::limits::{BUNDLES, LEASE_RENEWED_EVERY};
use jari_units::{Bundle, BundleSet, NodeId, RoomId};
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::state::AppState;
use crate::store_calls::StoreCalls;

const RENEW_EVERY: Duration = Duration::from_millis(LEASE_RENEWED_EVERY.0);
/// This node stops a little sooner than others may begin: its clock and the store's run at their own speeds.
const MARGIN: Duration = Duration::from_millis(100);
/// A node that goes away waits no longer for the store to hear of it: the leases run out by themselves.
const GIVE_UP_MAX: Duration = Duration::from_secs(1);

/// What this node holds.
#[derive(Debug)]
pub struct Leases {
    port: Arc<dyn TickLeases>,
    calls: Arc<StoreCalls>,
    node: NodeId,
    holding: Mutex<Holding>,
    /// The store knows that this node is gone. Locked while it is told: whoever tells it may be stopped in the middle.
    told: tokio::sync::Mutex<bool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    bundles: BundleSet,
    /// `None`: for good.
    until: Option<Instant>,
    admitters: usize,
    /// Nothing is taken any more.
    gone: bool,
}

impl Holding {
    /// Takes in an answer to what was asked at `asked`. Whether anything is different now.
    fn take(&mut self, held: Held, asked: Instant) -> bool {
        if self.gone {
            return false;
        }
        let Held { bundles, lasts, admitters, .. } = held;
        let lasts = lasts.map(|lasts| Duration::from_millis(lasts.0).saturating_sub(MARGIN));
        let differs = (self.bundles, self.admitters) != (bundles, admitters);
        *self =
            Holding { bundles, until: lasts.map(|lasts| asked + lasts), admitters, gone: false };
        differs
    }

    /// Holds nothing any more. Whether what it held was for good.
    fn let_go(&mut self) -> bool {
        (self.bundles, self.gone) = (BundleSet::NONE, true);
        self.until.is_none()
    }

    fn now(&self) -> BundleSet {
        let holds = self.until.is_none_or(|until| Instant::now() < until);
        if holds { self.bundles } else { BundleSet::NONE }
    }
}

impl Leases {
    pub(crate) fn new(port: Arc<dyn TickLeases>, calls: Arc<StoreCalls>, node: NodeId) -> Self {
        let (holding, told) = Default::default();
        Leases { port, calls, node, holding, told }
    }

    /// Whether the room is this node's to tick. By this machine's own time: who was stopped for a while finds that it is not.
    #[must_use]
    pub fn holds(&self, room: &RoomId) -> bool {
        self.holding.lock().now().contains(Bundle::of(room))
    }

    /// How many bundles of rooms this node ticks, and how many admitters it has heard of.
    #[must_use]
    pub fn counts(&self) -> (u32, usize) {
        let holding = *self.holding.lock();
        (holding.now().len(), holding.admitters)
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        let held = self.calls.run("renew", self.port.renew(self.node)).await?;
        if self.holding.lock().take(held, asked) {
            let (count, admitters) = (held.bundles.len(), held.admitters);
            tracing::info!(
                count,
                admitters,
                "this node ticks {count} of {BUNDLES} bundles of rooms; admitters: {admitters}"
            );
        }
        Ok(())
    }

    /// Lets others tick what this node did, now and not only when its leases run out. Holds nothing from then on. Tells the
    /// store once, however often it is called.
    pub async fn give_up(&self) {
        if self.holding.lock().let_go() {
            // Nobody else could take it.
            return;
        }
        let mut told = self.told.lock().await;
        if *told {
            return;
        }
        match timeout(GIVE_UP_MAX, self.calls.run("give_up", self.port.give_up(self.node))).await {
            Ok(Ok(())) => {
                *told = true;
                tracing::info!("this node gave up its leases: others tick its rooms");
            }
            Ok(Err(error)) => tracing::warn!(%error, "the leases were not given up: {error}"),
            Err(_) => tracing::warn!("the leases were not given up within {GIVE_UP_MAX:?}"),
        }
    }

    /// Somebody else is there to tick the rooms.
    fn may_go(&self) -> bool {
        self.holding.lock().admitters > 1
    }
}

/// Renews until the node goes away: then others have the leases at once, and where there are no others, this node ticks to
/// its end, which [`Leases::give_up`] tells of.
pub(crate) async fn keep(state: &AppState) {
    let leases = &state.leases;
    let mut turns = interval(RENEW_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut draining = false;
    let mut failing = false;
    loop {
        tokio::select! {
            () = state.drain.begun(), if !draining => draining = true,
            _ = turns.tick() => {}
        }
        if draining && leases.may_go() {
            return leases.give_up().await;
        }
        match leases.renew().await {
            Ok(()) => failing = false,
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "the leases cannot be renewed: {error}");
                }
                failing = true;
            }
        }
        if leases.holding.lock().until.is_none() && !failing {
            // For good.
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Millis;
    use tokio::time::advance;

    use super::*;

    fn held(lasts: Option<Millis>) -> Held {
        Held { bundles: BundleSet::ALL, lasts, admitters: 2, fence: 1 }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_renewed_is_let_go_of_before_others_may_take_it() {
        let mut holding = Holding::default();
        let asked = Instant::now();
        advance(Duration::from_millis(300)).await;
        assert!(holding.take(held(Some(Millis(2_000))), asked));
        advance(Duration::from_millis(1_599)).await;
        assert_eq!(holding.now(), BundleSet::ALL, "1,899 ms after it was asked for");
        advance(Duration::from_millis(1)).await;
        assert_eq!(holding.now(), BundleSet::NONE);
        assert!(!holding.take(held(Some(Millis(2_000))), Instant::now()), "nothing new to tell");
        assert_eq!(holding.now(), BundleSet::ALL);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_else_can_hold_stays() {
        let mut holding = Holding::default();
        holding.take(held(None), Instant::now());
        advance(Duration::from_secs(3_600)).await;
        assert_eq!(holding.now(), BundleSet::ALL);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_after_it_was_given_up_gives_nothing() {
        let mut holding = Holding::default();
        holding.take(held(Some(Millis(2_000))), Instant::now());
        assert!(!holding.let_go());
        assert!(!holding.take(held(Some(Millis(2_000))), Instant::now()));
        assert_eq!(holding.now(), BundleSet::NONE);
        assert!(!holding.let_go(), "who is told twice is told the same");
    }
}
