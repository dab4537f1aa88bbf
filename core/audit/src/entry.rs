//! One entry of the trail. How it is chained is `chain`.

use jari_units::Timestamp;

/// One thing that an operator or tenant did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditEntry {
    /// Given by the store: 1, 2, 3, ... What a write brings along is not looked at.
    pub no: u64,
    pub at: Timestamp,
    /// Whose key: `key:<id>`, or `system`.
    pub actor: String,
    /// `room.create`, `room.pause`, ...
    pub action: String,
    /// `room:<id>`, `group:<id>`, `key:<id>`, `signing-key:<id>`, or `audit` for the trail itself.
    pub target: String,
    /// What was and what is, as JSON texts; empty where there is none. Never a secret.
    pub before: String,
    pub after: String,
}
