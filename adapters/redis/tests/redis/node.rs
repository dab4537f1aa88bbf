//! A node as far as it meets a store that may have lost something: what it has seen, and how it tells of it.

use std::sync::Arc;
use std::time::Duration;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_line::{
    JoinOutcome, Ledger, Loss, Past, ReattachOutcome, Receipt, RecoverOutcome, RestoreOutcome,
    Settings,
};
use jari_ports::{Clock, LineStore, Reply, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_units::{Mark, Millis, NodeId, RoomId, Seq};
use tokio::time::{sleep, timeout};

/// A failover takes seconds; a busy machine is slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Ticks of a second that end any window.
const TICKS_MAX: u32 = 40;

pub(crate) struct Node {
    pub(crate) store: RedisStore,
    pub(crate) room: RoomId,
    pub(crate) mark: Mark,
    clock: Arc<SetClock>,
    id: NodeId,
}

fn open(url: &str, clock: &Arc<SetClock>) -> RedisStore {
    let options = RedisOptions::new(url).clock(Arc::clone(clock) as _);
    RedisStore::open(options).expect("the store opens")
}

/// Asks until the store says something, whichever.
pub(crate) async fn heard<T>(
    call: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let heard = async {
        loop {
            match call().await {
                Err(error) if error.is_away() => sleep(Duration::from_millis(20)).await,
                said => return said,
            }
        }
    };
    timeout(PATIENCE, heard).await.expect("the store comes back")
}

impl Node {
    /// A node that knows nothing of `room` yet.
    pub(crate) fn new(url: &str, room: &str, clock: &Arc<SetClock>, id: NodeId) -> Node {
        let room = room.parse().expect("an id");
        Node { store: open(url, clock), room, mark: Mark::NONE, clock: clock.clone(), id }
    }

    /// The same node, with a store somewhere else.
    pub(crate) fn moves_to(&mut self, url: &str) {
        self.store = open(url, &self.clock);
    }

    fn note<T>(&mut self, reply: Reply<T>) -> T {
        self.mark = reply.mark;
        reply.outcome
    }

    pub(crate) async fn create(&mut self, settings: Settings) {
        let made = self.store.create(&self.room, settings).await.expect("created");
        assert!(self.note(made), "it is new");
    }

    pub(crate) async fn attend(&mut self) {
        let attended = self.store.attend(&self.room, self.mark, self.id).await;
        self.note(attended.expect("attended"));
    }

    /// Their numbers, whether they are new ones or not.
    pub(crate) async fn join(&mut self, who: std::ops::RangeInclusive<u64>) -> Vec<Seq> {
        let joined = self.store.join(&self.room, self.mark, who.map(subject).collect()).await;
        let outcomes = self.note(joined.expect("joined"));
        let seq = |outcome| match outcome {
            JoinOutcome::Joined { seq }
            | JoinOutcome::Waiting { seq }
            | JoinOutcome::Absent { seq } => seq,
            other => panic!("{other:?}"),
        };
        outcomes.into_iter().map(seq).collect()
    }

    pub(crate) async fn read(&self) -> Ledger {
        heard(async || self.store.read(&self.room).await).await.expect("read").outcome
    }

    /// Nothing that would need to know everything is answered.
    pub(crate) async fn is_given_nothing(&self) {
        let (store, room, mark) = (&self.store, &self.room, self.mark);
        let lost = |error: StoreError| matches!(error, StoreError::LostHistory(_));
        let joined = heard(async || store.join(room, mark, vec![subject(99)]).await).await;
        assert!(joined.is_err_and(lost), "no number");
        let ticked = heard(async || store.admit(room, mark).await).await;
        assert!(ticked.is_err_and(lost), "nobody is let in");
        let read = heard(async || store.read(room).await).await;
        assert!(read.is_err_and(lost), "nor does a node take it for the line");
    }

    pub(crate) async fn recover(&mut self, origin: Option<u64>) -> RecoverOutcome {
        let loss = Loss::Seen(Past { mark: self.mark, origin });
        let settings = Settings::default();
        let (store, room) = (&self.store, &self.room);
        let answer = heard(async || store.recover(room, settings.clone(), loss, self.id).await);
        let reply = answer.await.expect("answered");
        self.note(reply)
    }

    pub(crate) async fn tell(&mut self, replica: &Ledger) {
        for telling in replica.tellings(replica.mark()) {
            let told = self.store.restore(&self.room, self.mark, self.id, telling).await;
            assert_eq!(self.note(told.expect("told")), RestoreOutcome::Merged);
        }
    }

    /// Somebody shows a place token that was good a moment ago.
    pub(crate) async fn show(&mut self, who: u64, incarnation: u64, seq: Seq) -> ReattachOutcome {
        let (subject, as_of) = (subject(who), self.clock.now());
        let receipt = Receipt { subject, incarnation, seq, as_of, pass: None };
        let shown = self.store.reattach(&self.room, self.mark, vec![receipt]).await;
        self.note(shown.expect("shown")).remove(0)
    }

    /// Ticks until the window is over.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..TICKS_MAX {
            self.clock.advance(Millis(1_000));
            let ticked = self.store.admit(&self.room, self.mark).await;
            self.note(ticked.expect("ticked"));
            if !self.read().await.is_recovering() {
                return;
            }
        }
        panic!("{TICKS_MAX} ticks, and the room still recovers");
    }
}
