//! The look at all rooms: as a point of their past, and as the frame that operators get. Keeps nothing.

use std::sync::Arc;

use jari_api::Title;
use jari_api::admin::{
    DwellView, GroupLive, LiveFrame, PacerName, RoomLive, RoomStats, UnlistedView, rate_per_s,
};
use jari_line::{GroupSettings, PacerKind};
use jari_units::GroupId;

use super::history::{Look, Sums};
use crate::directory::RoomEntry;
use crate::room::{Live, RoomRuntime};
use crate::state::AppState;

/// Stays that must have ended before their spread is told: fewer say little.
const DWELLS_MIN: u64 = 10;

/// Adds the second that ends now to the rooms' pasts.
pub(super) fn note_second(state: &AppState) {
    let entries = state.rooms.list();
    let (feed, now) = (&state.operator_feed, state.clock.now());
    let looks = entries.iter().filter_map(|entry| {
        let new = entry.definition().created_at >= feed.since;
        entry.loaded().map(|room| look(room, new))
    });
    let looks = looks.collect();
    let now_s = u32::try_from(now.since(feed.since).0 / 1_000).unwrap_or(u32::MAX);
    feed.book.lock().note(now_s, now, looks);
}

fn look(room: &RoomRuntime, new: bool) -> Look {
    let turned_away = room.counts().turned_away();
    room.read(|live| {
        let ledger = live.ledger();
        Look {
            room: room.id().clone(),
            new,
            recovering: ledger.is_recovering(),
            waiting: ledger.waiting(),
            live: ledger.passes().live(),
            rate_milli: ledger.rate_milli(),
            sums: Sums { totals: *ledger.totals(), turned_away },
        }
    })
}

/// Everything that operators see at a glance. A room that nobody used on this node comes once it was read.
pub(super) fn live(state: &AppState) -> LiveFrame {
    let feed = &state.operator_feed;
    let entries = state.rooms.list();
    let rooms: Vec<RoomLive> =
        entries.iter().filter_map(|entry| Some(room(state, entry, entry.loaded()?))).collect();
    let limits = state.rooms.try_groups().unwrap_or_else(|| feed.groups.lock().clone());
    let groups = limits.iter().map(|(id, limits)| group(id, limits, &rooms)).collect();
    *feed.groups.lock() = limits;
    LiveFrame {
        at: state.clock.now().into(),
        counting_since: feed.since.into(),
        second: feed.book.lock().now_s(),
        store_down_ms: state.store_health.down_for().map(|span| span.as_millis() as u64),
        streams: state.stream_slots.open(),
        operators: feed.operators(),
        // To lines, and to definitions and keys: on any node.
        changes: feed.changes.load(std::sync::atomic::Ordering::Relaxed) + state.changes.seen(),
        rooms,
        groups,
    }
}

fn room(state: &AppState, entry: &RoomEntry, room: &Arc<RoomRuntime>) -> RoomLive {
    let definition = entry.definition();
    let (did, mass_absence_at) = state.operator_feed.book.lock().last(room.id());
    let unlisted = room.counts().unlisted.told();
    let dwell = room.counts().dwell().filter(|dwell| dwell.count >= DWELLS_MIN);
    let told = |live: &Live| {
        let (ledger, line) = (live.ledger(), live.line());
        let (settings, control) = (ledger.settings(), ledger.control());
        RoomLive {
            stats: RoomStats::new(room.id(), ledger),
            title: Title { ko: definition.title_ko.clone(), en: definition.title_en.clone() },
            identity: definition.identity.into(),
            group: definition.group.as_ref().map(ToString::to_string),
            version: definition.version,
            capacity: settings.capacity,
            max_waiting: settings.max_waiting,
            admit_total: settings.admit_total,
            pacer: match settings.pacer {
                PacerKind::Fixed => PacerName::Fixed,
                PacerKind::Aimd(_) => PacerName::Aimd,
                PacerKind::Manual => PacerName::Manual,
                PacerKind::Signal(_) => PacerName::Signal,
            },
            paused: control.paused,
            sold_out: control.sold_out,
            following: room.is_following(),
            notice: line.notice.clone(),
            opens_at: line.opens_at,
            reopens_at: line.reopens_at,
            message: line.message.clone(),
            mass_absence_at: mass_absence_at.map(Into::into),
            unlisted: unlisted.map(|lost| UnlistedView { people: lost.people, at: lost.at.into() }),
            refused: room.counts().refused_by_code(),
            dwell: dwell.map(|dwell| DwellView {
                count: dwell.count,
                sum_ms: dwell.sum.0,
                half_ms: dwell.half.0,
                most_ms: dwell.most.0,
            }),
            did,
        }
    };
    room.read(told)
}

fn group(id: &GroupId, limits: &GroupSettings, rooms: &[RoomLive]) -> GroupLive {
    let members = || rooms.iter().filter(|room| room.group.as_deref() == Some(id.as_str()));
    GroupLive {
        group: id.to_string(),
        capacity: limits.capacity,
        rate_per_s: rate_per_s(limits.rate_milli),
        burst: limits.burst,
        rooms: members().map(|room| room.stats.room.clone()).collect(),
        live: members().map(|room| room.stats.live).sum(),
        waiting: members().map(|room| room.stats.waiting).sum(),
    }
}
