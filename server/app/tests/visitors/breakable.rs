//! A line store that says "unavailable" to every call while it is told to; else the store it wraps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Dump, EndOutcome,
    ExtendOutcome, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss, PassOutcome,
    ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome, RevokeOutcome,
    SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_ports::{BoxFuture, EventFeed, LineStore, Reply, StoreError};
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};

#[derive(Debug)]
pub(crate) struct Breakable<S> {
    store: S,
    down: Arc<AtomicBool>,
}

impl<S> Breakable<S> {
    pub(crate) fn new(store: S, down: Arc<AtomicBool>) -> Self {
        Breakable { store, down }
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

macro_rules! breakable {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $outcome:ty;)*) => {
        impl<S: LineStore> LineStore for Breakable<S> {
            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $outcome> {
                if self.down.load(Ordering::SeqCst) {
                    return Box::pin(async { Err(StoreError::Unavailable("as told".into())) });
                }
                self.store.$name($($arg),*)
            })*
        }
    };
}

breakable! {
    create(room: &RoomId, settings: Settings) -> Reply<bool>;
    delete(room: &RoomId, until: Incarnation) -> bool;
    join(room: &RoomId, mark: Mark, who: Vec<SubjectKey>) -> Reply<Vec<JoinOutcome>>;
    leave(room: &RoomId, mark: Mark, who: Vec<SubjectKey>) -> Reply<Vec<LeaveOutcome>>;
    seen(room: &RoomId, mark: Mark, bits: SeenBits) -> Reply<()>;
    admit(room: &RoomId, mark: Mark) -> Reply<AdmitOutcome>;
    admit_now(room: &RoomId, mark: Mark, whom: AdmitNow) -> Reply<AdmitNowOutcome>;
    claim(room: &RoomId, mark: Mark, passes: Vec<PassId>) -> Reply<Vec<PassOutcome>>;
    touch(room: &RoomId, mark: Mark, passes: Vec<PassId>) -> Reply<Vec<PassOutcome>>;
    extend_for_payment(room: &RoomId, mark: Mark, pass: PassId, span: Millis)
        -> Reply<ExtendOutcome>;
    redeem(room: &RoomId, mark: Mark, ticket: Ticket) -> Reply<RedeemOutcome>;
    end_pass(room: &RoomId, mark: Mark, passes: Vec<PassId>) -> Reply<Vec<EndOutcome>>;
    revoke(room: &RoomId, mark: Mark, who: Vec<SubjectKey>) -> Reply<Vec<RevokeOutcome>>;
    change(room: &RoomId, mark: Mark, change: Change) -> Reply<ChangeOutcome>;
    set_group(group: &GroupId, settings: GroupSettings, rooms: Vec<RoomId>) -> ();
    read(room: &RoomId) -> Reply<Ledger>;
    subscribe(room: &RoomId, after: EventNo) -> Box<dyn EventFeed>;
    recover(room: &RoomId, settings: Settings, loss: Loss, node: NodeId)
        -> Reply<RecoverOutcome>;
    restore(room: &RoomId, mark: Mark, node: NodeId, telling: Telling) -> Reply<RestoreOutcome>;
    reattach(room: &RoomId, mark: Mark, receipts: Vec<Receipt>) -> Reply<Vec<ReattachOutcome>>;
    attend(room: &RoomId, mark: Mark, node: NodeId) -> Reply<()>;
    signal(room: &RoomId, mark: Mark, source: Source, load: Load, span: Millis)
        -> Reply<SignalOutcome>;
    due() -> Vec<RoomId>;
    dump(room: &RoomId) -> Reply<Dump>;
    rooms() -> Vec<RoomId>;
}
