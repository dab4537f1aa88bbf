//! A room's published events: the newest ones in memory, and subscriptions that read them without gaps. Knows no disk.

use std::collections::VecDeque;
use std::sync::Arc;

use jari_line::{Event, RoomEvent};
use jari_ports::{BoxFuture, EventFeed, FeedLost};
use jari_units::{EventNo, Incarnation};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::limits::{FEED_EVENTS_MAX, FEED_PEOPLE_MAX};

/// The writer's end. Dropping it ends every subscription.
#[derive(Debug)]
pub(crate) struct Feed {
    incarnation: Incarnation,
    ring: Arc<Mutex<Ring>>,
    newest: watch::Sender<EventNo>,
}

/// The events kept: contiguous, the last one is the newest published.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<RoomEvent>>,
    people: usize,
    newest: EventNo,
}

impl Feed {
    /// A feed of a room that stands at `newest`: earlier events are not to be had.
    pub(crate) fn new(incarnation: Incarnation, newest: EventNo) -> Feed {
        let ring = Ring { newest, ..Ring::default() };
        Feed { incarnation, ring: Arc::new(Mutex::new(ring)), newest: watch::Sender::new(newest) }
    }

    /// Adds a durable event; one of another incarnation belongs to a deleted room and has no subscribers left.
    pub(crate) fn publish(&self, event: &Arc<RoomEvent>) {
        if event.incarnation != self.incarnation {
            return;
        }
        self.ring.lock().push(Arc::clone(event));
        self.newest.send_replace(event.event_no);
    }

    pub(crate) fn newest(&self) -> EventNo {
        *self.newest.borrow()
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(crate) fn subscribe(&self, after: EventNo) -> Subscription {
        Subscription { after, ring: Arc::clone(&self.ring), newest: self.newest.subscribe() }
    }
}

impl Ring {
    fn push(&mut self, event: Arc<RoomEvent>) {
        self.newest = event.event_no;
        self.people += people(&event);
        self.events.push_back(event);
        while self.events.len() > FEED_EVENTS_MAX || self.people > FEED_PEOPLE_MAX {
            let Some(oldest) = self.events.pop_front() else {
                return;
            };
            self.people -= people(&oldest);
        }
    }

    /// The event after `after`, nothing yet, or lost: older than what is kept, or of a future that was taken back.
    fn after(&self, after: EventNo) -> Result<Option<Arc<RoomEvent>>, FeedLost> {
        if after == self.newest {
            return Ok(None);
        }
        let behind = self.newest.checked_sub(after).ok_or(FeedLost)?;
        let behind = usize::try_from(behind).map_err(|_| FeedLost)?;
        let at = self.events.len().checked_sub(behind).ok_or(FeedLost)?;
        Ok(self.events.get(at).cloned())
    }
}

/// Subjects that an event names: what makes it large.
fn people(event: &RoomEvent) -> usize {
    match &event.event {
        Event::Joined { people, .. } => people.len(),
        Event::WalkedIn(walked_in) => walked_in.people.len(),
        _ => 0,
    }
}

/// One subscriber's place in a feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    after: EventNo,
    ring: Arc<Mutex<Ring>>,
    newest: watch::Receiver<EventNo>,
}

impl EventFeed for Subscription {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<RoomEvent>, FeedLost>> {
        Box::pin(async move {
            loop {
                // Noted as seen before looking, so that an event published in between wakes the wait below.
                self.newest.borrow_and_update();
                let next = self.ring.lock().after(self.after)?;
                if let Some(event) = next {
                    self.after = event.event_no;
                    return Ok(event);
                }
                self.newest.changed().await.map_err(|_| FeedLost)?;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use jari_line::{EndReason, SeqSet};

    use super::*;

    fn event(event_no: EventNo) -> Arc<RoomEvent> {
        let event = Event::Ended { seqs: SeqSet::default(), reason: EndReason::Left };
        Arc::new(RoomEvent { incarnation: 7, event_no, event })
    }

    #[tokio::test]
    async fn every_event_after_the_mark_or_lost() {
        let feed = Feed::new(7, 10);
        let mut early = feed.subscribe(9);
        let mut exact = feed.subscribe(10);
        let mut future = feed.subscribe(11);
        feed.publish(&event(11));
        assert_eq!(early.next().await, Err(FeedLost), "event 10 is not to be had");
        assert_eq!(exact.next().await, Ok(event(11)));
        feed.publish(&event(12));
        assert_eq!(future.next().await, Ok(event(12)));
        drop(feed);
        assert_eq!(exact.next().await, Ok(event(12)), "what is kept can still be read");
        assert_eq!(exact.next().await, Err(FeedLost));
    }

    #[tokio::test]
    async fn who_lags_further_than_is_kept_is_told() {
        let feed = Feed::new(7, 0);
        let mut slow = feed.subscribe(0);
        let kept = FEED_EVENTS_MAX as EventNo;
        for event_no in 1..=kept {
            feed.publish(&event(event_no));
        }
        assert_eq!(slow.next().await, Ok(event(1)));
        for event_no in kept + 1..=kept + 2 {
            feed.publish(&event(event_no));
        }
        assert_eq!(slow.next().await, Err(FeedLost), "event 2 is gone");
        assert_eq!(feed.subscribe(2).next().await, Ok(event(3)));
    }

    #[tokio::test]
    async fn a_mark_ahead_of_the_feed_is_lost_history() {
        let feed = Feed::new(7, 3);
        assert_eq!(feed.subscribe(4).next().await, Err(FeedLost));
    }

    /// Events that name many people are kept by what they weigh.
    #[test]
    fn a_rush_is_kept_by_its_people() {
        let feed = Feed::new(7, 0);
        for event_no in 1..=1_000 {
            let people = vec![jari_units::SubjectKey([0; 16]); 512];
            let event = Event::Joined {
                first: 1,
                people,
                granted: SeqSet::default(),
                deadline: jari_units::Millis::ZERO,
            };
            feed.publish(&Arc::new(RoomEvent { incarnation: 7, event_no, event }));
        }
        assert_eq!(feed.ring.lock().events.len(), FEED_PEOPLE_MAX / 512);
    }
}
