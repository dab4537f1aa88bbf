//! Bodies of the visitor's API: one person's place, pass and estimate.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{LineView, Utc};

/// An anonymous identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VisitorCreated {
    pub visitor_token: String,
    pub expires_at: Utc,
}

/// The body of a join; may be left out where cookies or headers say who is asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// An entry token, in rooms that want one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The solution of a challenge, in rooms that want one: what an ALTCHA client makes of `GET .../challenge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altcha: Option<String>,
}

/// A piece of work, as ALTCHA's proof-of-work v2 has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChallengeView {
    /// `algorithm`, `cost`, `nonce`, `salt`, `keyPrefix` and the rest, and in `data` what the challenge is for: `room`,
    /// `visitor`, `difficulty` (tries at most). A solution hands them back as they came.
    #[schema(value_type = Object)]
    pub parameters: Map<String, Value>,
    pub signature: String,
}

/// Where a place stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceStatus {
    /// In line.
    Waiting,
    /// Called while away, heard from again: first in turn.
    Next,
    /// Called while away, not heard from again yet.
    Absent,
    /// Has a pass.
    Admitted,
    /// No place any more; join again for a new one.
    Ended,
}

/// How long the wait may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EstimateView {
    pub low_ms: u64,
    pub high_ms: u64,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoEstimate {
    NotOpen,
    Paused,
    Closed,
    Unknown,
}

/// The right to be inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PassView {
    pub token: String,
    pub expires_at: Utc,
    /// Until it ends if nobody uses it.
    pub remaining_ms: u64,
    /// Whether it was used already.
    pub claimed: bool,
    /// Where to go with it.
    pub target_url: String,
}

/// One person's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlaceView {
    pub room: String,
    pub status: PlaceStatus,
    pub seq: u64,
    /// Only while waiting; 1 is next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// How many wait behind; only while waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    pub line: Arc<LineView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_estimate: Option<NoEstimate>,
    /// Ask again after this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_after_ms: Option<u64>,
    /// Whether a stream would be accepted.
    #[serde(default)]
    pub stream: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place_token: Option<String>,
    /// Opens one stream where cookies and headers cannot travel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_key: Option<String>,
    /// Of a join with an entry token: proves the same identity for as long as the wait lasts (`Jari-Visitor`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visitor_token: Option<String>,
    /// Only while admitted, and only for who may have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassView>,
    /// Nobody is held up now: go there. The place is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub go_to: Option<String>,
    pub server_time: Utc,
}

impl PlaceView {
    /// Turns a view of a place in line into one of an admitted place: what only a waiting place has goes.
    pub fn admit(&mut self) {
        self.status = PlaceStatus::Admitted;
        (self.position, self.behind) = (None, None);
        (self.estimate, self.no_estimate) = (None, None);
    }
}
