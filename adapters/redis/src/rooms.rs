//! Calling a room's scripts and reading its state: what each answer means, before anybody looks at the outcome.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use jari_line::{Dump, LostHistory};
use jari_ports::{Clock, Reply, StoreError};
use jari_units::{Mark, RoomId};
use redis::Value;

use crate::answer::Answer;
use crate::error::Failure;
use crate::keys::RoomKeys;
use crate::limits::FORMAT;
use crate::link::Link;
use crate::scripts::Call;
use crate::state::{self, Extent};

/// Where the time comes from.
#[derive(Clone, Debug)]
pub(crate) enum Time {
    /// The server's clock, one for all nodes.
    Server,
    /// A clock that a test sets.
    Set(Arc<dyn Clock>),
}

impl Time {
    /// What the scripts are handed: nothing, or the time to take instead of the server's.
    pub(crate) fn argument(&self) -> Vec<u8> {
        match self {
            Time::Server => Vec::new(),
            Time::Set(clock) => clock.now().0.to_string().into_bytes(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Rooms {
    pub(crate) link: Link,
    pub(crate) prefix: String,
    pub(crate) time: Time,
    /// How often this node has told the index of due rooms something new.
    pub(crate) told_index: AtomicU64,
}

/// What a script answered.
#[derive(Debug)]
pub(crate) enum Said {
    Done(Reply<Answer>),
    Unknown,
    FeedLost,
}

impl Rooms {
    pub(crate) fn new(link: Link, prefix: String, time: Time) -> Self {
        Rooms { link, prefix, time, told_index: AtomicU64::new(0) }
    }

    pub(crate) fn keys(&self, room: &RoomId) -> RoomKeys {
        RoomKeys::new(&self.prefix, room)
    }

    /// Runs a script for a caller that knows nothing of the room's history.
    pub(crate) async fn say(
        &self,
        script: &'static str,
        room: &RoomId,
        own: Vec<Vec<u8>>,
    ) -> Result<Said, StoreError> {
        self.say_from(script, room, Mark::NONE, own).await
    }

    async fn say_from(
        &self,
        script: &'static str,
        room: &RoomId,
        mark: Mark,
        own: Vec<Vec<u8>>,
    ) -> Result<Said, StoreError> {
        let keys = self.keys(room);
        let known = [mark.incarnation, mark.event_no, mark.next_seq];
        let mut arguments = vec![self.time.argument()];
        arguments.extend(known.map(|number| number.to_string().into_bytes()));
        arguments.extend(own);
        let call = Call { script, keys: keys.all(), arguments };
        let mut answer = Answer::of(self.link.run(&call).await?)?;
        let kind = answer.text()?;
        Ok(match kind.as_str() {
            "ok" => {
                let reply = Reply {
                    mark: mark_of(&mut answer)?,
                    outcome: match answer.value()? {
                        Value::Array(values) => Answer::of(Value::Array(values))?,
                        one => Answer::of(Value::Array(vec![one]))?,
                    },
                };
                self.tell_index(room, reply.mark, &mut answer).await?;
                Said::Done(reply)
            }
            "unknown" => Said::Unknown,
            "feed_lost" => Said::FeedLost,
            "lost" => {
                let store = mark_of(&mut answer)?;
                return Err(LostHistory { store, caller: mark }.into());
            }
            "newer" => return Err(self.newer(room, answer.number()?)),
            other => return Err(Failure::odd_answer(other).into()),
        })
    }

    /// Passes on what a script says of the room's next tick. What was done is done: an index that cannot be told now hears
    /// of it from whoever looks after the room next.
    async fn tell_index(
        &self,
        room: &RoomId,
        mark: Mark,
        rest: &mut Answer,
    ) -> Result<(), Failure> {
        if rest.is_empty() {
            return Ok(());
        }
        let news = rest.text()?;
        if !news.is_empty()
            && let Err(error) = self.note_due(room, mark, &news).await
        {
            tracing::warn!(%room, %error, "the index of due rooms was not told of room {room}: {error}");
        }
        Ok(())
    }

    /// Runs a script on a room that must exist.
    pub(crate) async fn on(
        &self,
        script: &'static str,
        room: &RoomId,
        mark: Mark,
        own: Vec<Vec<u8>>,
    ) -> Result<Reply<Answer>, StoreError> {
        match self.say_from(script, room, mark, own).await? {
            Said::Done(reply) => Ok(reply),
            Said::Unknown | Said::FeedLost => Err(StoreError::UnknownRoom(room.clone())),
        }
    }

    /// The room's state at one event number.
    pub(crate) async fn state(&self, room: &RoomId, extent: Extent) -> Result<Dump, StoreError> {
        let own = vec![extent.word().as_bytes().to_vec()];
        let reply = self.on("read", room, Mark::NONE, own).await?;
        Ok(state::read(reply.outcome, extent)?)
    }

    fn newer(&self, room: &RoomId, format: u64) -> StoreError {
        StoreError::Unavailable(format!(
            "{:?}: room {room} is written in format {format} by a newer release, this one knows {FORMAT}: finish the upgrade of this node",
            self.link.address()
        ))
    }
}

fn mark_of(answer: &mut Answer) -> Result<Mark, Failure> {
    let (incarnation, event_no, next_seq) = (answer.number()?, answer.number()?, answer.number()?);
    Ok(Mark { incarnation, event_no, next_seq })
}
