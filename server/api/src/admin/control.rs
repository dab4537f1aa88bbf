//! Bodies of an operator's live control of a room.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// Closes the room; those waiting keep their places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CloseRequest {
    /// When it opens again, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reopens_at: Option<Utc>,
    /// At most 1,000 bytes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Words to everybody in the room; an empty text takes them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnounceRequest {
    /// At most 1,000 bytes.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SoldOutRequest {
    pub sold_out: bool,
}

/// Whom to block, unblock, allow, disallow or revoke, 1 to 200. In anonymous rooms a subject is the visitor's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubjectsRequest {
    pub subjects: Vec<String>,
}

/// Whether anything changed: a repeated command changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    pub changed: bool,
}
