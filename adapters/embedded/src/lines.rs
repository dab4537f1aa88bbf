//! All rooms and limit groups in memory, and what the present batch will write of them. Only the writer thread has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jari_line::{
    AdmitOutcome, Done, Group, GroupGrant, GroupSettings, Loss, LostHistory, RecoverOutcome, Room,
    RoomEvent, Settings, StoreClock,
};
use jari_ports::{Clock, Reply, StoreError};
use jari_units::{EventNo, GroupId, Incarnation, Mark, RoomId, Timestamp};

use crate::agenda::Agenda;
use crate::feed::{Feed, Subscription};
use crate::groups::MemberedGroup;
use crate::journal::{Draft, RoomRow};
use crate::stats::JournalAhead;

/// A room, its subscribers, and what its journal has grown by since the last checkpoint.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) room: Room,
    pub(crate) feed: Feed,
    pub(crate) since: Growth,
    /// Bytes of the last checkpoint.
    pub(crate) checkpoint_bytes: u64,
    /// Earlier histories whose rows the present one goes on from, until a checkpoint covers them.
    pub(crate) ancestors: Vec<Incarnation>,
}

/// Journal rows of a room that its checkpoint does not cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Line {
    pub(crate) fn new(room: Room) -> Self {
        let mark = room.mark();
        let feed = Feed::new(mark.incarnation, mark.event_no);
        Line { room, feed, since: Growth::default(), checkpoint_bytes: 0, ancestors: Vec::new() }
    }
}

#[derive(Debug)]
pub(crate) struct Lines {
    rooms: BTreeMap<RoomId, Line>,
    groups: BTreeMap<GroupId, MemberedGroup>,
    /// The last incarnation of each deleted room.
    buried: BTreeMap<RoomId, Incarnation>,
    agenda: Agenda,
    clock: Arc<dyn Clock>,
    time: StoreClock,
    draft: Draft,
    changed_groups: BTreeSet<GroupId>,
}

/// What a restart or a recovery read from the disk.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) rooms: BTreeMap<RoomId, Line>,
    pub(crate) groups: BTreeMap<GroupId, MemberedGroup>,
    pub(crate) buried: BTreeMap<RoomId, Incarnation>,
}

impl Stored {
    fn newest_time(&self) -> Timestamp {
        let times = self.rooms.values().map(|line| line.room.ledger().clocks().now);
        times.max().unwrap_or_default()
    }
}

impl Lines {
    pub(crate) fn new(stored: Stored, clock: Arc<dyn Clock>) -> Self {
        let time = StoreClock::resume(stored.newest_time());
        let Stored { rooms, groups, buried } = stored;
        let (draft, changed_groups) = (Draft::default(), BTreeSet::new());
        let agenda = agenda_of(&rooms);
        Lines { rooms, groups, buried, agenda, clock, time, draft, changed_groups }
    }

    /// Puts what the disk holds in the place of memory that is ahead of it. Subscribers go on where nothing they were
    /// told was lost; the clock goes on.
    pub(crate) fn replace(&mut self, stored: Stored) {
        let mut old = std::mem::replace(&mut self.rooms, stored.rooms);
        for (id, line) in &mut self.rooms {
            let stands_at = (line.feed.incarnation(), line.feed.newest());
            if let Some(before) = old.remove(id)
                && (before.feed.incarnation(), before.feed.newest()) == stands_at
            {
                line.feed = before.feed;
            }
        }
        self.agenda = agenda_of(&self.rooms);
        self.groups = stored.groups;
        self.buried = stored.buried;
        self.draft = Draft::default();
        self.changed_groups.clear();
    }

    /// What the batch so far will write.
    pub(crate) fn take_draft(&mut self) -> Draft {
        let mut draft = std::mem::take(&mut self.draft);
        for id in std::mem::take(&mut self.changed_groups) {
            if let Some(group) = self.groups.get(&id) {
                draft.groups.push((id, group.stored.clone()));
            }
        }
        draft
    }

    pub(crate) fn line(&mut self, id: &RoomId) -> Option<&mut Line> {
        self.rooms.get_mut(id)
    }

    fn now(&mut self) -> Timestamp {
        self.time.read(self.clock.now())
    }

    fn known(&mut self, id: &RoomId) -> Result<&mut Line, StoreError> {
        self.rooms.get_mut(id).ok_or_else(|| StoreError::UnknownRoom(id.clone()))
    }

    /// Runs one operation of the core on a room and notes its event.
    pub(crate) fn on_room<T>(
        &mut self,
        id: &RoomId,
        operation: impl FnOnce(&mut Room) -> Result<Done<T>, LostHistory>,
    ) -> Result<Reply<T>, StoreError> {
        let room = &mut self.known(id)?.room;
        let Done { outcome, mark, event } = operation(room)?;
        let next = room.ledger().next_tick();
        self.agenda.set(id, next);
        self.draft.events.extend(event.map(|event| (id.clone(), event)));
        Ok(Reply { outcome, mark })
    }

    /// Rooms that want a tick now.
    pub(crate) fn due(&mut self) -> Vec<RoomId> {
        let now = self.now();
        self.agenda.due(now)
    }

    pub(crate) fn create(&mut self, id: &RoomId, settings: Settings) -> Reply<bool> {
        if let Some(line) = self.rooms.get(id) {
            return Reply { outcome: false, mark: line.room.mark() };
        }
        let now = self.now();
        let above = self.buried.remove(id).unwrap_or(0);
        let Done { outcome: room, mark, event } = Room::create(settings, now, above);
        self.begin(id, Line::new(room), mark.incarnation, event);
        Reply { outcome: true, mark }
    }

    pub(crate) fn recover(
        &mut self,
        id: &RoomId,
        settings: Settings,
        loss: &Loss,
    ) -> Reply<RecoverOutcome> {
        let now = self.now();
        let Some(line) = self.rooms.get_mut(id) else {
            let above = self.buried.remove(id).unwrap_or(0);
            let Done { outcome: room, mark, event } =
                Room::recover_lost(loss, settings, now, above);
            self.begin(id, Line::new(room), mark.incarnation, event);
            return Reply { outcome: RecoverOutcome::Began, mark };
        };
        let before = line.room.mark().incarnation;
        let Done { outcome, mark, event } = line.room.recover(loss, settings, now);
        if outcome == RecoverOutcome::Began
            && let Some(mut line) = self.rooms.remove(id)
        {
            line.ancestors.push(before);
            self.begin(id, line, mark.incarnation, event);
        }
        Reply { outcome, mark }
    }

    /// Older files were put in place of newer ones.
    pub(crate) fn recover_all(&mut self) {
        let rooms = self.rooms.iter();
        let all: Vec<_> =
            rooms.map(|(id, line)| (id.clone(), line.room.ledger().settings().clone())).collect();
        for (id, settings) in all {
            self.recover(&id, settings, &Loss::Declared);
        }
    }

    /// What was written before anybody could subscribe needs no publishing.
    pub(crate) fn begin_feeds(&mut self) {
        for line in self.rooms.values_mut() {
            let mark = line.room.mark();
            line.feed = Feed::new(mark.incarnation, mark.event_no);
        }
    }

    /// A history's first event, and the room that stands at it. Whoever followed an earlier one reads the room again.
    fn begin(
        &mut self,
        id: &RoomId,
        line: Line,
        incarnation: Incarnation,
        event: Option<Arc<RoomEvent>>,
    ) {
        self.draft.rooms.push(RoomRow { id: id.clone(), incarnation, alive: true });
        self.draft.events.extend(event.map(|event| (id.clone(), event)));
        // Event 1 is still to be published.
        let feed = Feed::new(incarnation, 0);
        self.agenda.set(id, line.room.ledger().next_tick());
        self.rooms.insert(id.clone(), Line { feed, ..line });
    }

    pub(crate) fn delete(&mut self, id: &RoomId, until: Incarnation) -> bool {
        let is_meant = |line: &Line| line.room.ledger().origin() <= until;
        if !self.rooms.get(id).is_some_and(is_meant) {
            return false;
        }
        let Some(line) = self.rooms.remove(id) else {
            return false;
        };
        let incarnation = line.room.mark().incarnation;
        self.agenda.set(id, None);
        self.draft.rooms.push(RoomRow { id: id.clone(), incarnation, alive: false });
        self.buried.insert(id.clone(), incarnation);
        for (group_id, group) in &mut self.groups {
            if group.has(id) {
                group.release(id);
                self.changed_groups.insert(group_id.clone());
            }
        }
        true
    }

    pub(crate) fn admit(
        &mut self,
        id: &RoomId,
        caller: Mark,
    ) -> Result<Reply<AdmitOutcome>, StoreError> {
        let room = &self.known(id)?.room;
        let store = room.mark();
        // Before the group lends anything: a refused tick must not use it up.
        if store.is_behind(&caller) {
            return Err(LostHistory { store, caller }.into());
        }
        let grouped = room.ledger().settings().grouped;
        let now = self.now();
        let grant = if grouped { self.grant(id, now) } else { None };
        self.on_room(id, |room| room.admit(caller, now, grant))
    }

    fn grant(&mut self, id: &RoomId, now: Timestamp) -> Option<GroupGrant> {
        let (group_id, group) = self.groups.iter_mut().find(|(_, group)| group.has(id))?;
        let members = group.stored.members.clone();
        let rooms: Vec<_> = members
            .iter()
            .filter_map(|member| Some((member, &self.rooms.get(member)?.room)))
            .filter(|(_, room)| room.ledger().settings().grouped)
            .collect();
        let (grant, changed) = group.grant(id, now, &rooms);
        if changed {
            self.changed_groups.insert(group_id.clone());
        }
        grant
    }

    pub(crate) fn set_group(&mut self, id: &GroupId, settings: GroupSettings, rooms: Vec<RoomId>) {
        let now = self.now();
        self.leave_other_groups(id, &rooms);
        let known = self.groups.contains_key(id);
        let group =
            self.groups.entry(id.clone()).or_insert_with(|| MemberedGroup::new(settings, now));
        if known && group.stored.group.settings() == settings && group.stored.members == rooms {
            return;
        }
        group.stored.group.set(settings);
        let gone: Vec<RoomId> =
            group.stored.members.iter().filter(|room| !rooms.contains(room)).cloned().collect();
        for room in &gone {
            group.release(room);
        }
        group.stored.members = rooms;
        learn(&mut group.stored.group, &group.stored.members, &self.rooms);
        self.changed_groups.insert(id.clone());
    }

    /// A room is in one group at most: the newest word counts.
    fn leave_other_groups(&mut self, id: &GroupId, rooms: &[RoomId]) {
        for (other_id, other) in self.groups.iter_mut().filter(|(other, _)| *other != id) {
            for room in rooms.iter().filter(|room| other.has(room)).cloned().collect::<Vec<_>>() {
                other.release(&room);
                other.stored.members.retain(|member| *member != room);
                self.changed_groups.insert(other_id.clone());
            }
        }
    }

    pub(crate) fn subscribe(
        &mut self,
        id: &RoomId,
        after: EventNo,
    ) -> Result<Subscription, StoreError> {
        Ok(self.known(id)?.feed.subscribe(after))
    }

    /// What the journal holds beyond the checkpoints, of all rooms.
    pub(crate) fn ahead(&self) -> JournalAhead {
        let growth = self.rooms.values().map(|line| line.since);
        growth.fold(JournalAhead::default(), |sum, since| JournalAhead {
            events: sum.events + since.events,
            bytes: sum.bytes + since.bytes,
        })
    }

    pub(crate) fn ids(&self) -> Vec<RoomId> {
        self.rooms.keys().cloned().collect()
    }

    #[cfg(test)]
    pub(crate) fn group(&self, id: &GroupId) -> Option<&Group> {
        self.groups.get(id).map(|group| &group.stored.group)
    }
}

fn agenda_of(rooms: &BTreeMap<RoomId, Line>) -> Agenda {
    let mut agenda = Agenda::default();
    for (id, line) in rooms {
        agenda.set(id, line.room.ledger().next_tick());
    }
    agenda
}

/// Lets a group know of grants that its members used before they joined it, or that its own record is too old to hold.
pub(crate) fn learn(group: &mut Group, members: &[RoomId], rooms: &BTreeMap<RoomId, Line>) {
    for (id, line) in members.iter().filter_map(|id| Some((id, rooms.get(id)?))) {
        group.learn(id, line.room.ledger());
    }
}
