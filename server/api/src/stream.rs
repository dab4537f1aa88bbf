//! Data of stream events that are not a view of their own. The frames are written by the stream's handler.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Nothing to tell but the event itself: `admitted`, `ended`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Empty {}

/// The server is going away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reconnect {
    /// Come back after this, spread out over everybody.
    pub after_ms: u64,
}
