//! The index of rooms that want a tick: told by whoever changes when a room wants one, and looked after, a few rooms at a
//! time, should whoever had to tell have died first.

use std::sync::atomic::{AtomicBool, Ordering};

use jari_ports::StoreError;
use jari_units::limits::SEQ_MAX;
use jari_units::{Mark, RoomId};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::answer::Answer;
use crate::error::Failure;
use crate::keys;
use crate::limits::{DUE_CHECKED, ROUND_REST};
use crate::rooms::{Rooms, Said};
use crate::scripts::Call;

/// A word for the index: a time, `never`, or `gone`.
pub(crate) const GONE: &str = "gone";

/// Where a node's round over all rooms stands, and whether it is this node's to go.
#[derive(Debug)]
pub(crate) struct Round {
    at: Mutex<Slice>,
    ours: AtomicBool,
}

/// A server deals out a small set as a whole: what one question does not look after is left for the next.
#[derive(Debug, Default)]
struct Slice {
    cursor: u64,
    left: Vec<RoomId>,
    /// A round is over, and the next one begins no earlier.
    rests_until: Option<Instant>,
}

impl Default for Round {
    /// A node that holds no leases and asks all the same is alone.
    fn default() -> Self {
        Round { at: Mutex::default(), ours: AtomicBool::new(true) }
    }
}

impl Round {
    /// One node in all goes it: what the index was not told of is found as soon, and costs once.
    pub(crate) fn set_ours(&self, ours: bool) {
        self.ours.store(ours, Ordering::Relaxed);
    }

    /// Where the set is read on; `None` while something is left of what was read, and while it rests.
    fn cursor(&self) -> Option<u64> {
        let at = self.at.lock();
        let rests = at.rests_until.is_some_and(|until| Instant::now() < until);
        (at.left.is_empty() && !rests).then_some(at.cursor)
    }

    fn read(&self, cursor: u64, left: Vec<RoomId>) {
        let rests_until = (cursor == 0).then(|| Instant::now() + ROUND_REST);
        *self.at.lock() = Slice { cursor, left, rests_until };
    }

    /// The next few of those that were read.
    fn next(&self) -> Vec<RoomId> {
        let left = &mut self.at.lock().left;
        left.split_off(left.len().saturating_sub(DUE_CHECKED))
    }
}

impl Rooms {
    /// Tells the index when a room wants its next tick, as of `mark`.
    pub(crate) async fn note_due(
        &self,
        room: &RoomId,
        mark: Mark,
        news: &str,
    ) -> Result<(), StoreError> {
        let keys = keys::due(&self.prefix);
        let of = [mark.incarnation, mark.event_no].map(|number| number.to_string().into_bytes());
        let [incarnation, event_no] = of;
        let room = room.as_str().as_bytes().to_vec();
        let arguments = vec![room, incarnation, event_no, news.as_bytes().to_vec()];
        self.link.run(&Call { script: "note_due", keys: &keys, arguments }).await?;
        Ok(())
    }

    /// Rooms that want a tick now, in order of id; and looks after a few more.
    pub(crate) async fn due(&self, round: &Round) -> Result<Vec<RoomId>, StoreError> {
        if round.ours.load(Ordering::Relaxed) {
            self.look_after_some(round).await?;
        }
        let keys = keys::due(&self.prefix);
        let arguments = vec![self.time.argument()];
        let call = Call { script: "due", keys: &keys, arguments };
        let mut rooms = ids(Answer::of(self.link.run(&call).await?)?)?;
        rooms.sort();
        Ok(rooms)
    }

    async fn look_after_some(&self, round: &Round) -> Result<(), StoreError> {
        if let Some(cursor) = round.cursor() {
            let mut scan = redis::cmd("SSCAN");
            scan.arg(keys::rooms(&self.prefix)).arg(cursor).arg("COUNT").arg(DUE_CHECKED);
            let mut slice = Answer::of(self.link.command(&scan).await?)?;
            round.read(slice.number()?, ids(slice.list()?)?);
        }
        for room in round.next() {
            // A room that a newer release writes is looked after by that release's nodes.
            if let Err(error) = self.look_after(&room).await {
                tracing::debug!(%room, %error, "room {room} was not looked after: {error}");
            }
        }
        Ok(())
    }

    async fn look_after(&self, room: &RoomId) -> Result<(), StoreError> {
        match self.say("wants", room, Vec::new()).await? {
            Said::Done(mut reply) => {
                let news = reply.outcome.text()?;
                self.note_due(room, reply.mark, &news).await
            }
            // Newer than whatever the index has of it.
            Said::Unknown | Said::FeedLost => {
                let mark = Mark { incarnation: SEQ_MAX, ..Mark::NONE };
                self.note_due(room, mark, GONE).await
            }
        }
    }
}

fn ids(mut listed: Answer) -> Result<Vec<RoomId>, Failure> {
    let mut ids = Vec::with_capacity(listed.left());
    while !listed.is_empty() {
        ids.extend(listed.text()?.parse::<RoomId>());
    }
    Ok(ids)
}
