//! Bodies of the calls on passes, by which a site looks after those who are inside; and the key set of their tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// What a visitor showed: the one-time token of a landing, or the pass token of an app.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    pub token: String,
    /// Of a one-time token, 8 to 128 bytes: new for each landing, and the same where this call is repeated. A pass token needs
    /// none, and is refused with one in a room that hands tokens over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The room that the page is behind: a token of another one is refused. Left out: any of the tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
}

impl std::fmt::Debug for VerifyRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifyRequest").field("room", &self.room).finish_non_exhaustive()
    }
}

/// A good pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifiedPass {
    /// The pass's name for as long as it lives: for `touch`, `extend` and `end`.
    pub pass: String,
    pub room: String,
    /// The room's own name for the person, 32 hex digits: the same at each visit, unrelated to any other room's.
    pub subject: String,
    pub seq: u64,
    /// It ends here unless it is touched.
    pub expires_at: Utc,
    pub remaining_ms: u64,
}

/// Passes by name, 1 to 500; a pass token names one too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassesRequest {
    pub passes: Vec<String>,
}

/// How a pass stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassStatus {
    /// It is good.
    Live,
    /// It is not good any more, or was ended just now.
    Ended,
    /// The line is being restored: ask again in a moment, and let its owner stay meanwhile.
    Recovering,
    /// No pass of a room of this tenant.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassState {
    /// As it was named in the call.
    pub pass: String,
    pub status: PassStatus,
    /// Of a live one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassesAnswer {
    /// One for each of the call's, in its order.
    pub passes: Vec<PassState>,
}

/// Its owner is paying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    pub pass: String,
    /// For so long from now the pass does not end by itself; 1 to 900,000, and 15 minutes in all from the first such call.
    pub span_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExtendAnswer {
    pub pass: String,
    /// False once all of the 15 minutes are used up: it ends as it would have.
    pub extended: bool,
    pub expires_at: Utc,
    pub remaining_ms: u64,
}

/// A public key (RFC 7517, RFC 8037).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PublicKey {
    /// `OKP`
    pub kty: String,
    /// `Ed25519`
    pub crv: String,
    pub x: String,
    pub kid: String,
    /// `sig`
    #[serde(rename = "use")]
    pub usage: String,
    /// `EdDSA`
    pub alg: String,
}

/// Every key whose tokens are good, of all tenants: a token's `aud` says whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeySet {
    pub keys: Vec<PublicKey>,
}
