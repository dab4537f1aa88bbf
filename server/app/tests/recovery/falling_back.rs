//! A line store that can fall back under its nodes: what answers from then on is another one, opened on older files or
//! none. Its feeds fall silent, as a connection to a machine does that is gone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use jari_embedded::EmbeddedStore;
use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Dump, EndOutcome,
    ExtendOutcome, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss, PassOutcome,
    ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome, RevokeOutcome,
    RoomEvent, SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_ports::{BoxFuture, Clock, EventFeed, FeedLost, LineStore, Reply, StoreError};
use jari_testkit::eventually;
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};

/// Losses that a test may have, and the store that it begins with.
const STORES: usize = 4;

#[derive(Debug)]
pub(crate) struct FallingBack {
    dir: PathBuf,
    clock: Arc<dyn Clock>,
    /// All stay open until the end, so that an answer may borrow from any.
    stores: [OnceLock<EmbeddedStore>; STORES],
    current: AtomicUsize,
    away: AtomicBool,
    in_flight: AtomicUsize,
    deaf: AtomicBool,
}

/// A subscription that no event reaches: its node's replica stays behind.
struct Silent;

impl EventFeed for Silent {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<RoomEvent>, FeedLost>> {
        Box::pin(std::future::pending())
    }
}

/// Counts a call while it lasts.
struct Flying<'a>(&'a AtomicUsize);

impl<'a> Flying<'a> {
    fn new(flights: &'a AtomicUsize) -> Self {
        flights.fetch_add(1, Ordering::SeqCst);
        Flying(flights)
    }
}

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FallingBack {
    /// One that begins with an empty store below `dir`.
    pub(crate) fn new(dir: &Path, clock: Arc<dyn Clock>) -> FallingBack {
        let store = FallingBack {
            dir: dir.to_owned(),
            clock,
            stores: Default::default(),
            current: AtomicUsize::new(0),
            away: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            deaf: AtomicBool::new(false),
        };
        store.open(0);
        store
    }

    fn folder(&self, nth: usize) -> PathBuf {
        self.dir.join(format!("line-{nth}"))
    }

    fn open(&self, nth: usize) {
        let store = EmbeddedStore::open(&self.folder(nth), self.clock.clone()).expect("it opens");
        self.stores[nth].set(store).expect("each is opened once");
        self.current.store(nth, Ordering::SeqCst);
    }

    fn current(&self) -> &EmbeddedStore {
        let nth = self.current.load(Ordering::SeqCst);
        self.stores[nth].get().expect("it was opened before it became the current one")
    }

    /// Copies the present files, byte for byte, as a file system's snapshot does. Calls are refused meanwhile.
    pub(crate) async fn snapshot(&self) {
        self.away.store(true, Ordering::SeqCst);
        eventually("no call is under way", async || {
            (self.in_flight.load(Ordering::SeqCst) == 0).then_some(())
        })
        .await;
        let nth = self.current.load(Ordering::SeqCst);
        let (from, to) = (self.folder(nth), self.folder(nth + 1));
        std::fs::create_dir(&to).expect("a new folder");
        for file in std::fs::read_dir(from).expect("the store's folder") {
            let file = file.expect("a file");
            let name = file.file_name();
            let shown = name.to_string_lossy();
            if shown.contains(".db") && !shown.ends_with("-shm") {
                std::fs::copy(file.path(), to.join(name)).expect("copied");
            }
        }
        self.away.store(false, Ordering::SeqCst);
    }

    /// A backup of the present files, which says that it is one.
    pub(crate) fn backup(&self) {
        let nth = self.current.load(Ordering::SeqCst);
        jari_embedded::backup(&self.folder(nth), &self.folder(nth + 1)).expect("a backup");
    }

    /// Whoever subscribes while this is set hears of nothing until it subscribes anew.
    pub(crate) fn deafen(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    /// From now on the store is the last snapshot, or an empty one where there is none.
    pub(crate) fn fall_back(&self) {
        self.open(self.current.load(Ordering::SeqCst) + 1);
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

macro_rules! falling_back {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $outcome:ty;)*) => {
        impl LineStore for FallingBack {
            fn subscribe(
                &self,
                room: &RoomId,
                after: EventNo,
            ) -> Answer<'_, Box<dyn EventFeed>> {
                if self.deaf.load(Ordering::SeqCst) {
                    return Box::pin(async { Ok(Box::new(Silent) as Box<dyn EventFeed>) });
                }
                self.current().subscribe(room, after)
            }

            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $outcome> {
                if self.away.load(Ordering::SeqCst) {
                    return Box::pin(async { Err(StoreError::Unavailable("a snapshot".into())) });
                }
                let flying = Flying::new(&self.in_flight);
                let answer = self.current().$name($($arg),*);
                Box::pin(async move {
                    let _flying = flying;
                    answer.await
                })
            })*
        }
    };
}

falling_back! {
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
