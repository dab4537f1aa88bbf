//! `EmbeddedStore`: the port's operations, each sent to the writer as one call of the core. Holds no room itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, Done, Dump, EndOutcome,
    ExtendOutcome, GroupSettings, JoinOutcome, LeaveOutcome, Ledger, Load, Loss, LostHistory,
    PassOutcome, ReattachOutcome, Receipt, RecoverOutcome, RedeemOutcome, RestoreOutcome,
    RevokeOutcome, Room, SeenBits, Settings, SignalOutcome, Source, Telling, Ticket,
};
use jari_ports::{BoxFuture, Clock, EventFeed, LineStore, Reply, StoreError};
use jari_units::{EventNo, GroupId, Incarnation, Mark, Millis, NodeId, PassId, RoomId, SubjectKey};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::checkpointer::Checkpointer;
use crate::checkpoints::Checkpoints;
use crate::file_mark::FileMark;
use crate::folder::{FolderLock, checkpoints_file, journal_file};
use crate::job::{Call, Message};
use crate::journal::Journal;
use crate::limits::{QUEUE_MAX, Tuning};
use crate::lines::Lines;
use crate::restart::{Loaded, load};
use crate::stats::Meter;
use crate::writer::{Checkpointing, Writer};
use crate::{OpenError, StoreStats};

/// The default line store. Dropping it finishes what was sent and closes the files.
#[derive(Debug)]
pub struct EmbeddedStore {
    dir: PathBuf,
    queue: UnboundedSender<Message>,
    /// Bounds the queue; the channel itself is unbounded so that closing never waits for room in it.
    places: Arc<Semaphore>,
    writer: Mutex<Option<JoinHandle<()>>>,
    meter: Arc<Meter>,
}

type Answer<'a, T> = BoxFuture<'a, Result<Reply<T>, StoreError>>;

impl EmbeddedStore {
    /// Opens the store in `dir`, which is made where it is missing, and reads all rooms. Blocks: about half a second
    /// for a million people.
    ///
    /// # Errors
    /// [`OpenError`] names the file and what to do.
    pub fn open(dir: &Path, clock: Arc<dyn Clock>) -> Result<EmbeddedStore, OpenError> {
        EmbeddedStore::open_tuned(dir, clock, Tuning::default())
    }

    pub(crate) fn open_tuned(
        dir: &Path,
        clock: Arc<dyn Clock>,
        tuning: Tuning,
    ) -> Result<EmbeddedStore, OpenError> {
        let lock = FolderLock::take(dir)?;
        let (file, checkpoints) = (journal_file(dir), checkpoints_file(dir));
        if FileMark::of(&file).is_none() && FileMark::of(&checkpoints).is_some() {
            // The journal is made first: it has been lost since, and an empty one would lose everybody's place.
            return Err(OpenError::Missing { file, beside: checkpoints.display().to_string() });
        }
        let mut journal = Journal::open(dir, &tuning)?;
        let Loaded { stored, garbage, forgotten } = load(&journal, &Checkpoints::open(dir)?)?;
        let mut lines = Lines::new(stored, clock);
        if journal.is_copy()? {
            // Older files in place of newer ones: what people were told since is lost, and nothing else shows it.
            lines.recover_all();
            journal.commit_as_original(&lines.take_draft())?;
            lines.begin_feeds();
        }
        let (queue, mut received) = unbounded_channel();
        let thread = Checkpointer::start(dir.to_owned(), queue.clone())?;
        for (room, incarnation) in forgotten {
            thread.forget(&room, incarnation);
        }
        let meter = Arc::new(Meter::default());
        let writer = Writer {
            dir: dir.to_owned(),
            tuning,
            lines,
            journal: Some(journal),
            garbage,
            checkpoints: Checkpointing::new(thread),
            trouble: None,
            meter: Arc::clone(&meter),
            ahead_noted: None,
            lock,
        };
        let thread = std::thread::Builder::new()
            .name("jari-writer".into())
            .spawn(move || writer.run(&mut received))
            .map_err(|source| OpenError::Threads { source })?;
        Ok(EmbeddedStore {
            dir: dir.to_owned(),
            queue,
            places: Arc::new(Semaphore::new(QUEUE_MAX)),
            writer: Mutex::new(Some(thread)),
            meter,
        })
    }

    /// Finishes the commands sent so far and closes the files; later calls answer "unavailable". Blocks until done.
    pub fn close(&self) {
        // Not received when the writer has ended already.
        let _ = self.queue.send(Message::Stop);
        let writer = self.writer.lock().take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!(dir = %self.dir.display(), "the writer thread had panicked");
        }
    }

    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.meter.read(QUEUE_MAX - self.places.available_permits())
    }

    /// Sends work to the writer and waits until it is durable.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Lines) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let closed = || StoreError::Unavailable("it is closed".into());
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (call, answer) = Call::new(work, place);
        self.queue.send(Message::Run(Box::new(call))).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    fn on_room<T: Send + 'static>(
        &self,
        id: &RoomId,
        operation: impl FnOnce(&mut Room) -> Result<Done<T>, LostHistory> + Send + 'static,
    ) -> Answer<'_, T> {
        let id = id.clone();
        Box::pin(self.call(move |lines| lines.on_room(&id, operation)))
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl LineStore for EmbeddedStore {
    fn create(&self, room: &RoomId, settings: Settings) -> Answer<'_, bool> {
        let room = room.clone();
        Box::pin(self.call(move |lines| Ok(lines.create(&room, settings))))
    }

    fn delete(&self, room: &RoomId, until: Incarnation) -> BoxFuture<'_, Result<bool, StoreError>> {
        let room = room.clone();
        Box::pin(self.call(move |lines| Ok(lines.delete(&room, until))))
    }

    fn join(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<JoinOutcome>> {
        self.on_room(room, move |room| room.join(mark, &subjects))
    }

    fn leave(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<LeaveOutcome>> {
        self.on_room(room, move |room| room.leave(mark, &subjects))
    }

    fn seen(&self, room: &RoomId, mark: Mark, bits: SeenBits) -> Answer<'_, ()> {
        self.on_room(room, move |room| room.seen(mark, &bits))
    }

    fn admit(&self, room: &RoomId, mark: Mark) -> Answer<'_, AdmitOutcome> {
        let room = room.clone();
        Box::pin(self.call(move |lines| lines.admit(&room, mark)))
    }

    fn admit_now(&self, room: &RoomId, mark: Mark, whom: AdmitNow) -> Answer<'_, AdmitNowOutcome> {
        self.on_room(room, move |room| room.admit_now(mark, &whom))
    }

    fn claim(
        &self,
        room: &RoomId,
        mark: Mark,
        passes: Vec<PassId>,
    ) -> Answer<'_, Vec<PassOutcome>> {
        self.on_room(room, move |room| room.claim(mark, &passes))
    }

    fn touch(
        &self,
        room: &RoomId,
        mark: Mark,
        passes: Vec<PassId>,
    ) -> Answer<'_, Vec<PassOutcome>> {
        self.on_room(room, move |room| room.touch(mark, &passes))
    }

    fn extend_for_payment(
        &self,
        room: &RoomId,
        mark: Mark,
        pass: PassId,
        span: Millis,
    ) -> Answer<'_, ExtendOutcome> {
        self.on_room(room, move |room| room.extend_for_payment(mark, pass, span))
    }

    fn redeem(&self, room: &RoomId, mark: Mark, ticket: Ticket) -> Answer<'_, RedeemOutcome> {
        self.on_room(room, move |room| room.redeem(mark, &ticket))
    }

    fn end_pass(
        &self,
        room: &RoomId,
        mark: Mark,
        passes: Vec<PassId>,
    ) -> Answer<'_, Vec<EndOutcome>> {
        self.on_room(room, move |room| room.end_pass(mark, &passes))
    }

    fn revoke(
        &self,
        room: &RoomId,
        mark: Mark,
        subjects: Vec<SubjectKey>,
    ) -> Answer<'_, Vec<RevokeOutcome>> {
        self.on_room(room, move |room| room.revoke(mark, &subjects))
    }

    fn change(&self, room: &RoomId, mark: Mark, change: Change) -> Answer<'_, ChangeOutcome> {
        self.on_room(room, move |room| room.change(mark, change))
    }

    fn set_group(
        &self,
        group: &GroupId,
        settings: GroupSettings,
        rooms: Vec<RoomId>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let group = group.clone();
        Box::pin(self.call(move |lines| {
            lines.set_group(&group, settings, rooms);
            Ok(())
        }))
    }

    fn read(&self, room: &RoomId) -> Answer<'_, Ledger> {
        self.on_room(room, |room| Ok(Done { outcome: room.read(), mark: room.mark(), event: None }))
    }

    fn subscribe(
        &self,
        room: &RoomId,
        after: EventNo,
    ) -> BoxFuture<'_, Result<Box<dyn EventFeed>, StoreError>> {
        let room = room.clone();
        Box::pin(async move {
            let feed = self.call(move |lines| lines.subscribe(&room, after)).await?;
            Ok(Box::new(feed) as Box<dyn EventFeed>)
        })
    }

    fn recover(
        &self,
        room: &RoomId,
        settings: Settings,
        loss: Loss,
        _node: NodeId,
    ) -> Answer<'_, RecoverOutcome> {
        let room = room.clone();
        Box::pin(self.call(move |lines| Ok(lines.recover(&room, settings, &loss))))
    }

    fn restore(
        &self,
        room: &RoomId,
        mark: Mark,
        node: NodeId,
        telling: Telling,
    ) -> Answer<'_, RestoreOutcome> {
        self.on_room(room, move |room| room.restore(mark, node, &telling))
    }

    fn reattach(
        &self,
        room: &RoomId,
        mark: Mark,
        receipts: Vec<Receipt>,
    ) -> Answer<'_, Vec<ReattachOutcome>> {
        self.on_room(room, move |room| room.reattach(mark, &receipts))
    }

    fn attend(&self, room: &RoomId, mark: Mark, node: NodeId) -> Answer<'_, ()> {
        self.on_room(room, move |room| room.attend(mark, node))
    }

    fn signal(
        &self,
        room: &RoomId,
        mark: Mark,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Answer<'_, SignalOutcome> {
        self.on_room(room, move |room| room.signal(mark, source, load, span))
    }

    fn dump(&self, room: &RoomId) -> Answer<'_, Dump> {
        // The writer only hands out a copy that shares the subjects; sorting them is the caller's time.
        let copy = self.on_room(room, |room| {
            Ok(Done { outcome: room.clone(), mark: room.mark(), event: None })
        });
        Box::pin(async move {
            let Reply { outcome: room, mark } = copy.await?;
            Ok(Reply { outcome: room.dump(), mark })
        })
    }

    fn due(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.call(|lines| Ok(lines.due())))
    }

    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomId>, StoreError>> {
        Box::pin(self.call(|lines| Ok(lines.ids())))
    }
}
