//! Which node ticks which rooms: leases over bundles of rooms, spread evenly over the admitters that are heard from. They
//! save work and guard nothing: what a tick may do, the room's own state says, whoever ticks it and however often.

use std::collections::BTreeMap;

use jari_units::limits::{BUNDLES, LEASE};
use jari_units::{BundleSet, NodeId, Timestamp};
use serde::{Deserialize, Serialize};

/// All leases of an installation. No bundle is held by two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leases {
    admitters: BTreeMap<NodeId, Admitter>,
}

/// A node that ticks rooms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Admitter {
    heard_at: Timestamp,
    holds: BundleSet,
}

impl Leases {
    /// An admitter is there: what it holds from now on until it renews again, or was not heard from for [`LEASE`].
    ///
    /// It takes what is free, up to its fair share; it gives back what it has above it, for others to take when they renew
    /// next. So nobody ticks what another one still does, and a newcomer moves no more than its share.
    pub fn renew(&mut self, node: NodeId, now: Timestamp) -> BundleSet {
        self.admitters.retain(|id, admitter| *id == node || now.since(admitter.heard_at) < LEASE);
        let mut admitter = self.admitters.remove(&node).unwrap_or_default();
        let others = self.admitters.values().map(|other| other.holds);
        let free = BundleSet::ALL.without(others.fold(admitter.holds, BundleSet::union));
        let share = self.share_beside_others(admitter.holds.len(), free.len());
        let more = share.saturating_sub(admitter.holds.len());
        admitter.holds = admitter.holds.first(share).union(free.first(more));
        admitter.heard_at = now;
        self.admitters.insert(node, admitter);
        admitter.holds
    }

    /// An admitter goes away, and leaves all it holds to whoever renews next. Whether it was one.
    pub fn give_up(&mut self, node: NodeId) -> bool {
        self.admitters.remove(&node).is_some()
    }

    /// An admitter was heard from, where it is one: a renewal that changes nothing else need not be written here.
    pub fn hear(&mut self, node: NodeId, at: Timestamp) {
        if let Some(admitter) = self.admitters.get_mut(&node) {
            admitter.heard_at = at;
        }
    }

    /// Whether the same admitters hold the same, whenever they were heard from.
    #[must_use]
    pub fn is_held_as(&self, other: &Leases) -> bool {
        let held = |leases: &Leases| -> Vec<_> {
            leases.admitters.iter().map(|(node, admitter)| (*node, admitter.holds)).collect()
        };
        held(self) == held(other)
    }

    /// Whether the node is one of the admitters.
    #[must_use]
    pub fn has(&self, node: NodeId) -> bool {
        self.admitters.contains_key(&node)
    }

    /// How many there are, as of the last renewal.
    #[must_use]
    pub fn admitters(&self) -> usize {
        self.admitters.len()
    }

    /// How many bundles an admitter should hold that holds `mine` where `free` are nobody's; all others are in `self`.
    ///
    /// Where they cannot be divided evenly, some hold one more than others, and keep it while nobody has too few.
    fn share_beside_others(&self, mine: u32, free: u32) -> u32 {
        let all = u32::try_from(self.admitters.len() + 1).unwrap_or(u32::MAX);
        let (least, most) = (BUNDLES / all, BUNDLES.div_ceil(all));
        let wanting: u32 =
            self.admitters.values().map(|other| least.saturating_sub(other.holds.len())).sum();
        if mine < least {
            return least.min(mine + free);
        }
        // What others lack is left to them: of what is free, or by giving one back.
        let kept = mine.min(most);
        let free_then = free + (mine - kept);
        if kept == least && free_then > wanting {
            most
        } else if kept > least && free_then < wanting {
            kept - 1
        } else {
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Millis;
    use jari_units::limits::LEASE_RENEWED_EVERY;
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp(1_000_000);

    fn at(ms: u64) -> Timestamp {
        START + Millis(ms)
    }

    /// Everybody renews, some rounds in turn, as nodes do in a few seconds.
    fn settle(leases: &mut Leases, nodes: &[NodeId], now: Timestamp) -> Vec<BundleSet> {
        for _ in 0..4 {
            for node in nodes {
                leases.renew(*node, now);
            }
        }
        nodes.iter().map(|node| leases.renew(*node, now)).collect()
    }

    fn evenly(held: &[BundleSet]) {
        let all = held.iter().copied().fold(BundleSet::NONE, BundleSet::union);
        let sum: u32 = held.iter().map(|held| held.len()).sum();
        assert_eq!((all, sum), (BundleSet::ALL, BUNDLES), "each is held, by one");
        let fewest = held.iter().map(|held| held.len()).min();
        let most = held.iter().map(|held| held.len()).max();
        assert!(most <= fewest.map(|fewest| fewest + 1), "of {}: {held:?}", held.len());
    }

    #[test]
    fn one_admitter_holds_all_and_many_hold_even_shares() {
        let mut leases = Leases::default();
        assert_eq!(leases.renew(7, START), BundleSet::ALL);
        for count in 1..=70 {
            let nodes: Vec<NodeId> = (1..=count).collect();
            evenly(&settle(&mut Leases::default(), &nodes, START));
        }
    }

    /// What the one still ticks, the other does not tick yet.
    #[test]
    fn a_newcomer_gets_its_share_as_the_other_gives_it_back() {
        let mut leases = Leases::default();
        leases.renew(1, START);
        assert_eq!(leases.renew(2, at(100)), BundleSet::NONE, "nothing is free yet");
        let kept = leases.renew(1, at(500));
        assert_eq!(kept.len(), BUNDLES / 2);
        let got = leases.renew(2, at(600));
        evenly(&[kept, got]);
        assert_eq!(leases.renew(1, at(1_000)), kept, "and then nothing moves");
    }

    #[test]
    fn who_was_heard_from_since_holds_what_they_held() {
        let mut leases = Leases::default();
        let held = settle(&mut leases, &[1, 2], START);
        let before = leases.clone();
        leases.hear(1, at(1_500));
        leases.hear(3, at(1_500));
        assert!(leases.is_held_as(&before), "to be heard from makes nobody an admitter");
        assert!(leases.has(1) && !leases.has(3));
        assert_eq!(leases.renew(2, at(2_000)), held[1]);
        assert!(leases.is_held_as(&before), "nothing has moved");
        assert_eq!(leases.renew(2, at(3_500)), BundleSet::ALL, "silent since 1,500");
        assert!(!leases.is_held_as(&before));
    }

    #[test]
    fn a_third_moves_no_more_than_its_share() {
        let mut leases = Leases::default();
        let before = settle(&mut leases, &[1, 2], START);
        let after = settle(&mut leases, &[1, 2, 3], at(100));
        evenly(&after);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.intersection(*after), *after, "nobody got what another gave back");
        }
    }

    #[test]
    fn who_goes_leaves_all_at_once_to_the_next_that_renews() {
        let mut leases = Leases::default();
        settle(&mut leases, &[1, 2], START);
        assert!(leases.give_up(1));
        assert!(!leases.give_up(1));
        assert_eq!(leases.renew(2, at(1)), BundleSet::ALL);
        assert_eq!(leases.admitters(), 1);
    }

    #[test]
    fn who_is_silent_for_a_lease_loses_it_and_not_before() {
        let mut leases = Leases::default();
        let held = settle(&mut leases, &[1, 2], START);
        assert_eq!(leases.renew(2, at(LEASE.0 - 1)), held[1]);
        assert_eq!(leases.renew(2, at(LEASE.0)), BundleSet::ALL);
        assert_eq!(leases.renew(1, at(LEASE.0 + 1)), BundleSet::NONE, "it lost them meanwhile");
    }

    /// An outage in which nobody could renew is nobody's silence but all of theirs: the first one back takes all, and shares.
    #[test]
    fn after_an_outage_the_shares_are_even_again() {
        let mut leases = Leases::default();
        settle(&mut leases, &[1, 2, 3], START);
        evenly(&settle(&mut leases, &[2, 3, 1], at(60_000)));
    }

    proptest! {
        /// However nodes come, go, die and are late: no bundle is ever held by two, and soon each is held by one of an even
        /// share.
        #[test]
        fn nobody_holds_anothers_and_soon_all_are_shared(
            steps in proptest::collection::vec((0u64..9, 0u64..700, 0u8..10), 1..200),
        ) {
            let mut leases = Leases::default();
            let mut now = START;
            for (node, ms, what) in steps {
                now = now + Millis(ms);
                if what == 0 {
                    leases.give_up(node);
                } else {
                    leases.renew(node, now);
                }
                let held = leases.admitters.values().map(|admitter| admitter.holds);
                let sum: u32 = held.clone().map(BundleSet::len).sum();
                let all = held.fold(BundleSet::NONE, BundleSet::union);
                prop_assert_eq!(all.len(), sum);
            }
            let live: Vec<_> = (0..9).filter(|node| node % 2 == 0).collect();
            for _ in 0..6 {
                now = now + LEASE_RENEWED_EVERY;
                for node in &live {
                    leases.renew(*node, now);
                }
            }
            let held: Vec<_> = live.iter().map(|node| leases.renew(*node, now)).collect();
            evenly(&held);
        }
    }
}
