//! What operators watch: once a second every room is looked at, its past is kept for some minutes, and one frame is
//! encoded for all who listen. Nothing is encoded while nobody does. Who may listen is the handler's business.

mod frame;
mod history;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use jari_api::Reconnect;
use jari_api::admin::HistoryList;
use jari_line::GroupSettings;
use jari_units::limits::TICK;
use jari_units::{GroupId, RoomId, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::event_frames::{HEARTBEAT, passing_frame};
use crate::event_stream::HEARTBEAT_EVERY;
use crate::metrics::Counted;
use crate::state::AppState;
use history::Book;

/// Operators' streams of one node: a dozen people with a few screens each. Every one costs a frame a second, about 600
/// bytes a room, and 30 KB of memory.
pub(crate) const OPERATORS_MAX: usize = 64;
/// Between two frames at least: a script that makes a hundred changes a second must not fill the operators' phones.
const FRAMES_APART: Duration = Duration::from_millis(200);
/// When the server goes away, operators come back spread over this: few, and in a hurry to see what is going on.
const RECONNECT_SPREAD_MS: u64 = 1_000;

/// The feed of one node.
#[derive(Debug)]
pub(crate) struct OperatorFeed {
    since: Timestamp,
    /// The newest frame. Who could not take one in time takes the next instead.
    frames: watch::Sender<Bytes>,
    /// Somebody has just come and wants a frame now.
    asked: Notify,
    /// Somebody watches, so rooms that nobody used on this node are to be read.
    wanted: Notify,
    seats: Arc<Semaphore>,
    changes: AtomicU64,
    book: Mutex<Book>,
    /// As last told: they cannot be read while one is being changed.
    groups: Mutex<Vec<(GroupId, GroupSettings)>>,
}

/// One operator's place at the feed, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Seat {
    key_id: String,
    frames: watch::Receiver<Bytes>,
    _permit: OwnedSemaphorePermit,
    _open: Counted,
}

impl OperatorFeed {
    pub(crate) fn new(since: Timestamp) -> Self {
        let (frames, _) = watch::channel(Bytes::new());
        OperatorFeed {
            since,
            frames,
            asked: Notify::new(),
            wanted: Notify::new(),
            seats: Arc::new(Semaphore::new(OPERATORS_MAX)),
            changes: AtomicU64::new(0),
            book: Mutex::default(),
            groups: Mutex::default(),
        }
    }

    /// An operator has changed something.
    pub(crate) fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.asked.notify_one();
    }

    /// The past of one room, or of all, in steps of so many seconds. Rooms that were not looked at yet are from now on.
    pub(crate) fn history(
        &self,
        room: Option<&RoomId>,
        step_s: u32,
        now: Timestamp,
    ) -> HistoryList {
        self.wanted.notify_one();
        let rooms = self.book.lock().told(room, step_s);
        HistoryList { counting_since: self.since.into(), at: now.into(), step_s, rooms }
    }

    fn operators(&self) -> u64 {
        (OPERATORS_MAX - self.seats.available_permits()) as u64
    }
}

/// Takes a seat for the holder of a key; `None` where all are taken.
pub(crate) fn take_seat(state: &AppState, key_id: String) -> Option<Seat> {
    let feed = &state.operator_feed;
    let permit = feed.seats.clone().try_acquire_owned().ok()?;
    let seat = Seat {
        key_id,
        frames: feed.frames.subscribe(),
        _permit: permit,
        _open: state.metrics.stream_opened(),
    };
    feed.asked.notify_one();
    Some(seat)
}

/// Looks at the rooms once a second, for ever.
pub async fn run(state: AppState) {
    tokio::join!(look(&state), read_rooms(&state));
}

/// Reads the rooms that nobody used on this node, once an operator watches: an idle room costs nothing before.
async fn read_rooms(state: &AppState) {
    loop {
        state.operator_feed.wanted.notified().await;
        for entry in state.rooms.list().iter().filter(|entry| entry.loaded().is_none()) {
            if entry.runtime().await.is_err_and(|error| error.is_away()) {
                // The frame says so; with the next second they are tried again.
                break;
            }
        }
    }
}

async fn look(state: &AppState) {
    let feed = &state.operator_feed;
    let every = Duration::from_millis(TICK.0);
    // In the middle of the feed's seconds, so that a turn a little late is still in its own.
    let mut turns = interval_at(Instant::now() + every / 2, every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = turns.tick() => frame::note_second(state),
            () = feed.asked.notified() => {}
        }
        if feed.frames.receiver_count() > 0 {
            feed.wanted.notify_one();
            let live = frame::live(state);
            feed.frames.send_replace(passing_frame("stats", &live));
            // What is asked for meanwhile is told with the next.
            sleep(FRAMES_APART).await;
        }
    }
}

/// The frames of one operator's stream: until the key is revoked, the server goes, or nobody reads any more.
pub(crate) fn frames(state: AppState, seat: Seat) -> impl Stream<Item = Result<Bytes, Infallible>> {
    async_stream::stream! {
        // Moved in whole: only what is named in here is taken along, and the rest of a seat is what holds it.
        let mut seat = seat;
        loop {
            let frame = tokio::select! {
                biased;
                () = state.drain.begun() => {
                    let after_ms = state.jitter.below(RECONNECT_SPREAD_MS);
                    yield Ok(passing_frame("reconnect", &Reconnect { after_ms }));
                    return;
                }
                // The feed lives as long as the state that is held here: the channel cannot close.
                _ = seat.frames.changed() => seat.frames.borrow_and_update().clone(),
                () = sleep(HEARTBEAT_EVERY) => HEARTBEAT,
            };
            if !state.api_keys.stands(&seat.key_id) {
                return;
            }
            yield Ok(frame);
        }
    }
}
