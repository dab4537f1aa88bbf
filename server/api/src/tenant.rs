//! Bodies of the tenant's API: entry tokens and admission by hand.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// Names the tenant's user who is to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryRequest {
    /// 1 to 256 bytes; the same text is the same person.
    pub subject: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryCreated {
    pub entry_token: String,
    pub expires_at: Utc,
}

/// Exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdmitRequest {
    /// The next in turn, 1 to 200, within the room's capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// These, 1 to 200, wherever they are in line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subjects: Option<Vec<String>>,
}

/// `called` answers `count`, `granted` answers `subjects`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AdmitAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<u64>,
    /// Most of the next in turn were not heard from lately, so nobody was called; asked again, the present are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mass_absence: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Vec<Granted>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Granted {
    pub subject: String,
    /// Whether they have a pass now; false for the blocked.
    pub pass: bool,
}
