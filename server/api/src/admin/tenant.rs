//! Tenants on the wire.

use jari_ports::Tenant;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Rooms of a tenant where nothing is said: far above any organiser's, far below what would burden the others.
const ROOMS_MAX_DEFAULT: u64 = 100;

/// Whose rooms and keys they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantBody {
    /// For people, 1 to 100 bytes.
    pub name: String,
    /// Rooms at most, up to 100,000; those that are there stay.
    #[serde(default = "rooms_max_default")]
    pub rooms_max: u64,
    /// Joins that all its rooms together take in a minute, on each node; 0: no limit.
    #[serde(default)]
    pub joins_per_minute: u32,
    /// Entry tokens that it gets in a minute, on each node; 0: no limit.
    #[serde(default)]
    pub entries_per_minute: u32,
}

fn rooms_max_default() -> u64 {
    ROOMS_MAX_DEFAULT
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantView {
    pub tenant: String,
    pub name: String,
    pub rooms_max: u64,
    pub joins_per_minute: u32,
    pub entries_per_minute: u32,
    /// Rises with each write; `If-Match` names it.
    pub version: u64,
    /// Its rooms, in order of id.
    pub rooms: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TenantList {
    pub tenants: Vec<TenantView>,
}

impl TenantView {
    #[must_use]
    pub fn new(tenant: &Tenant, rooms: Vec<String>) -> Self {
        TenantView {
            tenant: tenant.id.to_string(),
            name: tenant.name.clone(),
            rooms_max: tenant.rooms_max,
            joins_per_minute: tenant.limits.joins_per_minute,
            entries_per_minute: tenant.limits.entries_per_minute,
            version: tenant.version,
            rooms,
        }
    }
}
