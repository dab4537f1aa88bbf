//! One visitor's stream of events as a body of the HTTP stack, and what every stream tells, here or in `stream_hub`:
//! which frame is due when. Encodes through `event_frames`, is admitted by its handler.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use jari_api::{PlaceStatus, PlaceView};
use jari_units::{Incarnation, Mark, Seq};
use tokio::time::{Instant, sleep_until};

use crate::directory::RoomEntry;
use crate::event_frames::{HEARTBEAT, admitted_frame, ended_frame, frame, reconnect_frame};
use crate::metrics::Notice;
use crate::place_view;
use crate::room::{LineFrame, RoomRuntime, Subscription};
use crate::state::AppState;

/// A quiet stream says that it lives, so often that whoever hears nothing for 6 s (a page) or 7 s (a balancer) knows that
/// its node hangs. 10,000 quiet streams cost some 3 % of a core for it; where the line moves, its frames do instead.
pub(crate) const HEARTBEAT_EVERY: Duration = Duration::from_secs(3);
/// An exact place is told this often, and up to a tenth later so that not all are due at once.
const PLACE_EVERY: Duration = Duration::from_secs(20);
const PLACE_SPREAD_MS: u64 = 2_000;
/// When the server goes away, its streams come back spread over this: a new node takes 10,000 in that time easily.
const RECONNECT_SPREAD_MS: u64 = 5_000;

/// The room that streams tell of.
#[derive(Clone, Debug)]
pub(crate) struct StreamedRoom {
    pub(crate) state: AppState,
    pub(crate) entry: Arc<RoomEntry>,
    pub(crate) runtime: Arc<RoomRuntime>,
}

/// A place now, before it is encoded.
#[derive(Debug)]
pub(crate) struct PlaceNow {
    view: PlaceView,
    at: Mark,
}

/// An accepted stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) room: StreamedRoom,
    pub(crate) incarnation: Incarnation,
    pub(crate) seq: Seq,
    pub(crate) subscription: Subscription,
}

/// Why a stream goes on.
enum Due {
    Line(LineFrame),
    Place { exact: bool },
    Heartbeat,
    Reconnect,
    Deleted,
}

impl StreamedRoom {
    /// The exact place now.
    pub(crate) fn place(&self, incarnation: Incarnation, seq: Seq) -> PlaceNow {
        let room = self.entry.definition();
        self.runtime.read(|live| {
            let view = place_view::see(&self.state, &room, live, incarnation, seq).view;
            PlaceNow { view, at: live.ledger().mark() }
        })
    }

    /// The frame that sends a stream away, spread over a while.
    pub(crate) fn reconnect(&self) -> Bytes {
        reconnect_frame(self.mark(), self.state.jitter.below(RECONNECT_SPREAD_MS))
    }

    /// The frame that ends a stream of a deleted room.
    pub(crate) fn ended(&self) -> Bytes {
        ended_frame(self.mark())
    }

    /// How long until the exact place is told anew.
    pub(crate) fn place_after(&self) -> Duration {
        PLACE_EVERY + Duration::from_millis(self.state.jitter.below(PLACE_SPREAD_MS))
    }

    fn mark(&self) -> Mark {
        self.runtime.read(|live| live.ledger().mark())
    }
}

impl PlaceNow {
    pub(crate) fn status(&self) -> PlaceStatus {
        self.view.status
    }

    pub(crate) fn frame(&self) -> Bytes {
        frame("place", self.at, &self.view)
    }

    /// What its status says beside the place itself.
    pub(crate) fn news(&self) -> Option<Bytes> {
        match self.view.status {
            PlaceStatus::Admitted => Some(admitted_frame(self.at)),
            PlaceStatus::Ended => Some(ended_frame(self.at)),
            PlaceStatus::Waiting | PlaceStatus::Next | PlaceStatus::Absent => None,
        }
    }
}

impl EventStream {
    fn place(&self) -> PlaceNow {
        self.room.place(self.incarnation, self.seq)
    }

    fn next_place(&self) -> Instant {
        Instant::now() + self.room.place_after()
    }

    async fn due(&self, next_place: Instant, next_heartbeat: Instant) -> Due {
        tokio::select! {
            biased;
            () = self.room.state.drain.begun() => Due::Reconnect,
            () = self.room.runtime.deleted() => Due::Deleted,
            () = self.subscription.woken() => Due::Place { exact: false },
            frame = self.subscription.frame() => Due::Line(frame),
            () = sleep_until(next_place) => Due::Place { exact: true },
            () = sleep_until(next_heartbeat) => Due::Heartbeat,
        }
    }
}

/// The frames of a stream, until its place or the server goes. Holds `kept` for as long.
pub(crate) fn events(
    stream: EventStream,
    kept: impl Send + 'static,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    async_stream::stream! {
        let _kept = kept;
        let first = stream.place();
        let mut status = first.status();
        yield Ok(first.frame());
        if let Some(news) = first.news() {
            yield Ok(news);
        }
        drop(first);
        let mut next_place = stream.next_place();
        while status != PlaceStatus::Ended {
            let next_heartbeat = Instant::now() + HEARTBEAT_EVERY;
            match stream.due(next_place, next_heartbeat).await {
                Due::Line(frame) => {
                    // The HTTP stack writes it next.
                    let took = frame.applied_at.elapsed();
                    stream.room.state.metrics.told(Notice::Line, took, 1);
                    yield Ok(frame.bytes);
                }
                Due::Heartbeat => yield Ok(HEARTBEAT),
                Due::Place { exact } => {
                    let place = stream.place();
                    let changed = place.status() != status;
                    status = place.status();
                    if exact || changed {
                        next_place = stream.next_place();
                        yield Ok(place.frame());
                    }
                    if let Some(news) = place.news().filter(|_| changed) {
                        yield Ok(news);
                    }
                }
                Due::Reconnect => {
                    yield Ok(stream.room.reconnect());
                    return;
                }
                Due::Deleted => {
                    yield Ok(stream.room.ended());
                    return;
                }
            }
        }
    }
}
