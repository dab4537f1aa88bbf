//! The index of rooms that want a tick: told by whoever changes when a room wants one, and looked after, a few rooms at a
//! time, should whoever had to tell have died first. What it said is kept until word comes that it changed; a renewal of the
//! leases, which lie beside it, brings what it says along before that runs out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jari_ports::StoreError;
use jari_units::limits::SEQ_MAX;
use jari_units::{Mark, RoomId};
use parking_lot::Mutex;
use redis::Value;
use tokio::time::Instant;

use crate::answer::Answer;
use crate::error::Failure;
use crate::keys;
use crate::limits::{DUE_ASKED_ALONG, DUE_CHECKED, DUE_KEPT, ROUND_REST};
use crate::rooms::{Rooms, Said, Time};
use crate::scripts::Call;
use crate::wakes::Listener;

/// Words for the index, where it is no time and not `never`: the room was deleted, or wants a tick now and from now on.
pub(crate) const GONE: &str = "gone";
const AT_ONCE: &str = "0";

/// What one node knows of the index, and its round.
#[derive(Debug, Default)]
pub(crate) struct DueRooms {
    pub(crate) round: Round,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    /// From the first question on: a node that ticks nothing hears of nothing.
    listener: Option<Listener>,
    /// The number of the last question.
    asked: u64,
    /// The answer to it, once it is there.
    last: Option<Told>,
}

/// What the index said.
#[derive(Debug)]
struct Told {
    rooms: Vec<RoomId>,
    /// Until then, unless there is news.
    until: Instant,
    /// What this node had told it by then.
    as_of: u64,
}

/// The index is being asked.
#[derive(Debug)]
pub(crate) struct Question {
    number: u64,
    at: Instant,
    /// What this node had told it by then.
    as_of: u64,
}

impl Heard {
    fn ask(&mut self, as_of: u64) -> Question {
        self.asked += 1;
        self.last = None;
        Question { number: self.asked, at: Instant::now(), as_of }
    }
}

impl DueRooms {
    /// What the index said last, where it must be saying the same now.
    fn kept(&self, told_index: u64) -> Option<Vec<RoomId>> {
        let heard = self.heard.lock();
        let news = heard.listener.as_ref().is_none_or(Listener::has_news);
        let last = heard.last.as_ref().filter(|_| !news)?;
        let is_new = last.as_of == told_index && Instant::now() < last.until;
        is_new.then(|| last.rooms.clone())
    }

    /// Before the index is asked: whatever comes from now on is news of its answer. What it said before counts no more, for
    /// the word that would have shown it wrong may have been looked at just now.
    fn ask(&self, as_of: u64, listen: impl FnOnce() -> Listener) -> Question {
        let mut heard = self.heard.lock();
        heard.listener.get_or_insert_with(listen).look();
        heard.ask(as_of)
    }

    /// The same along with a renewal of the leases, where what is kept would run out before the next one. A node that never
    /// asked ticks nothing yet.
    fn ask_along(&self, as_of: u64) -> Option<Question> {
        let mut heard = self.heard.lock();
        let until = heard.last.as_ref()?.until;
        if until > Instant::now() + DUE_ASKED_ALONG {
            return None;
        }
        heard.listener.as_mut()?.look();
        Some(heard.ask(as_of))
    }

    /// Takes in what the index said. An older question's answer comes too late to be kept.
    pub(crate) fn answered(
        &self,
        question: &Question,
        mut said: Answer,
    ) -> Result<Vec<RoomId>, Failure> {
        let next = said.maybe_number()?.map_or(DUE_KEPT, Duration::from_millis);
        let mut rooms = ids(said.list()?)?;
        rooms.sort();
        let mut heard = self.heard.lock();
        if heard.asked == question.number {
            let until = question.at + next.min(DUE_KEPT);
            heard.last = Some(Told { rooms: rooms.clone(), until, as_of: question.as_of });
        }
        Ok(rooms)
    }

    /// Whether the index names the room, as far as this node has heard.
    fn names(&self, room: &RoomId) -> bool {
        let heard = self.heard.lock();
        heard.last.as_ref().is_some_and(|told| told.rooms.binary_search(room).is_ok())
    }
}

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
        let changed = self.link.run(&Call { script: "note_due", keys: &keys, arguments }).await?;
        if changed != Value::Int(0) {
            // After it: an answer that was under way meanwhile may lack this.
            self.told_index.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Rooms that want a tick now, in order of id; and looks after a few more. Asks the index where it may have changed since
    /// it was asked: word of that comes on the channel of its name, which `listen` hears.
    pub(crate) async fn due(
        &self,
        due: &DueRooms,
        listen: impl FnOnce() -> Listener,
    ) -> Result<Vec<RoomId>, StoreError> {
        if due.round.ours.load(Ordering::Relaxed) {
            self.look_after_some(due).await?;
        }
        let as_of = self.told_index.load(Ordering::Acquire);
        if self.keeps_due()
            && let Some(rooms) = due.kept(as_of)
        {
            return Ok(rooms);
        }
        let question = due.ask(as_of, listen);
        let keys = keys::due(&self.prefix);
        let call = Call { script: "due", keys: &keys, arguments: vec![self.time.argument()] };
        let answer = Answer::of(self.link.run(&call).await?)?;
        Ok(due.answered(&question, answer)?)
    }

    /// While a call fails nothing is known; and a clock that a test sets may stand anywhere by now.
    fn keeps_due(&self) -> bool {
        self.link.is_well() && matches!(self.time, Time::Server)
    }

    /// Before the leases are renewed: whether the index is to be read with them.
    pub(crate) fn ask_due_along(&self, due: &DueRooms) -> Option<Question> {
        let as_of = self.told_index.load(Ordering::Acquire);
        self.keeps_due().then(|| due.ask_along(as_of)).flatten()
    }

    async fn look_after_some(&self, due: &DueRooms) -> Result<(), StoreError> {
        let round = &due.round;
        if let Some(cursor) = round.cursor() {
            let mut scan = redis::cmd("SSCAN");
            scan.arg(keys::rooms(&self.prefix)).arg(cursor).arg("COUNT").arg(DUE_CHECKED);
            let mut slice = Answer::of(self.link.command(&scan).await?)?;
            round.read(slice.number()?, ids(slice.list()?)?);
        }
        for room in round.next() {
            // A room that a newer release writes is looked after by that release's nodes.
            if let Err(error) = self.look_after(&room, due).await {
                tracing::debug!(%room, %error, "room {room} was not looked after: {error}");
            }
        }
        Ok(())
    }

    async fn look_after(&self, room: &RoomId, due: &DueRooms) -> Result<(), StoreError> {
        match self.say("wants", room, Vec::new()).await? {
            Said::Done(mut reply) => {
                let news = reply.outcome.text()?;
                // It knows: most rooms that are looked after are idle or ticked every second.
                if news == AT_ONCE && due.names(room) {
                    return Ok(());
                }
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
