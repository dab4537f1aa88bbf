//! What operators watch: every room and limit group once a second, and the last minutes of each room. Steers nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::RoomStats;
use crate::{Identity, NoticeView, Title, Utc};

/// The data of a `stats` event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LiveFrame {
    pub at: Utc,
    /// When this node began to count: refusals, spans inside and history are from here on.
    pub counting_since: Utc,
    /// The last whole second, counted from `counting_since`: the one that the rooms' `did` tells of.
    pub second: u32,
    /// For how long the store has not answered; left out while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_down_ms: Option<u64>,
    /// Visitors' event streams open on this node.
    pub streams: u64,
    /// Operators' streams open on this node.
    pub operators: u64,
    /// Rises with each change that an operator makes on this node: a reason to read the audit trail again.
    pub changes: u64,
    /// In order of id.
    pub rooms: Vec<RoomLive>,
    /// In order of id.
    pub groups: Vec<GroupLive>,
}

/// A room as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomLive {
    #[serde(flatten)]
    pub stats: RoomStats,
    pub title: Title,
    pub identity: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Of the definition: rises with each change of it.
    pub version: u64,
    pub capacity: u64,
    pub max_waiting: u64,
    /// Admissions in all, then the room is sold out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admit_total: Option<u64>,
    pub pacer: PacerName,
    /// Paused by an operator, whatever else `state` says.
    pub paused: bool,
    /// Sold out by an operator, whatever else `state` says.
    pub sold_out: bool,
    /// Whether this node hears the room's events; else the numbers may be old.
    pub following: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<NoticeView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopens_at: Option<Utc>,
    /// What people in a closed room are told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When most of those next in turn were last found unheard of, since `counting_since`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass_absence_at: Option<Utc>,
    /// People who were blocked or allowed by name and whom the store has lost since `counting_since`: to be named again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<UnlistedView>,
    /// Visitors' calls refused since `counting_since`, by the code told.
    pub refused: BTreeMap<String, u64>,
    /// How long people stay inside, once enough have finished since `counting_since`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwell: Option<DwellView>,
    /// What happened in the frame's `second`.
    pub did: SecondView,
}

/// What decides the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacerName {
    Fixed,
    Aimd,
    Manual,
    Signal,
}

/// Times inside, as bounds: half of the people stay at most `half_ms`, nine in ten at most `most_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DwellView {
    pub count: u64,
    pub sum_ms: u64,
    pub half_ms: u64,
    pub most_ms: u64,
}

/// People that a store has lost from the lists of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnlistedView {
    /// Those who were lost, less those who were blocked or allowed since; never 0.
    pub people: u64,
    /// When the last of them were found to be lost, by the room's clock.
    pub at: Utc,
}

/// What happened in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecondView {
    pub joined: u32,
    pub admitted: u32,
    /// Passes used for the first time.
    pub claimed: u32,
    /// Passes that ended unclaimed.
    pub no_shows: u32,
    pub left: u32,
    /// Visitors' calls turned away: not the codes that only say "ask later" or "ask elsewhere".
    pub refused: u32,
    /// Claimed passes that ended, and the sum of their time inside.
    pub dwells: u32,
    pub dwell_ms: u32,
}

/// A limit group with the sums over its rooms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupLive {
    pub group: String,
    pub capacity: u64,
    pub rate_per_s: f64,
    pub burst: u64,
    /// In order of id.
    pub rooms: Vec<String>,
    pub live: u64,
    pub waiting: u64,
}

/// The last minutes of rooms, as columns of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryList {
    pub counting_since: Utc,
    /// When it was read: what is missing up to here was quiet.
    pub at: Utc,
    pub step_s: u32,
    /// In order of id.
    pub rooms: Vec<RoomHistory>,
}

/// One room's past. A step that is missing was quiet: counts as in the step before it, and nothing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoomHistory {
    pub room: String,
    /// Each step's last second in which anything changed, counted from `counting_since`.
    pub second: Vec<u32>,
    /// Counts after that second.
    pub waiting: Vec<u32>,
    pub live: Vec<u32>,
    /// Admissions per 1,000 seconds that the pacer allowed.
    pub rate_milli: Vec<u32>,
    /// Sums over the step.
    pub joined: Vec<u32>,
    pub admitted: Vec<u32>,
    pub claimed: Vec<u32>,
    pub no_shows: Vec<u32>,
    pub left: Vec<u32>,
    pub refused: Vec<u32>,
    pub dwells: Vec<u32>,
    pub dwell_ms: Vec<u32>,
}
