//! Numbers that order a room's history: places, events, incarnations, and the mark a caller carries.

use serde::{Deserialize, Serialize};

/// A place's number in its room: starts at 1, given once, never reused, strictly increasing, below 2^53
/// (so that JSON numbers and Redis scores hold it exactly).
pub type Seq = u64;

/// How many state-changing operations a room has seen in this incarnation.
pub type EventNo = u64;

/// One unbroken history of a room: milliseconds at creation, raised above every mark seen.
pub type Incarnation = u64;

/// A node, by a number drawn anew at each of its starts.
pub type NodeId = u64;

/// What a caller knows of a room's history. A store that is behind it has lost history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    pub incarnation: Incarnation,
    pub event_no: EventNo,
    pub next_seq: Seq,
}

impl Mark {
    /// The mark of a caller that knows nothing yet.
    pub const NONE: Mark = Mark { incarnation: 0, event_no: 0, next_seq: 0 };

    /// Whether a store standing at `self` has lost history that a caller at `caller` has seen.
    #[must_use]
    pub fn is_behind(&self, caller: &Mark) -> bool {
        match self.incarnation.cmp(&caller.incarnation) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                self.event_no < caller.event_no || self.next_seq < caller.next_seq
            }
        }
    }
}

/// A pass: the place it was granted to, and which of its at most two grants it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PassId {
    pub incarnation: Incarnation,
    pub seq: Seq,
    /// 1 for the first call of a place, 2 for its second chance.
    pub grant: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_behind_when_any_number_it_gave_is_gone() {
        let at = |incarnation, event_no, next_seq| Mark { incarnation, event_no, next_seq };
        let store = at(7, 10, 5);
        for (caller, behind) in [
            (Mark::NONE, false),
            (at(7, 10, 5), false),
            (at(7, 9, 5), false),
            (at(7, 11, 5), true),
            (at(7, 10, 6), true),
            (at(6, 99, 99), false),
            (at(8, 0, 1), true),
        ] {
            assert_eq!(store.is_behind(&caller), behind, "{caller:?}");
        }
    }
}
