//! The names of a room's keys. All hold `{room}`: a room lives in one slot of a Cluster, and rooms spread over it.

use jari_units::{GroupId, RoomId};

/// What each key's name ends in, in the order in which the scripts' first part names KEYS.
const ENDINGS: [&str; 23] = [
    "s", "subj", "w", "p0", "p1", "o", "pass", "un", "cl", "marks", "block", "allow", "ev", "g",
    "t", "t2", "known", "shown", "held", "receipts", "free", "nodes", "landed",
];

/// A room's keys, all declared in every call.
#[derive(Clone, Debug)]
pub(crate) struct RoomKeys(Vec<String>);

impl RoomKeys {
    pub(crate) fn new(prefix: &str, room: &RoomId) -> Self {
        RoomKeys(ENDINGS.iter().map(|ending| format!("{prefix}:{{{room}}}:{ending}")).collect())
    }

    pub(crate) fn all(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn get(&self, ending: &str) -> &str {
        let at = ENDINGS.iter().position(|known| *known == ending);
        &self.0[at.expect("callers name an ending of the list")]
    }

    /// The room's events, and the channel that tells of them.
    pub(crate) fn events(&self) -> &str {
        self.get("ev")
    }
}

/// A limit group's only key. No room's id holds a colon, so the two never meet.
pub(crate) fn group(prefix: &str, group: &GroupId) -> String {
    format!("{prefix}:{{group:{group}}}")
}

/// When each room wants its next tick, and of which event that is news. In a slot of its own: no room's id begins with a
/// colon.
pub(crate) fn due(prefix: &str) -> [String; 2] {
    ["at", "as_of"].map(|ending| format!("{prefix}:{{:due}}:{ending}"))
}

/// Which node ticks which rooms. In the slot of the index that ticks follow: where the one is away, so is the other.
pub(crate) fn leases(prefix: &str) -> String {
    format!("{prefix}:{{:due}}:admitters")
}

/// Where a node tries whether it may write. In a slot of its own.
pub(crate) fn probe(prefix: &str) -> String {
    format!("{prefix}:{{:probe}}")
}

/// The same where a room lies. None of the room's own keys: it comes and goes by itself.
pub(crate) fn reach(prefix: &str, room: &RoomId) -> String {
    format!("{prefix}:{{{room}}}:reach")
}

/// What tells these lines from those of another prefix or server. In a slot of its own.
pub(crate) fn identity(prefix: &str) -> String {
    format!("{prefix}:{{:identity}}")
}

/// Every room that was ever made.
pub(crate) fn rooms(prefix: &str) -> String {
    format!("{prefix}:rooms")
}
