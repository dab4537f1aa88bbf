//! The writer thread: takes what is queued, runs it, commits it once, then publishes and answers. Decides no rule.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jari_ports::StoreError;
use jari_units::{EventNo, RoomId};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use crate::OpenError;
use crate::checkpointer::{Checkpointer, Written};
use crate::checkpoints::Checkpoints;
use crate::database::folder_of;
use crate::folder::FolderLock;
use crate::job::{Job, Message};
use crate::journal::{Draft, Garbage, Journal};
use crate::limits::{AHEAD_NOTED_EVERY, BATCH_MAX, PURGE_ROWS, RETRY_FIRST, RETRY_MAX, Tuning};
use crate::lines::Lines;
use crate::restart::{Loaded, load};
use crate::stats::Meter;

pub(crate) struct Writer {
    pub(crate) dir: PathBuf,
    pub(crate) tuning: Tuning,
    pub(crate) lines: Lines,
    /// `None` while the disk refuses.
    pub(crate) journal: Option<Journal>,
    pub(crate) garbage: Vec<Garbage>,
    pub(crate) checkpoints: Checkpointing,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) meter: Arc<Meter>,
    /// When it was last counted what no checkpoint covers; `None`: it has changed at a stroke since.
    pub(crate) ahead_noted: Option<Instant>,
    /// Held for as long as anything may be written.
    pub(crate) lock: FolderLock,
}

/// The disk refused: what callers are told, and when to try again.
pub(crate) struct Trouble {
    told: StoreError,
    pause: Duration,
    retry_at: Instant,
}

/// Which rooms want a checkpoint, and the one being written.
pub(crate) struct Checkpointing {
    pub(crate) thread: Checkpointer,
    /// The journal bytes that the checkpoint under way covers.
    writing: Option<u64>,
    due: BTreeSet<RoomId>,
    /// Set by a checkpoint that failed: the next one is not tried before.
    not_before: Option<Instant>,
}

impl Checkpointing {
    pub(crate) fn new(thread: Checkpointer) -> Self {
        Checkpointing { thread, writing: None, due: BTreeSet::new(), not_before: None }
    }
}

impl Writer {
    pub(crate) fn run(mut self, queue: &mut UnboundedReceiver<Message>) {
        let mut messages = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut messages, BATCH_MAX) > 0 {
            if self.serve(&mut messages) {
                break;
            }
        }
        tracing::debug!(dir = %self.dir.display(), lock = ?self.lock, "the store is closed");
    }

    /// One batch, one commit; whether to stop.
    fn serve(&mut self, messages: &mut Vec<Message>) -> bool {
        self.try_again();
        let started = Instant::now();
        let mut stop = false;
        let mut jobs: Vec<Box<dyn Job>> = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                // What was sent after the stop is dropped: its callers are told that the store is closed.
                _ if stop => {}
                Message::Stop => stop = true,
                Message::Written(written) => self.written(written),
                Message::Run(mut job) => {
                    if self.trouble.is_none() {
                        job.run(&mut self.lines);
                    }
                    jobs.push(job);
                }
            }
        }
        let before_commit = started.elapsed();
        let committed = self.commit();
        let after_commit = Instant::now();
        let settled = jobs.len();
        for job in jobs {
            job.settle(committed.as_ref().copied());
        }
        self.order_checkpoint();
        self.note_ahead();
        self.meter.worked(settled, before_commit + after_commit.elapsed());
        stop
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.told.clone());
        }
        let draft = self.lines.take_draft();
        if draft.is_empty() {
            return Ok(());
        }
        let journal = self.journal.as_mut().expect("the journal is open unless the disk refuses");
        let rows = PURGE_ROWS.max(2 * draft.events.len() as u64);
        let started = Instant::now();
        let garbage = self.garbage.last().map(|garbage| (garbage, rows));
        let committed = journal.commit(&draft, garbage);
        let committed = committed.map_err(|error| journal.database.error(error));
        // Looked at after the commit: what went to a file that is gone is on no disk.
        match committed.and_then(|done| journal.check_place().map(|()| done)) {
            Ok((sizes, left)) => {
                self.meter.committed(draft.events.len(), started.elapsed());
                if !left {
                    self.garbage.pop();
                }
                self.publish(&draft, &sizes);
                Ok(())
            }
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// What is durable may be known: events go to subscribers before any answer goes out, so that whoever reads an
    /// answer's mark can subscribe after it.
    fn publish(&mut self, draft: &Draft, sizes: &[u64]) {
        for ((id, event), bytes) in draft.events.iter().zip(sizes) {
            let Some(line) = self.lines.line(id) else {
                continue;
            };
            if line.feed.incarnation() != event.incarnation {
                continue;
            }
            line.feed.publish(event);
            line.since.events += 1;
            line.since.bytes += bytes;
            let bytes_max = self.tuning.checkpoint_bytes.max(line.checkpoint_bytes);
            if line.since.events >= self.tuning.checkpoint_events || line.since.bytes >= bytes_max {
                self.checkpoints.due.insert(id.clone());
            }
        }
        for row in draft.rooms.iter().filter(|row| !row.alive) {
            let (room, incarnation) = (row.id.clone(), row.incarnation);
            self.checkpoints.thread.forget(&room, incarnation);
            self.garbage.push(Garbage { room, incarnation, below: EventNo::MAX });
        }
    }

    fn note_ahead(&mut self) {
        if self.ahead_noted.is_none_or(|at| at.elapsed() >= AHEAD_NOTED_EVERY) {
            self.meter.ahead(self.lines.ahead());
            self.ahead_noted = Some(Instant::now());
        }
    }

    fn order_checkpoint(&mut self) {
        let checkpoints = &mut self.checkpoints;
        let wait = checkpoints.not_before.is_some_and(|at| Instant::now() < at);
        if checkpoints.writing.is_some() || wait || self.trouble.is_some() {
            return;
        }
        while let Some(id) = checkpoints.due.pop_first() {
            if let Some(line) = self.lines.line(&id) {
                checkpoints.writing = Some(line.since.bytes);
                checkpoints.thread.write(&id, line.room.clone());
                return;
            }
        }
    }

    fn written(&mut self, written: Written) {
        let covered = self.checkpoints.writing.take().unwrap_or(0);
        self.ahead_noted = None;
        let Written { room, incarnation, event_no, outcome } = written;
        self.meter.checkpointed(outcome.is_ok());
        let bytes = match outcome {
            Ok(bytes) => bytes,
            Err(error) => {
                // Told once: the journal alone keeps everything, and goes on growing.
                if self.checkpoints.not_before.is_none() {
                    tracing::warn!(%room, %error, "room {room} has no new checkpoint, the journal grows: {error}");
                }
                self.checkpoints.not_before = Some(Instant::now() + RETRY_MAX);
                return;
            }
        };
        self.checkpoints.not_before = None;
        let Some(line) = self.lines.line(&room) else {
            return;
        };
        let mark = line.room.mark();
        if mark.incarnation != incarnation {
            return;
        }
        line.since.events = mark.event_no.saturating_sub(event_no);
        line.since.bytes = line.since.bytes.saturating_sub(covered);
        line.checkpoint_bytes = bytes;
        let ancestors = std::mem::take(&mut line.ancestors);
        let gone = |incarnation| Garbage { room: room.clone(), incarnation, below: EventNo::MAX };
        self.garbage.extend(ancestors.into_iter().map(gone));
        self.garbage.retain(|old| old.room != room || old.incarnation != incarnation);
        self.garbage.push(Garbage { room, incarnation, below: event_no });
    }

    /// Nothing of the batch is acknowledged; memory is ahead of the disk from here on.
    fn fail(&mut self, error: &OpenError) -> StoreError {
        let told = StoreError::Unavailable(advice(error));
        tracing::error!(%error, "the store stopped answering: {error}");
        self.meter.failed();
        let retry_at = Instant::now() + RETRY_FIRST;
        self.trouble = Some(Trouble { told: told.clone(), pause: RETRY_FIRST, retry_at });
        told
    }

    /// Reads everything from the disk again once it takes writes. Driven by calls: with none, nobody waits for it.
    fn try_again(&mut self) {
        let Some(trouble) = &self.trouble else {
            return;
        };
        let pause = (trouble.pause * 2).min(RETRY_MAX);
        if Instant::now() < trouble.retry_at {
            return;
        }
        match self.reload() {
            Ok(()) => {
                self.trouble = None;
                self.meter.recovered();
                tracing::info!(dir = %self.dir.display(), "the store answers again");
            }
            Err(error) => {
                let told = StoreError::Unavailable(advice(&error));
                self.trouble = Some(Trouble { told, pause, retry_at: Instant::now() + pause });
            }
        }
    }

    fn reload(&mut self) -> Result<(), OpenError> {
        // A new connection: what the old one holds in its cache may not be what the disk took.
        self.journal = None;
        let journal = Journal::open_again(&self.dir, &self.tuning)?;
        journal.probe().map_err(|error| journal.database.error(error))?;
        let Loaded { stored, garbage, forgotten } = load(&journal, &Checkpoints::open(&self.dir)?)?;
        self.lines.replace(stored);
        self.garbage = garbage;
        for (room, incarnation) in forgotten {
            self.checkpoints.thread.forget(&room, incarnation);
        }
        self.journal = Some(journal);
        Ok(())
    }
}

/// What an operator should look at.
fn advice(error: &OpenError) -> String {
    match error {
        OpenError::Database { file, source }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) =>
        {
            format!("{} cannot grow: free space in {}", file.display(), folder_of(file).display())
        }
        other => other.to_string(),
    }
}
