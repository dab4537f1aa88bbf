//! Counts of a room for its operator, taken from a replica.

use jari_line::{Busy, Ledger, Queueing};
use jari_units::RoomId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::{ModeName, rate_per_s};
use crate::{LineState, LoadLevel, Utc};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomStats {
    pub room: String,
    pub state: LineState,
    /// The last tick's time.
    pub now: Utc,
    pub waiting: u64,
    pub absent: u64,
    /// Good passes, used or not.
    pub live: u64,
    pub claimed: u64,
    pub serving: u64,
    pub served: u64,
    pub rate_per_s: f64,
    pub mode: ModeName,
    /// Of an `auto` room that queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing: Option<QueueingView>,
    /// The worst that is said of the site now, where the pacer heeds signals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_load: Option<LoadLevel>,
    /// Silence counts for nothing at the moment.
    pub lull: bool,
    pub joined_total: u64,
    pub admitted_total: u64,
    pub claimed_total: u64,
    /// Passes that ended unused; a place has two at most.
    pub no_shows_total: u64,
    /// Places passed over while nobody was there.
    pub absent_total: u64,
    /// Of those, got their first pass after all. A second chance after an unused pass is none.
    pub returned_total: u64,
    pub left_total: u64,
    pub mass_absences_total: u64,
    /// Mean time inside, once someone has finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwell_mean_ms: Option<u64>,
}

/// Since when an `auto` room queues, and what began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueingView {
    pub since: Utc,
    pub why: QueueReason,
}

/// What makes an `auto` room queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueReason {
    /// Enough people are inside.
    Live,
    /// Many come at once.
    Arrivals,
    /// Somebody who was there could not be let in with the tick.
    Line,
}

impl From<Queueing> for QueueingView {
    fn from(queueing: Queueing) -> Self {
        let why = match queueing.why {
            Busy::Live => QueueReason::Live,
            Busy::Arrivals => QueueReason::Arrivals,
            Busy::Line => QueueReason::Line,
        };
        QueueingView { since: queueing.since.into(), why }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatsList {
    pub rooms: Vec<RoomStats>,
}

impl RoomStats {
    #[must_use]
    pub fn new(room: &RoomId, ledger: &Ledger) -> Self {
        let totals = ledger.totals();
        RoomStats {
            room: room.to_string(),
            state: ledger.into(),
            now: ledger.clocks().now.into(),
            waiting: ledger.waiting(),
            absent: ledger.absent(),
            live: ledger.passes().live(),
            claimed: ledger.passes().claimed_count(),
            serving: ledger.serving(),
            served: ledger.served(),
            rate_per_s: rate_per_s(ledger.rate_milli()),
            mode: ledger.settings().mode.into(),
            queueing: ledger.queueing().map(QueueingView::from),
            site_load: ledger.worst_word().map(LoadLevel::from),
            lull: ledger.in_lull(),
            joined_total: totals.joined,
            admitted_total: totals.admitted,
            claimed_total: totals.claimed,
            no_shows_total: totals.no_shows,
            absent_total: totals.absent,
            returned_total: totals.returned,
            left_total: totals.left,
            mass_absences_total: totals.mass_absences,
            dwell_mean_ms: totals.dwell_ms.checked_div(totals.dwells),
        }
    }
}
