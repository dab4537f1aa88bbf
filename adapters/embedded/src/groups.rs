//! Limit groups in memory: one round of grants for all member rooms, handed out as each of them ticks.

use std::collections::BTreeMap;

use jari_line::{Group, GroupGrant, GroupSettings, Room, RoomReport};
use jari_units::{RoomId, Timestamp};

use crate::journal::StoredGroup;

/// A limit group, its members and the grants of this round that no tick has used yet.
///
/// One room asking alone would take all that is free before the next one asks. So a room that ticks starts a round in
/// which every member gets its share, and the others find theirs when they tick. Grants not used by the next round are
/// lost, as the two-step protocol allows; so they need no journal.
#[derive(Debug)]
pub(crate) struct MemberedGroup {
    pub(crate) stored: StoredGroup,
    waiting: BTreeMap<RoomId, GroupGrant>,
}

impl MemberedGroup {
    pub(crate) fn new(settings: GroupSettings, now: Timestamp) -> Self {
        let group = Group::new(settings, now);
        MemberedGroup::from_stored(StoredGroup { group, members: Vec::new() })
    }

    pub(crate) fn from_stored(stored: StoredGroup) -> Self {
        MemberedGroup { stored, waiting: BTreeMap::new() }
    }

    pub(crate) fn has(&self, room: &RoomId) -> bool {
        self.stored.members.contains(room)
    }

    /// Takes a room out; its passes no longer count.
    pub(crate) fn release(&mut self, room: &RoomId) {
        self.stored.group.release(room);
        self.waiting.remove(room);
    }

    /// The grant for `room`'s tick at `now`; whether the group changed for it. `rooms` are the members that exist.
    pub(crate) fn grant(
        &mut self,
        room: &RoomId,
        now: Timestamp,
        rooms: &[(&RoomId, &Room)],
    ) -> (Option<GroupGrant>, bool) {
        if let Some(grant) = self.waiting.remove(room) {
            return (Some(grant), false);
        }
        let reports: Vec<_> = rooms.iter().map(|(id, room)| report(id, room)).collect();
        let grants = self.stored.group.grant(now, &reports);
        let members = reports.into_iter().map(|report| report.room);
        self.waiting = members.zip(grants).collect();
        (self.waiting.remove(room), true)
    }
}

fn report(id: &RoomId, room: &Room) -> RoomReport {
    let ledger = room.ledger();
    // A room that admits nobody now would only waste the admissions lent to it.
    RoomReport {
        room: id.clone(),
        used_grant: ledger.last_grant_no(),
        live_quota: ledger.live_quota(),
        live: ledger.live_at_most(),
        wants: if ledger.admits() { ledger.callable() } else { 0 },
        recovering: ledger.is_recovering(),
    }
}
