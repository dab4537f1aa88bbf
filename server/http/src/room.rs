//! One room at work on this node: its replica, its batches to the store, who was heard from, its streams.
//!
//! Handlers read the replica and never wait for the store to answer a poll. Knows no HTTP.

mod batcher;
mod collector;
pub(crate) mod counts;
mod follower;
mod goodbyes;
mod history;
mod hub;
mod live;
mod operations;
mod pacing;
mod passes;
mod presence;
mod public_view;
pub(crate) mod recovery;
mod recovery_receipts;
mod rest;
mod site_load;
mod unlisted;
mod waking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Event, LeaveOutcome,
    OutOfOrder, PassOutcome, Past, ReattachOutcome, Receipt, RevokeOutcome, RoomEvent, Settings,
};
use jari_ports::{Reply, RoomDefinition, StoreError};
use jari_units::{Incarnation, Mark, Millis, PassId, RoomId, Seq, SubjectKey};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use batcher::BatchError;
pub(crate) use hub::{Hub, LineFrame, Listening, Subscription, Wakes, Woken};
pub use live::Live;
pub use operations::Joined;

use crate::event_frames::line_frame;
use crate::jitter::Jitter;
use crate::losses::Losses;
use crate::metrics::{self, Cache, RoomCounts, RoomEvents};
use crate::options::Joins;
use crate::store_calls::StoreCalls;
use crate::store_health::StoreHealth;
use batcher::{Batcher, Queue};
use counts::Counts;
use goodbyes::Goodbyes;
use operations::Operations;
use pacing::PollPacing;
use presence::Presence;
use public_view::PublicView;
use recovery::Recovery;
use rest::Rest;
use site_load::SiteLoad;

/// A replica in the same process follows within microseconds; after this the caller is answered all the same.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct RoomRuntime {
    operations: Arc<Operations>,
    /// What the room is made anew with, should the store lose it.
    settings: ArcSwap<Settings>,
    jitter: Arc<Jitter>,
    live: RwLock<Live>,
    /// The replica's mark, for those who wait for it.
    reached: watch::Sender<Mark>,
    following: AtomicBool,
    joins: Batcher<SubjectKey, Joined>,
    leaves: Batcher<SubjectKey, (LeaveOutcome, Mark)>,
    claims: Batcher<PassId, PassOutcome>,
    touches: Batcher<PassId, PassOutcome>,
    receipts: Batcher<Receipt, (ReattachOutcome, Mark)>,
    recovery: Recovery,
    /// Who was told to have left.
    goodbyes: Goodbyes,
    /// The store is being asked whether it knows what a token names.
    suspecting: AtomicBool,
    /// Passes used since the last flush.
    used: Mutex<FxHashSet<PassId>>,
    presence: Presence,
    site: SiteLoad,
    /// When it was last woken though nobody was in it.
    woken: tokio::sync::Mutex<Option<Instant>>,
    /// Of the task that sends what gathers in `used`, `presence` and `hub`.
    collecting: Rest,
    pacing: PollPacing,
    hub: Arc<Hub>,
    public: PublicView,
    /// For the metrics alone.
    events: RoomEvents,
    counts: Counts,
    stop: CancellationToken,
}

impl RoomRuntime {
    /// Reads the room and starts to follow it; where the store has none, it was lost and recovers.
    ///
    /// # Errors
    /// The store's.
    pub async fn load(
        definition: &RoomDefinition,
        settings: Settings,
        (calls, health, losses): (Arc<StoreCalls>, Arc<StoreHealth>, Arc<Losses>),
        jitter: Arc<Jitter>,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let operations = Arc::new(Operations::new(definition.into(), calls, health, losses));
        let live = recovery::read(&operations, &settings, Past::default()).await?;
        let (reached, _) = watch::channel(live.ledger().mark());
        let events = RoomEvents::of(live.ledger());
        let runtime = Arc::new(RoomRuntime {
            settings: ArcSwap::from_pointee(settings),
            jitter,
            live: RwLock::new(live),
            reached,
            following: AtomicBool::new(true),
            joins: batch("join", &operations, &stop, |room, batch| async move {
                room.join(batch).await
            }),
            leaves: batch("leave", &operations, &stop, |room, batch| async move {
                room.leave(batch).await
            }),
            claims: batch("claim", &operations, &stop, |room, batch| async move {
                room.claim(batch).await
            }),
            touches: batch("touch", &operations, &stop, |room, batch| async move {
                room.touch(batch).await
            }),
            receipts: batch("reattach", &operations, &stop, |room, batch| async move {
                room.reattach(batch).await
            }),
            recovery: Recovery::default(),
            goodbyes: Goodbyes::default(),
            suspecting: AtomicBool::new(false),
            used: Mutex::default(),
            presence: Presence::default(),
            site: SiteLoad::new(),
            woken: tokio::sync::Mutex::default(),
            collecting: Rest::default(),
            pacing: PollPacing::new(),
            hub: Arc::default(),
            public: PublicView::default(),
            events,
            counts: Counts::default(),
            operations,
            stop: stop.clone(),
        });
        let (follow, collect) =
            (follower::follow(runtime.clone()), collector::run(runtime.clone()));
        tokio::spawn(stop.clone().run_until_cancelled_owned(follow));
        tokio::spawn(stop.run_until_cancelled_owned(collect));
        Ok(runtime)
    }

    #[must_use]
    pub fn id(&self) -> &RoomId {
        &self.operations.room.id
    }

    /// The newest incarnation that this node has heard of.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.operations.mark().incarnation
    }

    /// Looks at the room as it is now. Keep it short: events wait meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&Live) -> T) -> T {
        look(&self.live.read())
    }

    /// Whether events arrive; else the replica may be behind.
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.following.load(Ordering::Acquire)
    }

    /// Gives a subject a place or finds the one it has.
    ///
    /// # Errors
    /// [`BatchError`]; a repeated join finds what a lost answer gave.
    pub async fn join(&self, subject: SubjectKey) -> Result<Joined, BatchError> {
        let joined = match self.operations.calls.joins() {
            Joins::Together => self.joins.ask(subject).await?,
            // Its future is far larger than a wait for a batch.
            Joins::Apart => Box::pin(self.operations.join_alone(subject)).await?,
        };
        if self.reached.borrow().incarnation != joined.incarnation {
            // The room began anew and this replica has not heard of it: its numbers would mean nothing there.
            let first = Mark { incarnation: joined.incarnation, event_no: 0, next_seq: 0 };
            // Apart: it is rare, and would make every join's future larger.
            Box::pin(self.reach(first)).await;
        }
        Ok(joined)
    }

    /// Notes the use of a pass; its end slides with the next flush.
    pub fn note_use(&self, pass: PassId) {
        self.used.lock().insert(pass);
        self.collecting.stir();
    }

    /// Notes that a place was heard from.
    pub fn note_seen(&self, seq: Seq, absent: bool) {
        self.presence.note(seq, absent);
        self.collecting.stir();
    }

    /// Holds a place to the interval it was told.
    ///
    /// # Errors
    /// How long it should have waited.
    pub fn pace(&self, seq: Seq, directed: Millis) -> Result<(), Millis> {
        self.pacing.poll(seq, directed)
    }

    /// Opens a stream of a place, which counts as heard from while it is open.
    #[must_use]
    pub fn subscribe(&self, seq: Seq) -> Subscription {
        let subscription = self.hub.subscribe(seq);
        self.collecting.stir();
        subscription
    }

    /// Listens for a stream that `woken`'s writer serves as its number `nth`; its place counts as heard from too.
    pub(crate) fn listen(&self, seq: Seq, nth: u32, woken: &Arc<Woken>) -> Listening {
        let listening = self.hub.listen(seq, nth, woken);
        self.collecting.stir();
        listening
    }

    /// Its streams, for who serves many of them at once.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The bytes of the room's public view, made at most once a second by `encode`.
    #[must_use]
    pub fn public_view(&self, encode: impl FnOnce(&Live) -> bytes::Bytes) -> bytes::Bytes {
        let mut hit = true;
        let bytes = self.public.get(|| {
            hit = false;
            self.read(encode)
        });
        self.operations.calls.metrics().cache_asked(Cache::RoomView, hit);
        bytes
    }

    /// What this node counts of it.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The room was deleted.
    pub async fn deleted(&self) {
        self.stop.cancelled().await;
    }

    /// One tick. Whoever came back since the last one is told to the store before it.
    ///
    /// # Errors
    /// The store's.
    pub async fn tick(&self) -> Result<AdmitOutcome, StoreError> {
        if self.presence.has_returned() {
            self.flush_presence().await?;
        }
        self.operations.admit().await
    }

    /// Admits beside the tick; then the replica knows of it.
    ///
    /// # Errors
    /// The store's.
    pub async fn admit_now(&self, whom: AdmitNow) -> Result<AdmitNowOutcome, StoreError> {
        // People heard from but not flushed yet must not be passed over.
        self.flush_presence().await?;
        let reply = self.operations.admit_now(whom).await?;
        self.settled(reply).await
    }

    /// An operator's change; then the replica knows of it. Settings and texts were checked by the caller.
    ///
    /// # Errors
    /// The store's.
    pub async fn change(&self, change: Change) -> Result<ChangeOutcome, StoreError> {
        // These are dated, and an idle room's clock stands where its last tick left it.
        let dated = matches!(change, Change::Announce(_) | Change::Open);
        if dated && self.read(|live| live.ledger().is_idle()) {
            self.operations.admit().await?;
        }
        let reply = self.operations.change(change).await?;
        self.settled(reply).await
    }

    /// Takes passes away; then the replica knows of it.
    ///
    /// # Errors
    /// The store's.
    pub async fn revoke(
        &self,
        subjects: Vec<SubjectKey>,
    ) -> Result<Vec<RevokeOutcome>, StoreError> {
        let reply = self.operations.revoke(subjects).await?;
        self.settled(reply).await
    }

    async fn settled<T>(&self, reply: Reply<T>) -> Result<T, StoreError> {
        self.reach(reply.mark).await;
        Ok(reply.outcome)
    }

    /// Waits until the replica is at `mark` or beyond. Whether it got there in time.
    pub async fn reach(&self, mark: Mark) -> bool {
        let mut reached = self.reached.subscribe();
        let there = reached.wait_for(|at| !at.is_behind(&mark));
        timeout(CATCH_UP_MAX, there).await.is_ok()
    }

    /// The settings the operator wants: what the room is made anew with.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.settings.store(Arc::new(settings));
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    fn operations(&self) -> &Operations {
        &self.operations
    }

    fn jitter(&self) -> &Jitter {
        &self.jitter
    }

    fn set_following(&self, following: bool) {
        self.following.store(following, Ordering::Release);
    }

    fn apply(&self, event: &RoomEvent) -> Result<(), OutOfOrder> {
        let applied_at = Instant::now();
        let (serving, frame, mark, dwells) = {
            let mut live = self.live.write();
            let before = live.ledger().serving();
            let dwells = metrics::dwells(live.ledger(), &event.event);
            live.apply(event)?;
            self.counts.add_dwells(&dwells);
            self.counts.unlisted.note(&event.event);
            let ticked = event.event.tick().is_some();
            // Asked in any case: who opens a stream from now on is told the line as it is.
            let news = ticked && live.take_untold();
            let frame = (news && self.hub.has_streams()).then(|| line_frame(&live));
            ((before, live.ledger().serving()), frame, live.ledger().mark(), dwells)
        };
        if matches!(event.event, Event::Settled(_)) {
            self.recovery.ended();
            // Everybody's position is known again.
            self.hub.wake_all(applied_at);
        }
        self.hub.wake_for(&event.event, serving, applied_at);
        if let Some(bytes) = frame {
            self.hub.publish(LineFrame { bytes, applied_at });
        }
        self.events.note(dwells);
        self.operations.note(mark);
        self.reached.send_replace(mark);
        Ok(())
    }

    /// The room was read anew.
    fn replace(self: &Arc<Self>, new: Live) {
        let (mark, recovering) = (new.ledger().mark(), new.ledger().is_recovering());
        let frame = self.hub.has_streams().then(|| line_frame(&new));
        let mut old = std::mem::replace(&mut *self.live.write(), new);
        if old.ledger().mark().incarnation != mark.incarnation {
            // Numbers of another history mean other people.
            self.presence.take();
            self.goodbyes.tell(&mut old);
        }
        let applied_at = Instant::now();
        self.hub.wake_all(applied_at);
        if let Some(bytes) = frame {
            self.hub.publish(LineFrame { bytes, applied_at });
        }
        self.reached.send_replace(mark);
        if let Some(older) = self.recovery.replaced(old, mark, recovering) {
            let tell = recovery::tell(self.clone(), older);
            tokio::spawn(self.stop.clone().run_until_cancelled_owned(tell));
        }
    }

    /// Nothing has gathered here since the last flush, and nobody listens.
    fn has_nothing_to_send(&self) -> bool {
        let quiet = self.presence.is_empty() && self.used.lock().is_empty();
        quiet && !self.hub.has_streams() && self.site.is_quiet()
    }

    /// What the metrics show of it.
    pub(crate) fn measured(&self) -> RoomCounts {
        let told = self.operations.mark().event_no;
        let (passes, receipts) = ([&self.claims as &dyn Queue, &self.touches], &self.receipts);
        let batches = [&self.joins as &dyn Queue, &self.leaves, passes[0], passes[1], receipts];
        let batches = batches.map(|batch| (batch.name(), batch.waiting() as u64));
        self.read(|live| {
            let ledger = live.ledger();
            let lag_events = told.saturating_sub(ledger.mark().event_no);
            RoomCounts::of(self.id(), ledger, &self.events, lag_events, batches)
        })
    }

    /// Sends who was heard from, and by which node; what could not be sent goes with the next.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn flush_presence(&self) -> Result<(), StoreError> {
        let mut seen = self.presence.take();
        seen.add_all(&self.hub.streaming());
        for bits in jari_line::SeenBits::pack(&seen) {
            if let Err(error) = self.operations.seen(bits).await {
                self.presence.put_back(&seen);
                return Err(error);
            }
        }
        self.operations.attend_in_turn().await
    }

    /// Sends which passes were used; what could not be sent goes with the next.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn flush_uses(&self) -> Result<(), StoreError> {
        let used: Vec<PassId> = std::mem::take(&mut *self.used.lock()).into_iter().collect();
        for (at, chunk) in used.chunks(jari_units::limits::JOIN_BATCH_MAX).enumerate() {
            if let Err(error) = self.operations.touch(chunk.to_vec()).await {
                let unsent = &used[at * jari_units::limits::JOIN_BATCH_MAX..];
                self.used.lock().extend(unsent);
                return Err(error);
            }
        }
        Ok(())
    }
}

fn batch<In, Out, Call, Answer>(
    name: &'static str,
    operations: &Arc<Operations>,
    stop: &CancellationToken,
    call: Call,
) -> Batcher<In, Out>
where
    In: Send + 'static,
    Out: Send + 'static,
    Call: Fn(Arc<Operations>, Vec<In>) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Result<Vec<Out>, StoreError>> + Send + 'static,
{
    let operations = operations.clone();
    Batcher::start(name, stop.clone(), move |batch| call(operations.clone(), batch))
}
