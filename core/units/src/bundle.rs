//! Bundles: the fixed number of parts that all rooms are divided into, so that who ticks what is said in a few bytes however
//! many rooms there are. Says nothing of who holds one.

use serde::{Deserialize, Serialize};

use crate::RoomId;
use crate::limits::BUNDLES;

/// One part of all rooms. A room's follows from its id alone, on every node and in every release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bundle(u8);

impl Bundle {
    /// The first one: its holder also does what one node has to do for all.
    pub const FIRST: Bundle = Bundle(0);

    /// The bundle that a room belongs to.
    #[must_use]
    pub fn of(room: &RoomId) -> Bundle {
        // FNV-1a, and the last mixing step of MurmurHash3, without which ids that differ in one digit would keep together.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in room.as_str().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
        Bundle((hash % u64::from(BUNDLES)) as u8)
    }

    fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Some of the bundles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BundleSet(u64);

const _: () = assert!(BUNDLES == u64::BITS, "a set of bundles is one word");

impl BundleSet {
    pub const NONE: BundleSet = BundleSet(0);
    pub const ALL: BundleSet = BundleSet(u64::MAX);

    #[must_use]
    pub fn contains(self, bundle: Bundle) -> bool {
        self.0 & bundle.bit() != 0
    }

    /// How many, 0 to `BUNDLES`.
    #[must_use]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub fn union(self, other: BundleSet) -> BundleSet {
        BundleSet(self.0 | other.0)
    }

    #[must_use]
    pub fn intersection(self, other: BundleSet) -> BundleSet {
        BundleSet(self.0 & other.0)
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(self, other: BundleSet) -> BundleSet {
        BundleSet(self.0 & !other.0)
    }

    /// The lowest `count` of them, or all where there are fewer.
    #[must_use]
    pub fn first(self, count: u32) -> BundleSet {
        let mut left = self.0;
        for _ in 0..count {
            // Clears the lowest one.
            left &= left.wrapping_sub(1);
        }
        BundleSet(self.0 & !left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(text: &str) -> RoomId {
        text.parse().expect("an id")
    }

    fn set_of(bundle: Bundle) -> BundleSet {
        BundleSet(bundle.bit())
    }

    /// Nodes of two releases that disagreed would tick some rooms twice and others never.
    #[test]
    fn a_rooms_bundle_is_the_same_in_every_release() {
        let told = ["shop", "a", "room-0001", "room-0002"].map(|id| Bundle::of(&room(id)).0);
        assert_eq!(told, [11, 27, 52, 63]);
    }

    #[test]
    fn rooms_spread_over_the_bundles() {
        for name in ["room-", "sale-2026-", "x"] {
            let mut counts = [0; BUNDLES as usize];
            for n in 0..10_000 {
                counts[usize::from(Bundle::of(&room(&format!("{name}{n}"))).0)] += 1;
            }
            let (fewest, most) = (counts.iter().min(), counts.iter().max());
            assert!(fewest > Some(&100) && most < Some(&220), "{name}: {counts:?}");
        }
    }

    #[test]
    fn sets_are_taken_apart_and_put_together() {
        let (one, other) = (set_of(Bundle(0)), set_of(Bundle(63)));
        let both = one.union(other);
        assert_eq!((both.len(), both.is_empty()), (2, false));
        assert!(both.contains(Bundle(63)) && !both.contains(Bundle(62)));
        assert_eq!(both.without(one), other);
        assert_eq!(both.intersection(one), one);
        assert_eq!([0, 1, 2, 9].map(|count| both.first(count)), [BundleSet::NONE, one, both, both]);
        assert_eq!(BundleSet::ALL.first(BUNDLES), BundleSet::ALL);
    }
}
