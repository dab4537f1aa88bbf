//! `RedisStore`: what an operation needs beside its script: lists cut to size, a room's place in the list, groups, the
//! index. Holds no room itself.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use jari_line::{AdmitOutcome, GroupGrant, Loss, RecoverOutcome, Settings};
use jari_ports::{EventFeed, Reply, StoreError};
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, RoomId};

use crate::answer::Answer;
use crate::due::{DueRooms, GONE};
use crate::error::Failure;
use crate::eviction::Eviction;
use crate::feed::{Feed, decimal};
use crate::groups::Groups;
use crate::limits::{CALL_MAX, PARALLEL};
use crate::link::Link;
use crate::rooms::{Rooms, Said};
use crate::scripts::{Call, Scripts};
use crate::tick_leases::LastRead;
use crate::wakes::Wakes;
use crate::{OpenError, RedisOptions};
use crate::{keys, outcomes, recovery_text, settings_text};

/// The line store on Redis or Valkey.
#[derive(Debug)]
pub struct RedisStore {
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) groups: Groups,
    wakes: Wakes,
    pub(crate) due: DueRooms,
    pub(crate) last_read: LastRead,
    eviction: Arc<Eviction>,
}

impl RedisStore {
    /// Prepares the store. Connects at the first call, and again whenever a connection was lost.
    ///
    /// # Errors
    /// [`OpenError`] for an address or a prefix that cannot be one, or outside of a Tokio runtime.
    pub fn open(options: RedisOptions) -> Result<RedisStore, OpenError> {
        let address = options.address()?;
        let RedisOptions { prefix, time, tidying, .. } = options;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let wakes = Wakes::start(address.clone(), &runtime);
        let link = Link::new(address, Scripts::new(tidying));
        let rooms = Arc::new(Rooms::new(link, prefix, time));
        let eviction = Arc::<Eviction>::default();
        runtime.spawn(Arc::clone(&eviction).watch(Arc::downgrade(&rooms)));
        Ok(RedisStore {
            eviction,
            groups: Groups::new(Arc::clone(&rooms)),
            rooms,
            wakes,
            due: DueRooms::default(),
            last_read: LastRead::default(),
        })
    }

    /// Connects, so that a start can tell what no waiting mends. `Some`: the servers do not answer now, and will be tried
    /// again with every call.
    ///
    /// # Errors
    /// [`OpenError::Refused`] where the servers answer and refuse who asks, or cannot show that they are the right ones.
    pub async fn greet(&self) -> Result<Option<StoreError>, OpenError> {
        match self.rooms.link.greet().await {
            Ok(()) => Ok(None),
            Err(failure) if failure.lasting => Err(OpenError::Refused(failure.text)),
            Err(failure) => Ok(Some(failure.into())),
        }
    }

    /// Where the lines are, for people, and what stands there for them to be told from others' (see `LineStore::identity`), if
    /// anything does. Changes nothing.
    ///
    /// # Errors
    /// Where the servers do not answer.
    pub async fn lines(&self) -> Result<(String, Option<String>), StoreError> {
        let place = self.rooms.link.address().place(&self.rooms.prefix);
        let mut read = redis::cmd("GET");
        read.arg(keys::identity(&self.rooms.prefix));
        let there = match self.rooms.link.command(&read).await? {
            redis::Value::Nil => None,
            there => Some(Answer::of(redis::Value::Array(vec![there]))?.text()?),
        };
        Ok((place, there))
    }

    /// As [`Rooms::due`].
    pub(crate) async fn due(&self) -> Result<Vec<RoomId>, StoreError> {
        let [index, _] = keys::due(&self.rooms.prefix);
        self.rooms.due(&self.due, || self.wakes.listen(&index)).await
    }

    /// Runs the script of one operation and reads its outcome.
    pub(crate) async fn on<T>(
        &self,
        script: &'static str,
        room: &RoomId,
        mark: Mark,
        own: Vec<Vec<u8>>,
        outcome: impl FnOnce(Answer, Incarnation) -> Result<T, Failure>,
    ) -> Result<Reply<T>, StoreError> {
        let Reply { outcome: answer, mark } = self.rooms.on(script, room, mark, own).await?;
        Ok(Reply { outcome: outcome(answer, mark.incarnation)?, mark })
    }

    /// The same for a list of any length, in calls of a bounded one.
    pub(crate) async fn on_each<I, T>(
        &self,
        script: &'static str,
        room: &RoomId,
        mut mark: Mark,
        items: &[I],
        own: impl Fn(&[I]) -> Vec<Vec<u8>>,
        outcome: impl Fn(Answer, Incarnation) -> Result<Vec<T>, Failure>,
    ) -> Result<Reply<Vec<T>>, StoreError> {
        let mut outcomes = Vec::with_capacity(items.len());
        let mut left = items;
        loop {
            let (now, later) = left.split_at(left.len().min(CALL_MAX));
            let reply = self.on(script, room, mark, own(now), &outcome).await?;
            outcomes.extend(reply.outcome);
            (mark, left) = (reply.mark, later);
            if left.is_empty() {
                return Ok(Reply { outcome: outcomes, mark });
            }
        }
    }

    pub(crate) async fn admit(
        &self,
        room: &RoomId,
        mark: Mark,
    ) -> Result<Reply<AdmitOutcome>, StoreError> {
        let asked = self.rooms.on("admit", room, mark, vec![b"ask".to_vec()]).await?;
        let Reply { mut outcome, mark: now } = asked;
        if outcome.text()? == "done" {
            return Ok(Reply { outcome: outcomes::admit(&mut outcome)?, mark: now });
        }
        let group = outcome.text()?.parse::<GroupId>();
        let group = group.map_err(|_| Failure::odd_answer("a group's id that is none"))?;
        let own = match self.groups.grant(&group, room).await? {
            None => vec![b"alone".to_vec()],
            Some(GroupGrant { grant_no, tokens, live_quota }) => {
                let numbers = [grant_no, tokens, live_quota].map(decimal);
                [b"grant".to_vec()].into_iter().chain(numbers).collect()
            }
        };
        let Reply { mut outcome, mark } = self.rooms.on("admit", room, mark, own).await?;
        outcome.text()?;
        Ok(Reply { outcome: outcomes::admit(&mut outcome)?, mark })
    }

    /// Lists a room that is about to be made: one that was only listed is left out of the list, one that was only made
    /// would be missing.
    async fn list(&self, room: &RoomId) -> Result<(), StoreError> {
        let mut listing = redis::cmd("SADD");
        listing.arg(keys::rooms(&self.rooms.prefix)).arg(room.as_str());
        self.rooms.link.command(&listing).await?;
        Ok(())
    }

    pub(crate) async fn recover(
        &self,
        room: &RoomId,
        settings: &Settings,
        loss: &Loss,
        node: NodeId,
    ) -> Result<Reply<RecoverOutcome>, StoreError> {
        self.list(room).await?;
        let own = recovery_text::loss(loss, settings, node);
        let outcome = |answer, _| outcomes::recover(answer);
        self.on("recover", room, Mark::NONE, own, outcome).await
    }

    pub(crate) async fn create(
        &self,
        room: &RoomId,
        settings: Settings,
    ) -> Result<Reply<bool>, StoreError> {
        self.list(room).await?;
        let own = vec![settings_text::write(&settings).into_bytes()];
        self.on("create", room, Mark::NONE, own, |mut answer, _| Ok(answer.number()? == 1)).await
    }

    pub(crate) async fn delete(
        &self,
        room: &RoomId,
        until: Incarnation,
    ) -> Result<bool, StoreError> {
        let said = self.rooms.say("delete", room, vec![decimal(until)]).await?;
        let Said::Done(mut reply) = said else {
            return Ok(false);
        };
        if let Err(error) = self.rooms.note_due(room, reply.mark, GONE).await {
            tracing::warn!(%room, %error, "the index of due rooms was not told that room {room} is gone: {error}");
        }
        if let Ok(group) = reply.outcome.text()?.parse::<GroupId>() {
            self.groups.release(&group, room).await?;
        }
        Ok(true)
    }

    pub(crate) async fn served(&self, room: &RoomId) -> Result<Option<Millis>, StoreError> {
        match self.rooms.say("served", room, Vec::new()).await? {
            Said::Done(mut reply) => Ok(reply.outcome.maybe_number()?.map(Millis)),
            Said::Unknown | Said::FeedLost => Ok(None),
        }
    }

    pub(crate) async fn probe(&self) -> Result<Option<String>, StoreError> {
        self.write_probe(keys::probe(&self.rooms.prefix)).await?;
        Ok(self.eviction.warning())
    }

    pub(crate) async fn write_probe(&self, key: String) -> Result<(), StoreError> {
        let call = Call { script: "probe", keys: &[key], arguments: Vec::new() };
        self.rooms.link.run(&call).await?;
        Ok(())
    }

    pub(crate) async fn identity(&self, wanted: String) -> Result<String, StoreError> {
        let key = keys::identity(&self.rooms.prefix);
        let mut first = redis::cmd("SET");
        first.arg(&key).arg(wanted).arg("NX");
        self.rooms.link.command(&first).await?;
        let mut read = redis::cmd("GET");
        read.arg(&key);
        let there = self.rooms.link.command(&read).await?;
        Ok(Answer::of(redis::Value::Array(vec![there]))?.text()?)
    }

    pub(crate) async fn rooms(&self) -> Result<Vec<RoomId>, StoreError> {
        let mut members = redis::cmd("SMEMBERS");
        members.arg(keys::rooms(&self.rooms.prefix));
        let mut listed = Answer::of(self.rooms.link.command(&members).await?)?;
        let mut ids = Vec::with_capacity(listed.left());
        while !listed.is_empty() {
            ids.extend(listed.text()?.parse::<RoomId>());
        }
        ids.sort();
        let there = ids.into_iter().map(|id| self.if_there(id));
        let there: Vec<_> = stream::iter(there).buffered(PARALLEL).try_collect().await?;
        Ok(there.into_iter().flatten().collect())
    }

    /// The list keeps rooms that were deleted.
    async fn if_there(&self, room: RoomId) -> Result<Option<RoomId>, StoreError> {
        let mut exists = redis::cmd("HEXISTS");
        exists.arg(self.rooms.keys(&room).get("s")).arg("incarnation");
        let there = self.rooms.link.command(&exists).await?;
        Ok((there == redis::Value::Int(1)).then_some(room))
    }

    pub(crate) async fn subscribe(
        &self,
        room: &RoomId,
        after: EventNo,
    ) -> Result<Box<dyn EventFeed>, StoreError> {
        // Which history it is: the subscription ends with it.
        let keys = self.rooms.keys(room);
        let mut incarnation = redis::cmd("HGET");
        incarnation.arg(keys.get("s")).arg("incarnation");
        let incarnation = match self.rooms.link.command(&incarnation).await? {
            redis::Value::Nil => return Err(StoreError::UnknownRoom(room.clone())),
            value => Answer::of(redis::Value::Array(vec![value]))?.number()?,
        };
        let listener = self.wakes.listen(keys.events());
        let from = (incarnation, after);
        Ok(Box::new(Feed::new(Arc::clone(&self.rooms), room.clone(), from, listener)))
    }
}
