//! Bodies of the tenant's API: entry tokens, admission by hand, and how the site is doing.

use jari_line::Load;
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

/// How the site is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    pub level: LoadLevel,
    /// The word counts for so long, 1,000 to 300,000: a site that falls silent stops counting.
    #[serde(default = "said_for_ms")]
    pub for_ms: u64,
}

/// A site that speaks every second or two may miss a few.
fn said_for_ms() -> u64 {
    10_000
}

/// A site's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadLevel {
    /// It could take more.
    Ok,
    /// It has what it can take.
    Busy,
    /// It has too much.
    Overloaded,
}

impl From<LoadLevel> for Load {
    fn from(level: LoadLevel) -> Self {
        match level {
            LoadLevel::Ok => Load::Ok,
            LoadLevel::Busy => Load::Busy,
            LoadLevel::Overloaded => Load::Overloaded,
        }
    }
}

impl From<Load> for LoadLevel {
    fn from(load: Load) -> Self {
        match load {
            Load::Ok => LoadLevel::Ok,
            Load::Busy => LoadLevel::Busy,
            Load::Overloaded => LoadLevel::Overloaded,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SignalAnswer {
    /// Admissions per second that the pacer allows now; what was said counts with the next tick.
    pub rate_per_s: f64,
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
