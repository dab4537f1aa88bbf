//! Taking in what another node wrote to control, and making the store agree with it: at once, or as soon as it answers.
//!
//! Whoever made a change pushes it to the store; every other node does so too when it learns of it. A push is idempotent,
//! and each node's last one is of what control holds in the end: so one node that dies between control and store, or
//! pushes late, leaves the store as control has it all the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jari_ports::{LimitGroup, RoomDefinition, StoreError};
use jari_units::RoomId;

use super::RoomDirectory;

/// So many rooms in a row for which the store does not answer, and it is taken to be away: each keeps operators waiting. One
/// alone may be what a newer release wrote, or be on the one shard that is gone.
pub(super) const AWAY_MAX: usize = 3;

/// What the store has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Owed {
    pub(super) rooms: HashSet<RoomId>,
    /// Some group's limits or members.
    pub(super) groups: bool,
}

impl RoomDirectory {
    /// Makes memory hold these definitions. The store hears of the differences by
    /// [`settle_owed`](RoomDirectory::settle_owed).
    ///
    /// A room that another node deleted is let go of here, and left to that node in the store: by the time that this one
    /// learns of it there may be a new room of the same name.
    pub async fn adopt(&self, rooms: Vec<RoomDefinition>, groups: Vec<LimitGroup>) {
        let mut held = self.groups.lock().await;
        let groups = groups.into_iter().map(|group| (group.id, group.settings)).collect();
        if *held != groups {
            *held = groups;
            self.owed.lock().groups = true;
        }
        let wanted: HashMap<_, _> = rooms.iter().map(|room| (&room.id, room)).collect();
        let (mut gone, mut fresh) = (HashSet::new(), Vec::new());
        for entry in self.list() {
            let held = entry.definition();
            let wanted = wanted.get(&held.id);
            // A room made again under the same name is another one.
            if wanted.is_none_or(|wanted| wanted.created_at != held.created_at) {
                entry.stop.cancel();
                self.owed.lock().groups |= held.group.is_some();
                gone.insert(held.id.clone());
            }
        }
        for room in rooms {
            let known = self.get(&room.id).filter(|entry| !entry.is_deleted());
            if known.as_ref().is_some_and(|entry| *entry.definition() == room) {
                continue;
            }
            let mut owed = self.owed.lock();
            owed.rooms.insert(room.id.clone());
            owed.groups = true;
            drop(owed);
            match known {
                Some(entry) => entry.definition.store(Arc::new(room)),
                None => fresh.push((room.id.clone(), self.entry(room))),
            }
        }
        // Once: each edit copies the map.
        self.edit(|rooms| {
            rooms.retain(|id, _| !gone.contains(id));
            rooms.extend(fresh.iter().cloned());
        });
    }

    /// Makes the store agree with what it has not taken yet. Cheap where there is nothing.
    ///
    /// # Errors
    /// The store's first refusal; what it refused stays owed, the rest is done.
    pub async fn settle_owed(&self) -> Result<(), StoreError> {
        let groups = self.groups.lock().await;
        let (rooms, groups_owed) = {
            let mut owed = self.owed.lock();
            if self.losses.take() {
                owed.groups = true;
                // Before their groups: a group lends others nothing of what a lost room may hold once it knows of it.
                let grouped = self.list().into_iter().map(|entry| entry.definition());
                let grouped = grouped.filter(|room| room.group.is_some());
                owed.rooms.extend(grouped.map(|room| room.id.clone()));
            }
            (owed.rooms.clone(), owed.groups)
        };
        let entries =
            rooms.iter().filter_map(|id| self.get(id).filter(|entry| !entry.is_deleted()));
        let definitions: Vec<_> = entries.map(|entry| entry.definition()).collect();
        // Rooms that are gone are owed nothing.
        let known: HashSet<_> = definitions.iter().map(|room| &room.id).collect();
        self.owed.lock().rooms.retain(|id| known.contains(id));
        // As in `upsert`: those in a group before their group, those that left it after.
        let (grouped, alone): (Vec<_>, Vec<_>) =
            definitions.iter().partition(|room| room.group.is_some());
        let mut answer = self.settle_each(&grouped).await?;
        if groups_owed && answer.is_ok() {
            answer = self.push_groups(&groups).await;
        }
        let answer = answer.and(self.settle_each(&alone).await?);
        if answer.is_ok() {
            // Where the start could not: some room's store was away.
            self.warn_of_strangers().await;
        }
        answer
    }

    /// Settles as many as can be. The inner error is one room's own; the outer one is a store that is away.
    async fn settle_each(
        &self,
        rooms: &[&Arc<RoomDefinition>],
    ) -> Result<Result<(), StoreError>, StoreError> {
        let (mut answer, mut away) = (Ok(()), 0);
        for room in rooms {
            let settled = self.settle_one(room).await;
            away = if settled.as_ref().is_err_and(StoreError::is_away) { away + 1 } else { 0 };
            if away == AWAY_MAX {
                return settled.map(Ok);
            }
            answer = answer.and(settled);
        }
        Ok(answer)
    }

    /// Settles a room and strikes it off.
    pub(super) async fn settle_one(&self, room: &RoomDefinition) -> Result<(), StoreError> {
        self.settle(room).await?;
        self.owed.lock().rooms.remove(&room.id);
        Ok(())
    }
}
