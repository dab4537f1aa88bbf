//! What everybody in a room is told: the line and the room's public view. Nothing of one person.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// Who the subject of a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// A signed visitor token that Jari issued.
    Anonymous,
    /// A short token that the tenant's server got for its user.
    Entry,
}

impl From<jari_ports::Identity> for Identity {
    fn from(identity: jari_ports::Identity) -> Self {
        match identity {
            jari_ports::Identity::Anonymous => Identity::Anonymous,
            jari_ports::Identity::Entry => Identity::Entry,
        }
    }
}

impl From<Identity> for jari_ports::Identity {
    fn from(identity: Identity) -> Self {
        match identity {
            Identity::Anonymous => jari_ports::Identity::Anonymous,
            Identity::Entry => jari_ports::Identity::Entry,
        }
    }
}

/// What the room as a whole is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineState {
    Open,
    /// Nobody is admitted for now; joining goes on.
    Paused,
    /// Before `opens_at`.
    NotOpen,
    Closed,
    SoldOut,
    /// The store lost some of the line's history, and it is being put together again: places are kept, positions are told
    /// again in half a minute at most.
    Recovering,
    /// Nobody needs a pass, and nobody is called; those who wait keep their places.
    Off,
}

impl From<&jari_line::Ledger> for LineState {
    fn from(ledger: &jari_line::Ledger) -> Self {
        use jari_line::Phase;
        match ledger.phase() {
            _ if ledger.is_recovering() => LineState::Recovering,
            Phase::NotOpen { .. } => LineState::NotOpen,
            Phase::Open => LineState::Open,
            Phase::Paused => LineState::Paused,
            Phase::SoldOut => LineState::SoldOut,
            Phase::Closed(_) => LineState::Closed,
            Phase::Off => LineState::Off,
        }
    }
}

/// Why estimates moved lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    Slowed,
    SpedUp,
    Resumed,
    Lull,
}

/// The operator's words to everybody in the room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoticeView {
    pub text: String,
    pub at: Utc,
}

/// The line, the same for everybody in the room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LineView {
    pub state: LineState,
    /// All places up to this number have been called.
    pub serving: u64,
    /// How many places have been called, ever.
    pub served: u64,
    /// People in line, not yet called.
    pub waiting: u64,
    /// Admissions per second that the pacer allows now.
    pub rate_per_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<NoticeView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopens_at: Option<Utc>,
    /// What people in a closed room are told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The room's name, by language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Title {
    pub ko: String,
    pub en: String,
}

/// A room as anybody may see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomView {
    pub room: String,
    pub title: Title,
    pub identity: Identity,
    pub line: Arc<LineView>,
    pub server_time: Utc,
}
