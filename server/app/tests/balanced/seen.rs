//! What one person saw of the line, and what must hold of it: one number, a position that never grows, and no silence for
//! longer than a node may take to be left.

use std::sync::Arc;
use std::time::Duration;

use jari_api::{PlaceStatus, PlaceView};
use parking_lot::Mutex;
use tokio::time::Instant;

/// What happened to one person's calls and streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) answers: u64,
    /// Told to ask again later, and when: 429 and 503 with a time.
    pub(crate) directed: u64,
    /// No answer, or one that no node gave: made again by the page. What they were.
    pub(crate) failed: Vec<String>,
    pub(crate) streams: u64,
    /// Streams that a going node sent elsewhere.
    pub(crate) sent_away: u64,
    /// Streams that broke off.
    pub(crate) broke_off: u64,
    /// Streams given up for their silence.
    pub(crate) given_up: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.answers += other.answers;
        self.directed += other.directed;
        self.failed.extend(other.failed.iter().cloned());
        self.streams += other.streams;
        self.sent_away += other.sent_away;
        self.broke_off += other.broke_off;
        self.given_up += other.given_up;
    }
}

#[derive(Debug)]
struct Notes {
    seq: u64,
    position: Option<u64>,
    status: PlaceStatus,
    heard: Vec<Instant>,
    counts: Counts,
    wrong: Vec<String>,
}

/// Shared between whoever sees and whoever checks.
#[derive(Clone, Debug)]
pub(crate) struct Seen(Arc<Mutex<Notes>>);

impl Seen {
    pub(crate) fn of(view: &PlaceView) -> Seen {
        Seen(Arc::new(Mutex::new(Notes {
            seq: view.seq,
            position: view.position,
            status: view.status,
            heard: vec![Instant::now()],
            counts: Counts::default(),
            wrong: Vec::new(),
        })))
    }

    /// Anything that a node said.
    pub(crate) fn hear(&self) {
        self.0.lock().heard.push(Instant::now());
    }

    pub(crate) fn place(&self, view: &PlaceView) {
        let mut notes = self.0.lock();
        let Notes { seq, position, .. } = *notes;
        if view.seq != seq {
            notes.wrong.push(format!("number {seq} became {}", view.seq));
        }
        if let (Some(now), Some(before)) = (view.position, position)
            && now > before
        {
            notes.wrong.push(format!("number {seq} was at {before} and then at {now}"));
        }
        if view.status != PlaceStatus::Waiting && view.status != PlaceStatus::Admitted {
            notes.wrong.push(format!("number {seq} is {:?}", view.status));
        }
        if notes.status == PlaceStatus::Admitted && view.status != PlaceStatus::Admitted {
            notes.wrong.push(format!("number {seq} was let in and is {:?}", view.status));
        }
        notes.status = view.status;
        notes.position = view.position.or(position);
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.0.lock().counts);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.0.lock().counts.clone()
    }

    pub(crate) fn seq(&self) -> u64 {
        self.0.lock().seq
    }

    /// How the place stood last, and where in line.
    pub(crate) fn now(&self) -> (PlaceStatus, Option<u64>) {
        let notes = self.0.lock();
        (notes.status, notes.position.filter(|_| notes.status == PlaceStatus::Waiting))
    }

    pub(crate) fn admitted(&self) -> bool {
        self.0.lock().status == PlaceStatus::Admitted
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.0.lock().wrong.clone()
    }

    pub(crate) fn heard_since(&self, since: Instant) -> bool {
        self.0.lock().heard.last().is_some_and(|last| *last > since)
    }

    /// The longest time without a word from `since` on.
    pub(crate) fn silence(&self, since: Instant) -> Duration {
        let notes = self.0.lock();
        let later = notes.heard.iter().filter(|heard| **heard > since);
        let (longest, _) = later.fold((Duration::ZERO, since), |(longest, before), heard| {
            (longest.max(heard.duration_since(before)), *heard)
        });
        longest
    }
}
