//! API keys and the audit trail on the wire. A key itself is in the answer to its creation only.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiKeyScope {
    /// Everything in the installation.
    Admin,
    /// The tenant's own rooms.
    Tenant,
}

impl From<jari_ports::ApiKeyScope> for ApiKeyScope {
    fn from(scope: jari_ports::ApiKeyScope) -> Self {
        match scope {
            jari_ports::ApiKeyScope::Admin => ApiKeyScope::Admin,
            jari_ports::ApiKeyScope::Tenant => ApiKeyScope::Tenant,
        }
    }
}

impl From<ApiKeyScope> for jari_ports::ApiKeyScope {
    fn from(scope: ApiKeyScope) -> Self {
        match scope {
            ApiKeyScope::Admin => jari_ports::ApiKeyScope::Admin,
            ApiKeyScope::Tenant => jari_ports::ApiKeyScope::Tenant,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApiKeyBody {
    /// Left out: the calling key's tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub scope: ApiKeyScope,
    /// For people: whose key it is, at most 100 bytes.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyView {
    pub id: String,
    pub tenant: String,
    pub scope: ApiKeyScope,
    pub name: String,
    pub created_at: Utc,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Utc>,
    /// From here on it is refused: another one has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Utc>,
}

/// Another key takes this one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateBody {
    /// For so long the old one stays good beside it, up to 30 days; 0: it ends now. Left out: a day.
    #[serde(default = "overlap_default")]
    pub overlap_ms: u64,
}

/// Where nothing is said: every server of a site is deployed within a day.
const OVERLAP_DEFAULT_MS: u64 = 24 * 3_600_000;

fn overlap_default() -> u64 {
    OVERLAP_DEFAULT_MS
}

impl Default for RotateBody {
    fn default() -> Self {
        RotateBody { overlap_ms: OVERLAP_DEFAULT_MS }
    }
}

/// The only time the key itself is told. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyCreated {
    pub id: String,
    pub key: String,
}

impl std::fmt::Debug for ApiKeyCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiKeyCreated {{ id: {:?}, key: redacted }}", self.id)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeyList {
    /// In order of creation, revoked ones too.
    pub keys: Vec<ApiKeyView>,
}

impl From<&jari_ports::ApiKey> for ApiKeyView {
    fn from(key: &jari_ports::ApiKey) -> Self {
        ApiKeyView {
            id: key.id.clone(),
            tenant: key.tenant.to_string(),
            scope: key.scope.into(),
            name: key.name.clone(),
            created_at: key.created_at.into(),
            last_used_at: key.last_used_at.map(Utc),
            revoked_at: key.revoked_at.map(Utc),
            expires_at: key.expires_at.map(Utc),
        }
    }
}

/// One thing that an operator or tenant did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntryView {
    pub no: u64,
    pub at: Utc,
    /// `key:<id>`, or `system`.
    pub actor: String,
    pub action: String,
    pub target: String,
    /// What was and what is, as JSON; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub before: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub after: Option<serde_json::Value>,
    /// The hash of the entry before, in hex; zeros for the first.
    pub prev_hash: String,
    /// This entry's own: SHA-256 over it and the hash before.
    pub hash: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPageView {
    /// Newest first.
    pub entries: Vec<AuditEntryView>,
    /// Pass as `before_no` to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before_no: Option<u64>,
}

impl From<jari_ports::ChainedEntry> for AuditEntryView {
    fn from(jari_ports::ChainedEntry { entry, link }: jari_ports::ChainedEntry) -> Self {
        let json = |text: &str| serde_json::from_str(text).ok();
        AuditEntryView {
            no: entry.no,
            at: entry.at.into(),
            before: json(&entry.before),
            after: json(&entry.after),
            actor: entry.actor,
            action: entry.action,
            target: entry.target,
            prev_hash: link.prev_hash.to_string(),
            hash: link.hash.to_string(),
        }
    }
}
