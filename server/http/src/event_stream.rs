//! One visitor's stream of events: which frame is due when. Encodes through `event_frames`, is admitted by its handler.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use jari_api::PlaceStatus;
use jari_units::{Incarnation, Mark, Seq};
use tokio::time::{Instant, sleep_until};

use crate::directory::RoomEntry;
use crate::event_frames::{HEARTBEAT, admitted_frame, ended_frame, frame, reconnect_frame};
use crate::place_view;
use crate::room::{RoomRuntime, Subscription};
use crate::state::AppState;

/// A quiet stream says that it lives: below the idle limit of common proxies (60 s) with room for two lost ones.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// An exact place is told this often, and up to a tenth later so that not all are due at once.
const PLACE_EVERY: Duration = Duration::from_secs(20);
const PLACE_SPREAD_MS: u64 = 2_000;
/// When the server goes away, its streams come back spread over this: a new node takes 10,000 in that time easily.
const RECONNECT_SPREAD_MS: u64 = 5_000;

/// An accepted stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) state: AppState,
    pub(crate) entry: Arc<RoomEntry>,
    pub(crate) runtime: Arc<RoomRuntime>,
    pub(crate) incarnation: Incarnation,
    pub(crate) seq: Seq,
    pub(crate) subscription: Subscription,
}

/// Why a stream goes on.
enum Due {
    Line(Bytes),
    Place { exact: bool },
    Heartbeat,
    Reconnect,
    Deleted,
}

impl EventStream {
    /// The exact place now: its frames, and its status.
    fn place(&self) -> (Bytes, PlaceStatus, Mark) {
        let room = self.entry.definition();
        self.runtime.read(|live| {
            let seen = place_view::see(&self.state, &room, live, self.incarnation, self.seq);
            let at = live.ledger().mark();
            (frame("place", at, &seen.view), seen.view.status, at)
        })
    }

    fn mark(&self) -> Mark {
        self.runtime.read(|live| live.ledger().mark())
    }

    fn next_place(&self) -> Instant {
        Instant::now()
            + PLACE_EVERY
            + Duration::from_millis(self.state.jitter.below(PLACE_SPREAD_MS))
    }

    async fn due(&self, next_place: Instant, next_heartbeat: Instant) -> Due {
        tokio::select! {
            biased;
            () = self.state.drain.begun() => Due::Reconnect,
            () = self.runtime.deleted() => Due::Deleted,
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
        let (first, mut status, at) = stream.place();
        yield Ok(first);
        if let Some(news) = news(status, at) {
            yield Ok(news);
        }
        let mut next_place = stream.next_place();
        while status != PlaceStatus::Ended {
            let next_heartbeat = Instant::now() + HEARTBEAT_EVERY;
            match stream.due(next_place, next_heartbeat).await {
                Due::Line(frame) => yield Ok(frame),
                Due::Heartbeat => yield Ok(HEARTBEAT),
                Due::Place { exact } => {
                    let (place, now, at) = stream.place();
                    let changed = now != status;
                    if exact || changed {
                        next_place = stream.next_place();
                        yield Ok(place);
                    }
                    if let Some(news) = news(now, at).filter(|_| changed) {
                        yield Ok(news);
                    }
                    status = now;
                }
                Due::Reconnect => {
                    let after_ms = stream.state.jitter.below(RECONNECT_SPREAD_MS);
                    yield Ok(reconnect_frame(stream.mark(), after_ms));
                    return;
                }
                Due::Deleted => {
                    yield Ok(ended_frame(stream.mark()));
                    return;
                }
            }
        }
    }
}

/// What a status says beside the place itself.
fn news(status: PlaceStatus, at: Mark) -> Option<Bytes> {
    match status {
        PlaceStatus::Admitted => Some(admitted_frame(at)),
        PlaceStatus::Ended => Some(ended_frame(at)),
        PlaceStatus::Waiting | PlaceStatus::Next | PlaceStatus::Absent => None,
    }
}
