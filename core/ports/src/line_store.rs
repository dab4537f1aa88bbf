//! LineStore: the hot state of rooms and limit groups. A dozen whole operations, each atomic, batched and idempotent.

use std::sync::Arc;

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Dump, EndOutcome,
    ExtendOutcome, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss, LostHistory,
    PassOutcome, ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome,
    RevokeOutcome, RoomEvent, SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};
use thiserror::Error;

use crate::BoxFuture;

/// An operation's outcome and the room's mark after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    pub outcome: T,
    pub mark: Mark,
}

/// Why a store did not answer. Nothing was changed by the call, but where the store [is away](StoreError::is_away), when
/// it is unknown: repeat the call, every operation is idempotent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// 404 `unknown_room`.
    #[error("there is no room {0} in the store")]
    UnknownRoom(RoomId),
    #[error("there is no limit group {0} in the store")]
    UnknownGroup(GroupId),
    /// The caller knows history that the store does not, or the store may be a copy that lacks some: 503 `recovering`.
    /// [`recover`](LineStore::recover) tells which.
    #[error(transparent)]
    LostHistory(#[from] LostHistory),
    /// It refuses: no connection is to be had, or it says that it cannot do it. 503 `store_unavailable`; the text says
    /// what an operator should look at.
    #[error("the line store is unavailable: {0}")]
    Unavailable(String),
    /// It says nothing within the deadline: it is slow, hung, or cut off. 503 `store_unavailable`. Not a refusal: no gate
    /// opens by it.
    #[error("the line store is silent: {0}")]
    Silent(String),
}

impl StoreError {
    /// Whether the store itself is what failed, by refusing or by silence.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Silent(_))
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<Reply<T>, StoreError>>;

/// Where lines live. Every operation takes the caller's mark and answers with the room's new one; a caller that knows
/// nothing passes [`Mark::NONE`]. An answer means that the outcome is durable (A2). Outcomes and their precedence are
/// documented on the outcome types; each operation is the core function of the same name.
///
/// Time moves only in [`admit`](LineStore::admit), by the store's own clock; the other operations see the last tick's.
pub trait LineStore: Send + Sync + std::fmt::Debug {
    /// Makes a room unless it exists; an existing one is left as it is (`false`). Only for a room that was never made:
    /// one that the store lost comes back by [`recover`](LineStore::recover).
    fn create(&self, room: &RoomId, settings: Settings) -> Answer<'_, bool>;

    /// Forgets a room with all its places and passes, if its life began by incarnation `until`: one that was made, or made
    /// again, later is another room and stays. `false` where there was nothing to forget.
    fn delete(&self, room: &RoomId, until: Incarnation) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Gives places to at most `JOIN_BATCH_MAX` subjects, in order.
    fn join(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<JoinOutcome>>;

    /// Ends the place or pass of each subject.
    fn leave(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<LeaveOutcome>>;

    /// Marks places heard from.
    fn seen(&self, room: &RoomId, mark: Mark, bits: SeenBits) -> Answer<'_, ()>;

    /// One tick. For a room in `group` the store first takes the group's grant, then admits within it.
    fn admit(&self, room: &RoomId, mark: Mark) -> Answer<'_, AdmitOutcome>;

    /// Admits beside the tick, by count or by subject (at most `ADMIT_MAX`).
    fn admit_now(&self, room: &RoomId, mark: Mark, whom: AdmitNow) -> Answer<'_, AdmitNowOutcome>;

    /// First use of passes.
    fn claim(&self, room: &RoomId, mark: Mark, passes: Vec<PassId>)
    -> Answer<'_, Vec<PassOutcome>>;

    /// Use of passes: slides their end.
    fn touch(&self, room: &RoomId, mark: Mark, passes: Vec<PassId>)
    -> Answer<'_, Vec<PassOutcome>>;

    /// Keeps a pass from expiring while its owner pays.
    fn extend_for_payment(
        &self,
        room: &RoomId,
        mark: Mark,
        pass: PassId,
        span: Millis,
    ) -> Answer<'_, ExtendOutcome>;

    /// A one-time token of a pass is shown to its site: it lands once, and again only for the same call (`nonce`). The
    /// caller has checked its signature and its end, and that it names this room.
    fn redeem(&self, room: &RoomId, mark: Mark, ticket: Ticket) -> Answer<'_, RedeemOutcome>;

    /// Ends passes: their owners are done.
    fn end_pass(
        &self,
        room: &RoomId,
        mark: Mark,
        passes: Vec<PassId>,
    ) -> Answer<'_, Vec<EndOutcome>>;

    /// Takes passes away, by subject.
    fn revoke(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<RevokeOutcome>>;

    /// An operator's change. Settings and texts were checked by the caller.
    fn change(&self, room: &RoomId, mark: Mark, change: Change) -> Answer<'_, ChangeOutcome>;

    /// Makes a limit group or sets its limits; `rooms` are its members (all others are released).
    fn set_group(
        &self,
        group: &GroupId,
        settings: GroupSettings,
        rooms: Vec<RoomId>,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// What a node's replica starts from: the ledger at one event number.
    fn read(&self, room: &RoomId) -> Answer<'_, Ledger>;

    /// Every event after `after` of the room's present incarnation, in order and without gaps, or [`FeedLost`].
    fn subscribe(
        &self,
        room: &RoomId,
        after: EventNo,
    ) -> BoxFuture<'_, Result<Box<dyn EventFeed>, StoreError>>;

    /// Opens a new incarnation where history was lost: the room is behind what the caller has seen, or it is not in
    /// the store at all though it was made before (`settings` are what it is then made of), or an operator put older
    /// files in place. Until the window's end (`RECOVERY_WINDOW`, in ticks) nobody is admitted, nobody new gets a number.
    /// Outcomes: nothing lost, asking, under way, began. Of callers that race, one begins it and the others join in. `node`
    /// is the caller's, as it attends.
    ///
    /// Never call it for a room whose definition is gone: it would make it anew.
    fn recover(
        &self,
        room: &RoomId,
        settings: Settings,
        loss: Loss,
        node: NodeId,
    ) -> Answer<'_, RecoverOutcome>;

    /// Merges what a node's replica knew into a room that recovers; `mark` is of the recovering incarnation. Commutative
    /// and idempotent over all tellings of all nodes. At most `RESTORE_NUMBERS_MAX` numbers and `RESTORE_PASSES_MAX` passes.
    fn restore(
        &self,
        room: &RoomId,
        mark: Mark,
        node: NodeId,
        telling: Telling,
    ) -> Answer<'_, RestoreOutcome>;

    /// Attaches places to the people who show receipts of them, at most `JOIN_BATCH_MAX`. The caller has checked each
    /// signature, a pass cookie's end by its own clock, and that the receipt names this room.
    fn reattach(
        &self,
        room: &RoomId,
        mark: Mark,
        receipts: Vec<Receipt>,
    ) -> Answer<'_, Vec<ReattachOutcome>>;

    /// Says that a node serves the room; call it with each flush of presence. Recorded at most once in `ATTEND_EVERY`.
    fn attend(&self, room: &RoomId, mark: Mark, node: NodeId) -> Answer<'_, ()>;

    /// A source says how the site is doing; its word counts for `span`, or until its next one. Of all sources' words the
    /// worst steers the room's `signal` pacer.
    fn signal(
        &self,
        room: &RoomId,
        mark: Mark,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Answer<'_, SignalOutcome>;

    /// The canonical state, for conformance and inspection.
    fn dump(&self, room: &RoomId) -> Answer<'_, Dump>;

    /// Rooms that want a tick now by the store's clock ([`Ledger::next_tick`]), in order of id. Answered without a look
    /// at the others: idle rooms may be many.
    fn due(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>>;

    /// How long ago the room was last served, by the store's clock: ticked, or attended by a node. `None` where nobody was
    /// ever in it, where it is not there, and in a store that no other installation can share.
    fn served(&self, _room: &RoomId) -> BoxFuture<'_, Result<Option<Millis>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    /// Whether it can serve: it takes a write. What an operator should know of it all the same, if anything.
    fn probe(&self) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async { self.rooms().await.map(|_| None) })
    }

    /// Whether rooms lie on several servers, of which one may be away without the others: then [`probe`](LineStore::probe)
    /// speaks for one of them.
    fn is_divided(&self) -> bool {
        false
    }

    /// [`probe`](LineStore::probe) of what holds this room. Changes nothing that anybody reads; whether there is such a room is
    /// not asked.
    fn reach(&self, _room: &RoomId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { self.probe().await.map(drop) })
    }

    /// Where this store's lines are, for people; without a password. `None` for a store that no other node can share.
    fn place(&self) -> Option<String> {
        None
    }

    /// What stands in the store for its lines to be told from others': `wanted` where nothing stood there. Whoever shares them
    /// is answered the same.
    fn identity(&self, wanted: String) -> BoxFuture<'_, Result<String, StoreError>> {
        Box::pin(async { Ok(wanted) })
    }

    /// Rooms in the store, in order of id.
    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>>;
}

/// The feed fell too far behind or its history ended: read the room and subscribe again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the feed of events was lost; read the room again")]
pub struct FeedLost;

/// A subscription to a room's events.
pub trait EventFeed: Send {
    /// The next event; waits for it.
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<RoomEvent>, FeedLost>>;
}
