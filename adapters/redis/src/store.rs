//! `RedisStore`: the port's operations, each one call of the script of the same name. Holds no room itself.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Dump, EndOutcome,
    ExtendOutcome, GroupGrant, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss,
    PassOutcome, ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome,
    RevokeOutcome, SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_ports::{BoxFuture, Clock, EventFeed, LineStore, Reply, StoreError};
use jari_units::limits::ADMIT_MAX;
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};

use crate::OpenError;
use crate::address::Address;
use crate::answer::Answer;
use crate::arguments::{passes, subjects};
use crate::due::{self, Round};
use crate::error::Failure;
use crate::event_text::{change_words, ticket_words};
use crate::feed::{Feed, decimal};
use crate::groups::Groups;
use crate::limits::{CALL_MAX, PARALLEL, TIDYING, Tidying};
use crate::link::Link;
use crate::rooms::{Rooms, Said, Time};
use crate::scripts::Scripts;
use crate::state::Extent;
use crate::wakes::Wakes;
use crate::{flow_text, keys, outcomes, recovery_text, settings_text};

/// Characters of a key prefix at most.
const PREFIX_MAX: usize = 64;

/// Where the store is and how it is used.
#[derive(Clone)]
pub struct RedisOptions {
    url: String,
    trust: Option<Vec<u8>>,
    prefix: String,
    time: Time,
    tidying: Tidying,
}

impl RedisOptions {
    /// The store at `url`: `redis://`, `rediss://`, `redis+cluster://`, `rediss+cluster://` or `redis+sentinel://`.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        let prefix = "jari".to_owned();
        RedisOptions { url: url.into(), trust: None, prefix, time: Time::Server, tidying: TIDYING }
    }

    /// What all keys begin with, so that several installations can share a server.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Certificates in PEM to trust instead of the system's, for `rediss://` and its like.
    #[must_use]
    pub fn trust(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust = Some(pem.into());
        self
    }

    /// For tests: takes the time from `clock` instead of the server.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.time = Time::Set(clock);
        self
    }

    /// For tests: cuts the bitmaps off by so many places, a multiple of 8, and clears the index as soon as it can be done.
    #[must_use]
    pub fn tidy_early(mut self, rebase_bits: u64) -> Self {
        self.tidying = Tidying { rebase_bits, rebase_ticks: 1, clear_min: 0 };
        self
    }
}

impl std::fmt::Debug for RedisOptions {
    /// The URL may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The line store on Redis or Valkey.
#[derive(Debug)]
pub struct RedisStore {
    pub(crate) rooms: Arc<Rooms>,
    groups: Groups,
    wakes: Wakes,
    pub(crate) round: Round,
}

type Answered<'a, T> = BoxFuture<'a, Result<Reply<T>, StoreError>>;

impl RedisStore {
    /// Prepares the store. Connects at the first call, and again whenever a connection was lost.
    ///
    /// # Errors
    /// [`OpenError`] for an address or a prefix that cannot be one, or outside of a Tokio runtime.
    pub fn open(options: RedisOptions) -> Result<RedisStore, OpenError> {
        let RedisOptions { url, trust, prefix, time, tidying } = options;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if prefix.is_empty() || prefix.len() > PREFIX_MAX || !prefix.bytes().all(fits) {
            return Err(OpenError::Prefix(prefix));
        }
        let address = Address { trust, ..Address::parse(&url)? };
        if address.trust.is_some() && !url.starts_with("rediss") {
            let problem = "certificates to trust need rediss://".to_owned();
            return Err(OpenError::Address { url: address.shown, problem });
        }
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let wakes = Wakes::start(address.clone(), &runtime);
        let link = Link::new(address, Scripts::new(tidying));
        let rooms = Arc::new(Rooms { link, prefix, time });
        Ok(RedisStore {
            groups: Groups::new(Arc::clone(&rooms)),
            rooms,
            wakes,
            round: Round::default(),
        })
    }

    /// Runs the script of one operation and reads its outcome.
    async fn on<T>(
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
    async fn on_each<I, T>(
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

    async fn admit(&self, room: &RoomId, mark: Mark) -> Result<Reply<AdmitOutcome>, StoreError> {
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

    async fn recover(
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

    async fn create(&self, room: &RoomId, settings: Settings) -> Result<Reply<bool>, StoreError> {
        self.list(room).await?;
        let own = vec![settings_text::write(&settings).into_bytes()];
        self.on("create", room, Mark::NONE, own, |mut answer, _| Ok(answer.number()? == 1)).await
    }

    async fn delete(&self, room: &RoomId, until: Incarnation) -> Result<bool, StoreError> {
        let said = self.rooms.say("delete", room, vec![decimal(until)]).await?;
        let Said::Done(mut reply) = said else {
            return Ok(false);
        };
        if let Err(error) = self.rooms.note_due(room, reply.mark, due::GONE).await {
            tracing::warn!(%room, %error, "the index of due rooms was not told that room {room} is gone: {error}");
        }
        if let Ok(group) = reply.outcome.text()?.parse::<GroupId>() {
            self.groups.release(&group, room).await?;
        }
        Ok(true)
    }

    async fn rooms(&self) -> Result<Vec<RoomId>, StoreError> {
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

    async fn subscribe(
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

impl LineStore for RedisStore {
    fn create(&self, room: &RoomId, settings: Settings) -> Answered<'_, bool> {
        let room = room.clone();
        Box::pin(async move { self.create(&room, settings).await })
    }

    fn delete(&self, room: &RoomId, until: Incarnation) -> BoxFuture<'_, Result<bool, StoreError>> {
        let room = room.clone();
        Box::pin(async move { self.delete(&room, until).await })
    }

    fn join(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<JoinOutcome>> {
        let room = room.clone();
        Box::pin(async move {
            self.on_each("join", &room, mark, &people, subjects, outcomes::join).await
        })
    }

    fn leave(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<LeaveOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::leave(answer);
        Box::pin(
            async move { self.on_each("leave", &room, mark, &people, subjects, outcome).await },
        )
    }

    fn seen(&self, room: &RoomId, mark: Mark, bits: SeenBits) -> Answered<'_, ()> {
        let room = room.clone();
        let own = vec![decimal(bits.first()), bits.bytes().to_vec()];
        Box::pin(async move { self.on("seen", &room, mark, own, |_, _| Ok(())).await })
    }

    fn admit(&self, room: &RoomId, mark: Mark) -> Answered<'_, AdmitOutcome> {
        let room = room.clone();
        Box::pin(async move { self.admit(&room, mark).await })
    }

    fn admit_now(
        &self,
        room: &RoomId,
        mark: Mark,
        whom: AdmitNow,
    ) -> Answered<'_, AdmitNowOutcome> {
        let room = room.clone();
        let own = match whom {
            // More at once would block the store for too long.
            AdmitNow::Count(count) => vec![b"count".to_vec(), decimal(count.min(ADMIT_MAX))],
            AdmitNow::Subjects(people) => {
                [b"subjects".to_vec()].into_iter().chain(subjects(&people)).collect()
            }
        };
        Box::pin(async move { self.on("admit_now", &room, mark, own, outcomes::admit_now).await })
    }

    fn claim(&self, room: &RoomId, mark: Mark, ids: Vec<PassId>) -> Answered<'_, Vec<PassOutcome>> {
        let room = room.clone();
        Box::pin(
            async move { self.on_each("claim", &room, mark, &ids, passes, outcomes::passes).await },
        )
    }

    fn touch(&self, room: &RoomId, mark: Mark, ids: Vec<PassId>) -> Answered<'_, Vec<PassOutcome>> {
        let room = room.clone();
        Box::pin(
            async move { self.on_each("touch", &room, mark, &ids, passes, outcomes::passes).await },
        )
    }

    fn extend_for_payment(
        &self,
        room: &RoomId,
        mark: Mark,
        pass: PassId,
        span: Millis,
    ) -> Answered<'_, ExtendOutcome> {
        let room = room.clone();
        let mut own = passes(&[pass]);
        own.push(decimal(span.0));
        Box::pin(
            async move { self.on("extend_for_payment", &room, mark, own, outcomes::extend).await },
        )
    }

    fn redeem(&self, room: &RoomId, mark: Mark, ticket: Ticket) -> Answered<'_, RedeemOutcome> {
        let room = room.clone();
        let own = ticket_words(&ticket);
        Box::pin(async move { self.on("redeem", &room, mark, own, outcomes::redeem).await })
    }

    fn end_pass(
        &self,
        room: &RoomId,
        mark: Mark,
        ids: Vec<PassId>,
    ) -> Answered<'_, Vec<EndOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::end_pass(answer);
        Box::pin(async move { self.on_each("end_pass", &room, mark, &ids, passes, outcome).await })
    }

    fn revoke(
        &self,
        room: &RoomId,
        mark: Mark,
        people: Vec<SubjectKey>,
    ) -> Answered<'_, Vec<RevokeOutcome>> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::revoke(answer);
        Box::pin(
            async move { self.on_each("revoke", &room, mark, &people, subjects, outcome).await },
        )
    }

    fn change(&self, room: &RoomId, mark: Mark, change: Change) -> Answered<'_, ChangeOutcome> {
        let room = room.clone();
        let (kind, a, b) = change_words(&change);
        let own = vec![kind.as_bytes().to_vec(), a, b];
        let outcome = |answer, _| outcomes::change(answer);
        Box::pin(async move { self.on("change", &room, mark, own, outcome).await })
    }

    fn set_group(
        &self,
        group: &GroupId,
        settings: GroupSettings,
        rooms: Vec<RoomId>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let group = group.clone();
        Box::pin(async move { self.groups.set(&group, settings, rooms).await })
    }

    fn read(&self, room: &RoomId) -> Answered<'_, Ledger> {
        let room = room.clone();
        Box::pin(async move {
            let dump = self.rooms.state(&room, Extent::Ledger).await?;
            let mark = dump.mark;
            Ok(Reply { outcome: Ledger::from_dump(dump), mark })
        })
    }

    fn subscribe(
        &self,
        room: &RoomId,
        after: EventNo,
    ) -> BoxFuture<'_, Result<Box<dyn EventFeed>, StoreError>> {
        let room = room.clone();
        Box::pin(async move { self.subscribe(&room, after).await })
    }

    fn recover(
        &self,
        room: &RoomId,
        settings: Settings,
        loss: Loss,
        node: NodeId,
    ) -> Answered<'_, RecoverOutcome> {
        let room = room.clone();
        Box::pin(async move { self.recover(&room, &settings, &loss, node).await })
    }

    fn restore(
        &self,
        room: &RoomId,
        mark: Mark,
        node: NodeId,
        telling: Telling,
    ) -> Answered<'_, RestoreOutcome> {
        let room = room.clone();
        let outcome = |answer, _| outcomes::restore(answer);
        Box::pin(async move {
            let own = recovery_text::telling(node, &telling);
            let own = own.ok_or_else(|| Failure::odd_answer("a replica that cannot be told of"))?;
            self.on("restore", &room, mark, own, outcome).await
        })
    }

    fn reattach(
        &self,
        room: &RoomId,
        mark: Mark,
        receipts: Vec<Receipt>,
    ) -> Answered<'_, Vec<ReattachOutcome>> {
        let room = room.clone();
        let own = recovery_text::receipts;
        Box::pin(async move {
            self.on_each("reattach", &room, mark, &receipts, own, outcomes::reattach).await
        })
    }

    fn attend(&self, room: &RoomId, mark: Mark, node: NodeId) -> Answered<'_, ()> {
        let room = room.clone();
        let own = vec![decimal(node)];
        Box::pin(async move { self.on("attend", &room, mark, own, |_, _| Ok(())).await })
    }

    fn signal(
        &self,
        room: &RoomId,
        mark: Mark,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Answered<'_, SignalOutcome> {
        let room = room.clone();
        let own = [source, flow_text::load_number(load), span.0].map(decimal).to_vec();
        let outcome = |answer, _| outcomes::signal(answer);
        Box::pin(async move { self.on("signal", &room, mark, own, outcome).await })
    }

    fn due(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.rooms.due(&self.round))
    }

    fn dump(&self, room: &RoomId) -> Answered<'_, Dump> {
        let room = room.clone();
        Box::pin(async move {
            let dump = self.rooms.state(&room, Extent::Everything).await?;
            Ok(Reply { mark: dump.mark, outcome: dump })
        })
    }

    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.rooms())
    }
}
