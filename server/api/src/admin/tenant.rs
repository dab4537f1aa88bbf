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
    /// Where visitors of its rooms may be led back to, beside the rooms' own targets: an origin and a folder,
    /// `https://shop.example/tickets`; http on loopback only. At most 32, of 512 bytes each.
    #[serde(default)]
    pub return_urls: Vec<String>,
    /// Whose pages may call the visitors' API of its rooms from browsers: exact origins, `https://app.example`. At most 32.
    #[serde(default)]
    pub cors_origins: Vec<String>,
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
    pub return_urls: Vec<String>,
    pub cors_origins: Vec<String>,
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
            return_urls: tenant.return_urls.iter().map(ToString::to_string).collect(),
            cors_origins: tenant.cors_origins.iter().map(ToString::to_string).collect(),
            version: tenant.version,
            rooms,
        }
    }
}
