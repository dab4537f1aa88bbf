//! The keys that sign tokens for a tenant's sites, as operators see them. The private part is in no answer.

use jari_ports::SiteKey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteKeyView {
    /// `kid` of its tokens, and in `/.well-known/jwks.json`.
    pub id: String,
    pub created_at: Utc,
    /// It is shown from the start, and signs from here on until a newer one does.
    pub signs_from: Utc,
    /// From here on nothing that it signed is good; left out where that is not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Utc>,
    /// Whether tokens are signed with it now: with one of the tenant's keys, where it has any that is good.
    pub signs: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteKeyList {
    /// In order of creation, ended ones too.
    pub keys: Vec<SiteKeyView>,
}

impl SiteKeyView {
    #[must_use]
    pub fn new(key: &SiteKey, signs: bool) -> Self {
        SiteKeyView {
            id: key.id.clone(),
            created_at: key.created_at.into(),
            signs_from: key.signs_from.into(),
            ends_at: key.ends_at.map(Utc),
            signs,
        }
    }
}
