//! The rooms of this installation: definitions from control in memory, and one replica per room, read at its first use.
//! Writes no definition: operators' handlers do, then tell here.

mod adopt;
mod strangers;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use jari_line::{Change, GroupSettings, Past, RecoverOutcome, Settings};
use jari_ports::{Control, LimitGroup, RoomDefinition, StoreError};
use jari_units::{GroupId, Incarnation, Mark, RoomId};
use tokio::sync::{Mutex, OnceCell};
use tokio_util::sync::CancellationToken;

use adopt::{AWAY_MAX, Owed};
pub use strangers::PrepareError;

use crate::jitter::Jitter;
use crate::losses::Losses;
use crate::room::RoomRuntime;
use crate::room::recovery::recover;
use crate::state::StartError;
use crate::store_calls::StoreCalls;
use crate::store_health::StoreHealth;

type Rooms = HashMap<RoomId, Arc<RoomEntry>>;

#[derive(Debug)]
pub struct RoomDirectory {
    calls: Arc<StoreCalls>,
    losses: Arc<Losses>,
    jitter: Arc<Jitter>,
    /// Read by every request, so without a lock.
    rooms: ArcSwap<Rooms>,
    /// Changes come one after the other; holds the groups' limits.
    groups: Mutex<HashMap<GroupId, GroupSettings>>,
    owed: parking_lot::Mutex<Owed>,
    /// Whether the store has rooms that control does not know was found out, and said if so.
    strangers_known: AtomicBool,
}

/// A room that is defined here.
#[derive(Debug)]
pub struct RoomEntry {
    calls: Arc<StoreCalls>,
    losses: Arc<Losses>,
    jitter: Arc<Jitter>,
    /// Of what holds this room: of a Cluster one shard may be away. One a room, so that it is bounded as rooms are.
    health: Arc<StoreHealth>,
    /// Somebody asks after it until it answers.
    watched: AtomicBool,
    definition: ArcSwap<RoomDefinition>,
    runtime: OnceCell<Arc<RoomRuntime>>,
    /// The newest incarnation of the room that an operator has deleted.
    doomed: parking_lot::Mutex<Option<Incarnation>>,
    /// Cancelled when the room is deleted or the node stops.
    stop: CancellationToken,
}

/// A room that wants a tick now.
#[derive(Clone, Debug)]
pub(crate) struct DueRoom {
    pub(crate) entry: Arc<RoomEntry>,
    /// The store does not name it.
    pub(crate) missing: bool,
}

impl RoomEntry {
    #[must_use]
    pub fn definition(&self) -> Arc<RoomDefinition> {
        self.definition.load_full()
    }

    /// The room at work here. The first caller reads it from the store, all others wait for that.
    ///
    /// # Errors
    /// Where the store does not answer; the next caller tries again.
    pub async fn runtime(&self) -> Result<Arc<RoomRuntime>, StoreError> {
        match self.runtime.get() {
            Some(runtime) if !self.is_deleted() => Ok(runtime.clone()),
            // Apart, so that the future of every call need not have room for a load.
            _ => Box::pin(self.load()).await,
        }
    }

    async fn load(&self) -> Result<Arc<RoomRuntime>, StoreError> {
        if self.is_deleted() {
            // Loading would bring the room back in the store.
            return Err(StoreError::UnknownRoom(self.definition().id.clone()));
        }
        let load = || {
            let definition = self.definition();
            let store = (self.calls.clone(), self.health.clone(), self.losses.clone());
            let (settings, jitter) = (wanted(&definition), self.jitter.clone());
            let stop = self.stop.clone();
            async move { RoomRuntime::load(&definition, settings, store, jitter, stop).await }
        };
        self.runtime.get_or_try_init(load).await.cloned()
    }

    /// The room at work, if anybody used it yet.
    #[must_use]
    pub fn loaded(&self) -> Option<&Arc<RoomRuntime>> {
        self.runtime.get()
    }

    /// Waits until the room is deleted.
    pub async fn deleted(&self) {
        self.stop.cancelled().await;
    }

    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// The settings a definition asks the store for: whether a room is grouped follows from its group.
fn wanted(definition: &RoomDefinition) -> Settings {
    Settings { grouped: definition.group.is_some(), ..definition.settings.clone() }
}

impl RoomDirectory {
    /// Reads all definitions and makes the store agree with them: has lost rooms recovered, pushes changed settings, sets
    /// groups. What a store that is away does not take is owed to it: the rooms are here, and wait for it.
    ///
    /// # Errors
    /// Where control does not answer, or the store refuses for another reason than being away.
    pub async fn start(
        calls: Arc<StoreCalls>,
        losses: Arc<Losses>,
        jitter: Arc<Jitter>,
        control: &dyn Control,
    ) -> Result<Self, StartError> {
        let (rooms, groups, owed, strangers_known) = Default::default();
        let directory =
            RoomDirectory { calls, losses, jitter, rooms, groups, owed, strangers_known };
        for group in control.groups().await? {
            directory.groups.lock().await.insert(group.id, group.settings);
        }
        let mut pending = 0;
        for definition in control.rooms().await? {
            // One that does not answer is not asked once for each room.
            let settled = match pending < AWAY_MAX {
                true => directory.settle(&definition).await,
                false => Err(StoreError::Unavailable("it did not answer before".to_owned())),
            };
            match settled {
                Ok(()) => pending = 0,
                // Whether it lost anything is being found out: it is owed its settings until then.
                Err(StoreError::LostHistory(_)) => directory.owe(&definition),
                Err(error) if error.is_away() => {
                    if pending == 0 {
                        let room = &definition.id;
                        tracing::warn!(%room, %error, "room {room} waits for its store: {error}");
                    }
                    pending += 1;
                    directory.owe(&definition);
                }
                Err(error) => return Err(error.into()),
            }
            directory.insert(definition);
        }
        if pending == 0 {
            directory.warn_of_strangers().await;
        }
        let groups = directory.groups.lock().await.clone();
        if pending >= AWAY_MAX {
            directory.owed.lock().groups = true;
            return Ok(directory);
        }
        match directory.push_groups(&groups).await {
            // Owed, as long as it fails.
            Err(error) if error.is_away() || matches!(error, StoreError::LostHistory(_)) => {}
            pushed => pushed?,
        }
        Ok(directory)
    }

    fn owe(&self, definition: &RoomDefinition) {
        self.owed.lock().rooms.insert(definition.id.clone());
    }

    #[must_use]
    pub fn get(&self, id: &RoomId) -> Option<Arc<RoomEntry>> {
        self.rooms.load().get(id).cloned()
    }

    /// All rooms at work, in order of id.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<RoomEntry>> {
        let rooms = self.rooms.load();
        let mut rooms: Vec<_> =
            rooms.values().filter(|entry| !entry.is_deleted()).cloned().collect();
        rooms.sort_by(|a, b| a.definition.load().id.cmp(&b.definition.load().id));
        rooms
    }

    /// Before control has a new room: makes it in the store, so that one that control has and the store has not was lost.
    /// What an unfinished deletion left there goes first, it is another room's line; one that somebody serves is no such.
    /// Touches no room at work.
    ///
    /// # Errors
    /// The store's, and [`PrepareError::Served`].
    pub async fn prepare(&self, definition: &RoomDefinition) -> Result<(), PrepareError> {
        let (calls, id) = (&self.calls, &definition.id);
        let _groups = self.groups.lock().await;
        let known = self.get(id);
        if known.as_ref().is_none_or(|entry| entry.is_deleted()) {
            // In this order: another node that defines the room meanwhile has told control by now, or makes a later life.
            if let Some(left) = self.incarnation(id).await? {
                let served = calls.run("served", calls.store.served(id)).await?;
                if self.losses.is_defined(id).await? {
                    return Ok(());
                }
                let doomed = known.as_ref().and_then(|entry| *entry.doomed.lock());
                strangers::check(id, served, doomed.is_some_and(|until| until >= left))?;
                calls.run("delete", calls.store.delete(id, left)).await?;
            }
            calls.run("create", calls.store.create(id, wanted(definition))).await?;
        }
        Ok(())
    }

    /// The room's incarnation in the store, if it is there.
    async fn incarnation(&self, id: &RoomId) -> Result<Option<Incarnation>, StoreError> {
        let nobody = self.calls.store.join(id, Mark::NONE, Vec::new());
        match self.calls.run("find", nobody).await {
            Ok(reply) => Ok(Some(reply.mark.incarnation)),
            Err(StoreError::LostHistory(lost)) => Ok(Some(lost.store.incarnation)),
            Err(StoreError::UnknownRoom(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Before control forgets a room: notes which life of it is meant, for another node may make the next one as soon as
    /// control has forgotten this one.
    ///
    /// # Errors
    /// The store's, where this node has not seen the room.
    pub async fn doom(&self, id: &RoomId) -> Result<(), StoreError> {
        let Some(entry) = self.get(id) else { return Ok(()) };
        let seen = entry.loaded().map(|room| room.incarnation());
        let until = match seen {
            Some(incarnation) => Some(incarnation),
            None => self.incarnation(id).await?,
        };
        entry.doomed.lock().get_or_insert(until.unwrap_or(0));
        Ok(())
    }

    /// Takes in a definition that control has stored, and makes the store agree with it. Idempotent: repeat it where it
    /// failed.
    ///
    /// # Errors
    /// The store's; the definition is known here all the same, so that the next change builds on what control has.
    pub async fn upsert(&self, definition: RoomDefinition) -> Result<(), StoreError> {
        let groups = self.groups.lock().await;
        self.insert(definition.clone());
        self.owed.lock().rooms.insert(definition.id.clone());
        // A room that joins a group is bound first, then counted; one that leaves is let go of first, then unbound.
        if definition.group.is_some() {
            self.settle_one(&definition).await?;
        }
        // All of them: an earlier try may have failed before the group that the room left, or joined, heard of it.
        self.push_groups(&groups).await?;
        if definition.group.is_none() {
            self.settle_one(&definition).await?;
        }
        Ok(())
    }

    /// Forgets a room that control has deleted, here and in the store. Idempotent: repeat it where it failed.
    ///
    /// # Errors
    /// The store's; the room is then at work no more, and still listed.
    pub async fn remove(&self, id: &RoomId) -> Result<(), StoreError> {
        let groups = self.groups.lock().await;
        let Some(entry) = self.get(id) else { return Ok(()) };
        // First: who follows the room would make it anew.
        entry.stop.cancel();
        let group = entry.definition().group.clone();
        if let Some((group, settings)) = group.and_then(|id| Some((id.clone(), groups.get(&id)?))) {
            self.push_group(&group, *settings).await?;
        }
        let doomed = *entry.doomed.lock();
        if let Some(until) = doomed {
            self.calls.run("delete", self.calls.store.delete(id, until)).await?;
        }
        self.edit(|rooms| _ = rooms.remove(id));
        Ok(())
    }

    /// All limit groups, in order of id; `None` while one of them, or a room, is being changed.
    #[must_use]
    pub fn try_groups(&self) -> Option<Vec<(GroupId, GroupSettings)>> {
        let groups = self.groups.try_lock().ok()?;
        let mut groups: Vec<_> = groups.iter().map(|(id, limits)| (id.clone(), *limits)).collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        Some(groups)
    }

    /// Takes in a limit group that control has stored.
    ///
    /// # Errors
    /// The store's.
    pub async fn upsert_group(&self, group: LimitGroup) -> Result<(), StoreError> {
        let mut groups = self.groups.lock().await;
        groups.insert(group.id, group.settings);
        self.push_groups(&groups).await
    }

    /// Forgets a limit group that control has deleted; no room names it any more.
    pub async fn remove_group(&self, id: &GroupId) {
        self.groups.lock().await.remove(id);
    }

    /// The rooms that want a tick now and are defined here: those that the store names, and, as missing, those where somebody
    /// is as far as this node knows. A store that has lost a room does not name it; its tick is what shows the loss.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn due(&self) -> Result<Vec<DueRoom>, StoreError> {
        let due = self.calls.run("due", self.calls.store.due()).await?;
        let rooms = self.rooms.load();
        let is_peopled = |entry: &RoomEntry| {
            entry.loaded().is_some_and(|room| room.read(|live| !live.ledger().is_idle()))
        };
        let missing = rooms.iter().filter(|(_, entry)| is_peopled(entry)).map(|(id, _)| id);
        let missing = missing.filter(|id| due.binary_search(id).is_err());
        let named = due.iter().map(|id| (id, false)).chain(missing.map(|id| (id, true)));
        let entries = named.filter_map(|(id, missing)| Some((rooms.get(id)?, missing)));
        let entries = entries.filter(|(entry, _)| !entry.is_deleted());
        Ok(entries.map(|(entry, missing)| DueRoom { entry: entry.clone(), missing }).collect())
    }

    /// Sends everything gathered in memory to the store: before the process ends.
    pub async fn flush(&self) {
        for entry in self.list() {
            if let Some(runtime) = entry.loaded() {
                let sent = runtime.flush_presence().await.and(runtime.flush_uses().await);
                if let Err(error) = sent {
                    let room = runtime.id();
                    tracing::warn!(%room, %error, "room {room} ends with unsent marks: {error}");
                }
            }
        }
    }

    /// Ends every room's work on this node: before the store closes, which would look like an outage to them.
    pub fn stop(&self) {
        for entry in self.list() {
            entry.stop.cancel();
        }
    }

    /// Makes the store's room agree with its definition. One that the store has not was lost, for whoever defines a room
    /// makes it first.
    async fn settle(&self, definition: &RoomDefinition) -> Result<(), StoreError> {
        let (calls, id) = (&self.calls, &definition.id);
        let settings = wanted(definition);
        let change = Change::Settings(Box::new(settings.clone()));
        if let Some(runtime) = self.get(id).and_then(|entry| entry.loaded().cloned()) {
            runtime.set_settings(settings);
            return runtime.change(change).await.map(|_| ());
        }
        match calls.run("change", calls.store.change(id, Mark::NONE, change)).await {
            Err(error @ (StoreError::UnknownRoom(_) | StoreError::LostHistory(_))) => {
                let with = (&**calls, &*self.losses);
                let nothing = Past::default();
                let outcome = recover(with, &definition.into(), settings, nothing).await?;
                // Of a room that is gone altogether it made a new one, by these settings.
                let made = matches!(error, StoreError::UnknownRoom(_));
                if made && outcome != RecoverOutcome::Asking { Ok(()) } else { Err(error) }
            }
            changed => changed.map(|_| ()),
        }
    }

    async fn push_groups(
        &self,
        groups: &HashMap<GroupId, GroupSettings>,
    ) -> Result<(), StoreError> {
        self.owed.lock().groups = true;
        for (group, settings) in groups {
            self.push_group(group, *settings).await?;
        }
        self.owed.lock().groups = false;
        Ok(())
    }

    async fn push_group(&self, id: &GroupId, settings: GroupSettings) -> Result<(), StoreError> {
        let members = self.list().into_iter().map(|entry| entry.definition());
        let rooms = members
            .filter(|definition| definition.group.as_ref() == Some(id))
            .map(|definition| definition.id.clone())
            .collect();
        self.calls.run("set_group", self.calls.store.set_group(id, settings, rooms)).await
    }

    fn insert(&self, definition: RoomDefinition) {
        let id = definition.id.clone();
        if let Some(entry) = self.get(&id).filter(|entry| !entry.is_deleted()) {
            entry.definition.store(Arc::new(definition));
            return;
        }
        let entry = self.entry(definition);
        self.edit(|rooms| _ = rooms.insert(id.clone(), entry.clone()));
    }

    fn entry(&self, definition: RoomDefinition) -> Arc<RoomEntry> {
        Arc::new(RoomEntry {
            calls: self.calls.clone(),
            losses: self.losses.clone(),
            jitter: self.jitter.clone(),
            health: Arc::default(),
            watched: AtomicBool::new(false),
            definition: ArcSwap::from_pointee(definition),
            runtime: OnceCell::new(),
            doomed: parking_lot::Mutex::default(),
            stop: CancellationToken::new(),
        })
    }

    /// Replaces the map by an edited copy: rooms come and go by hand, requests by the thousand.
    fn edit(&self, change: impl Fn(&mut Rooms)) {
        self.rooms.rcu(|rooms| {
            let mut rooms = Rooms::clone(rooms);
            change(&mut rooms);
            rooms
        });
    }
}
