//! A subscription to one room: takes events as they are told, and reads its stream where one is missing, in order and without
//! gaps.

use std::collections::VecDeque;
use std::sync::Arc;

use jari_line::RoomEvent;
use jari_ports::{BoxFuture, EventFeed, FeedLost};
use jari_units::{EventNo, Incarnation, RoomId};

use crate::breaker::pause_after;
use crate::event_text;
use crate::limits::{FEED_CHECK, FEED_READ};
use crate::rooms::{Rooms, Said};
use crate::wakes::Listener;

#[derive(Debug)]
pub(crate) struct Feed {
    rooms: Arc<Rooms>,
    room: RoomId,
    incarnation: Incarnation,
    after: EventNo,
    read: VecDeque<Arc<RoomEvent>>,
    /// The last look found fewer events than it asked for: whatever came since has been, or will be, told of.
    caught_up: bool,
    listener: Listener,
}

impl Feed {
    pub(crate) fn new(
        rooms: Arc<Rooms>,
        room: RoomId,
        (incarnation, after): (Incarnation, EventNo),
        listener: Listener,
    ) -> Self {
        let (read, caught_up) = (VecDeque::new(), false);
        Feed { rooms, room, incarnation, after, read, caught_up, listener }
    }

    /// Takes what was told: the next event, or one that it has. Whether nothing need be read.
    fn take(&mut self, word: &[u8]) -> bool {
        let Some(event) = event_text::told(word) else { return false };
        if event.incarnation != self.incarnation || event.event_no > self.after + 1 {
            return false;
        }
        if event.event_no == self.after + 1 {
            self.after = event.event_no;
            self.read.push_back(Arc::new(event));
        }
        true
    }

    /// Reads what has come since, if anything has.
    async fn read_more(&mut self) -> Result<(), Trouble> {
        self.caught_up = false;
        let arguments = [self.incarnation, self.after, FEED_READ as u64];
        let said = self.rooms.say("events", &self.room, arguments.map(decimal).to_vec()).await;
        let mut events = match said.map_err(|_| Trouble::Unavailable)? {
            Said::Done(reply) => reply.outcome,
            Said::FeedLost | Said::Unknown => return Err(Trouble::Lost),
        };
        while !events.is_empty() {
            let event = events.list().and_then(event_text::read).map_err(|failure| {
                tracing::error!(room = %self.room, "room {}: {}", self.room, failure.text);
                Trouble::Lost
            })?;
            if event.event_no != self.after + 1 || event.incarnation != self.incarnation {
                return Err(Trouble::Lost);
            }
            self.after = event.event_no;
            self.read.push_back(Arc::new(event));
        }
        self.caught_up = self.read.len() < FEED_READ;
        Ok(())
    }
}

enum Trouble {
    /// The events are not to be had any more.
    Lost,
    /// The store does not answer now: nothing is lost by waiting.
    Unavailable,
}

pub(crate) fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

impl EventFeed for Feed {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<RoomEvent>, FeedLost>> {
        Box::pin(async move {
            let mut failures = 0;
            loop {
                if let Some(event) = self.read.pop_front() {
                    return Ok(event);
                }
                let woken = self.caught_up && self.listener.wait(FEED_CHECK).await;
                // Noted as heard before reading, so that an event that comes after it ends the next wait at once.
                let word = self.listener.look().filter(|_| woken);
                if word.is_some_and(|word| self.take(&word)) {
                    continue;
                }
                match self.read_more().await {
                    Ok(()) => {}
                    Err(Trouble::Lost) => return Err(FeedLost),
                    Err(Trouble::Unavailable) => {
                        tokio::time::sleep(pause_after(failures)).await;
                        failures += 1;
                    }
                }
            }
        })
    }
}
