//! A room's descent: which histories its numbers come from, and what a recovery under way has been told.

use std::collections::{BTreeMap, BTreeSet};

use jari_units::{EventNo, Incarnation, Millis, NodeId, Seq, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;
use crate::{Phase, Receipt, SeqSet, Tick};

/// Where a room comes from. The default is a room that never lost anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    pub lineage: Lineage,
    /// Set from `recover` until the window's end.
    pub recovery: Option<Recovery>,
    /// Live places that a replica told of: who they belong to shows with their receipt.
    pub unattached: SeqSet,
    /// When each node last attended the room.
    pub nodes: BTreeMap<NodeId, Timestamp>,
}

/// The incarnations whose numbers and tokens still mean something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The oldest of them. `None`: the room's own, or, while it recovers with nobody left who knows, any.
    pub origin: Option<Incarnation>,
    /// Each incarnation that began with a recovery, and the first number that it gave itself.
    pub begins: Vec<(Incarnation, Seq)>,
}

/// What has been told so far while a room recovers. Whoever tells, in whatever order and how often, it comes to the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    pub began: Timestamp,
    /// Numbers that the store or a replica told of. Those that do not live have ended, for good.
    pub known: SeqSet,
    /// The newest telling: up to which event, and when.
    pub told: (Incarnation, EventNo),
    pub told_at: Timestamp,
    /// Numbers below it have been given, as far as anybody has seen.
    pub top: Seq,
    /// Places whose receipts were shown, and when a store had last confirmed them.
    pub receipts: BTreeMap<Seq, Timestamp>,
    /// Passes that were shown or used.
    pub shown: SeqSet,
    /// The oldest incarnation of a receipt that counted.
    pub oldest: Option<Incarnation>,
    /// An operator has acted on the room meanwhile: what replicas say of pauses and closing is older.
    pub operated: bool,
    /// Nodes that have not told everything yet; `None`: nobody knows which there are.
    pub awaited: Option<BTreeSet<NodeId>>,
}

impl Lineage {
    /// Whether `seq` as given in `incarnation` is the same place in a room that stands at `own`.
    fn holds(&self, own: Incarnation, incarnation: Incarnation, seq: Seq) -> bool {
        // What a lost history gave above the next one's first number, the next one gave to others.
        let before = |next: &(Incarnation, Seq)| seq < next.1;
        incarnation == own || self.next_of(own, incarnation).is_some_and(before)
    }

    /// The same while `own` has given no number yet: whatever its parent gave is still free.
    fn may_hold(&self, own: Incarnation, incarnation: Incarnation, seq: Seq) -> bool {
        let next = self.next_of(own, incarnation);
        next.is_some_and(|(began, first)| *began == own && seq < limits::SEQ_MAX || seq < *first)
    }

    /// The incarnation that came after an older one, and its first number.
    fn next_of(&self, own: Incarnation, incarnation: Incarnation) -> Option<&(Incarnation, Seq)> {
        let old = self.origin.is_none_or(|origin| incarnation >= origin);
        let mut later = self.begins.iter().filter(|(began, _)| *began > incarnation);
        later.next().filter(|_| incarnation < own && old)
    }

    /// A new incarnation goes on from here.
    pub(crate) fn begin(&mut self, incarnation: Incarnation, first: Seq) {
        self.begins.push((incarnation, first));
        while self.begins.len() > limits::LINEAGE_MAX {
            let (oldest, _) = self.begins.remove(0);
            self.origin = self.origin.max(Some(oldest));
        }
    }
}

impl Recovery {
    /// Every node that there was has told all it knows, and no number was given that none of them knows.
    fn is_complete(&self) -> bool {
        let nobody_awaited = self.awaited.as_ref().is_some_and(BTreeSet::is_empty);
        let below = self.top.saturating_sub(1);
        nobody_awaited && self.known.rank(below) == below
    }
}

impl Ledger {
    #[must_use]
    pub fn descent(&self) -> &Descent {
        &self.descent
    }

    /// The room lost history and is being told of it: no admissions, no new numbers, no positions.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.descent.recovery.is_some()
    }

    /// A live place that is still without its owner: show the store the receipt that names it.
    #[must_use]
    pub fn is_unattached(&self, seq: Seq) -> bool {
        self.descent.unattached.contains(seq)
    }

    /// Whether a receipt may tell the store something that this copy does not know: whose a place is, that it lives, or a
    /// newer confirmation. False for all but a few once the window is over.
    #[must_use]
    pub fn wants(&self, receipt: &Receipt) -> bool {
        let seq = receipt.seq;
        if self.is_unattached(seq) {
            return true;
        }
        let Some(told) = &self.descent.recovery else {
            return false;
        };
        let ended = told.known.contains(seq) && !self.is_live(seq);
        if ended || !self.names(receipt) {
            return false;
        }
        match receipt.pass {
            Some(grant) => {
                let further = self.passes.get(seq).is_some_and(|pass| pass.grant < grant);
                !told.shown.contains(seq) || further
            }
            None => told.receipts.get(&seq).is_none_or(|at| *at < receipt.as_of.min(told.began)),
        }
    }

    /// When the store last confirmed what this copy says of places, by the store's clock; the beginning of time while it
    /// recovers: what was told so far may be old.
    #[must_use]
    pub fn confirmed_at(&self) -> Timestamp {
        if self.is_recovering() { Timestamp::default() } else { self.clocks.now }
    }

    /// Whether a token's number means the same place here.
    pub(crate) fn is_ours(&self, incarnation: Incarnation, seq: Seq) -> bool {
        self.descent.lineage.holds(self.incarnation, incarnation, seq)
    }

    /// Whether a receipt's number may be one that this room goes on with, known to it or not.
    pub(crate) fn may_be_ours(&self, incarnation: Incarnation, seq: Seq) -> bool {
        self.descent.lineage.may_hold(self.incarnation, incarnation, seq)
    }

    /// In line, absent or inside.
    pub(crate) fn is_live(&self, seq: Seq) -> bool {
        self.w.contains(seq) || self.passes.get(seq).is_some()
    }

    pub(crate) fn inside(&self) -> SeqSet {
        self.passes.iter().map(|(seq, _)| seq).collect()
    }

    /// What its limit group may count on: a room that recovers admits nobody.
    #[must_use]
    pub fn admits(&self) -> bool {
        self.phase() == Phase::Open && !self.is_recovering()
    }

    /// Live passes as its limit group must count them: while it recovers, all that the group has lent may be in use.
    #[must_use]
    pub fn live_at_most(&self) -> u64 {
        let live = self.passes.live();
        if self.is_recovering() { live.max(self.live_quota) } else { live }
    }

    /// The window is over with this tick: its time has passed, or everything has been told.
    pub(crate) fn recovered_at(&self, tick: &Tick) -> bool {
        let recovery = self.descent.recovery.as_ref();
        recovery.is_some_and(|told| {
            let early = tick.now >= told.began + limits::RECOVERY_MIN && told.is_complete();
            early || tick.now >= tick.lull_until
        })
    }

    /// Live places that nobody fresh vouches for: neither a telling nor a receipt from shortly before the loss.
    ///
    /// The loss is taken to be at the newest confirmation that anybody has shown. What was confirmed more than two
    /// presence windows before it belongs to someone who had gone or ended.
    pub(crate) fn stale(&self, told: &Recovery) -> SeqSet {
        let newest = told.receipts.values().max().map_or(told.told_at, |at| told.told_at.max(*at));
        let fresh_for = Millis(2 * self.settings.presence_window.0);
        let is_fresh = |at: Timestamp| at + fresh_for >= newest;
        let mut live = self.w.union(&self.inside()).difference(&told.shown);
        if is_fresh(told.told_at) {
            live.remove_all(&told.known);
        }
        let shown = told.receipts.iter().filter(|(_, at)| is_fresh(**at));
        live.remove_all(&shown.map(|(seq, _)| *seq).collect());
        live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (incarnation, number) -> whether it is ours, in a room at 30 that began at 10 and recovered at 20 and 30.
    #[test]
    fn numbers_mean_the_same_place_only_below_the_next_historys_first() {
        let begins = vec![(20, 100), (30, 500)];
        let lineage = Lineage { origin: Some(10), begins };
        for (incarnation, seq, ours) in [
            (30, 9_999, true),
            (20, 499, true),
            (20, 500, false),
            (10, 99, true),
            (10, 100, false),
            (15, 99, true),
            (9, 1, false),
            (31, 1, false),
        ] {
            assert_eq!(lineage.holds(30, incarnation, seq), ours, "{incarnation} {seq}");
        }
        assert!(
            !Lineage::default().holds(30, 29, 1),
            "a room that never lost anything has no past"
        );
    }

    #[test]
    fn only_the_newest_recoveries_are_remembered() {
        let mut lineage = Lineage { origin: Some(1), begins: Vec::new() };
        let all = limits::LINEAGE_MAX as u64 + 3;
        (1..=all).for_each(|n| lineage.begin(10 * n, 100 * n));
        assert_eq!((lineage.begins.len(), lineage.origin), (limits::LINEAGE_MAX, Some(30)));
        assert!(!lineage.holds(10 * all, 25, 1) && lineage.holds(10 * all, 35, 399));
    }
}
