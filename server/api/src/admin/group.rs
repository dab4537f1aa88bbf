//! Limit groups on the wire.

use jari_line::GroupSettings;
use jari_ports::LimitGroup;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::{NumberError, rate_milli, rate_per_s};

/// What the server behind several rooms can take in all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupBody {
    /// Live passes over all rooms at most.
    pub capacity: u64,
    /// Admissions per second over all rooms, to a thousandth: 0, or 0.001 and more.
    pub rate_per_s: f64,
    /// Admissions that may come at once after a quiet time.
    pub burst: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    pub group: String,
    pub capacity: u64,
    pub rate_per_s: f64,
    pub burst: u64,
    /// Rises with each write; `If-Match` names it.
    pub version: u64,
    /// Its rooms, in order of id.
    pub rooms: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupList {
    pub groups: Vec<GroupView>,
}

impl GroupBody {
    /// # Errors
    /// [`NumberError`] for a rate that is no rate.
    pub fn to_settings(&self) -> Result<GroupSettings, NumberError> {
        Ok(GroupSettings {
            capacity: self.capacity,
            rate_milli: rate_milli(self.rate_per_s)?,
            burst: self.burst,
        })
    }
}

impl GroupView {
    #[must_use]
    pub fn new(group: &LimitGroup, rooms: Vec<String>) -> Self {
        GroupView {
            group: group.id.to_string(),
            capacity: group.settings.capacity,
            rate_per_s: rate_per_s(group.settings.rate_milli),
            burst: group.settings.burst,
            version: group.version,
            rooms,
        }
    }
}
