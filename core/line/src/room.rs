//! A room: its ledger and its subjects, and the one way an operation becomes an event.

use std::sync::Arc;

use jari_units::{Incarnation, Mark, Seq, SubjectKey, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ledger::Ledger;
use crate::subjects::Subjects;
use crate::{Descent, Event, Flow, OutOfOrder, RoomEvent, Settings, WalkedIn};

/// The whole state of a room. Cloning shares the subjects, so a checkpoint can be written elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Room {
    pub(crate) ledger: Ledger,
    pub(crate) subjects: Subjects,
}

/// What an operation answered and, where it changed anything, its event.
#[derive(Clone, Debug)]
pub struct Done<T> {
    pub outcome: T,
    /// The room's mark after the operation.
    pub mark: Mark,
    pub event: Option<Arc<RoomEvent>>,
}

/// The caller has seen history that this room does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the room stands at {store:?}, behind the caller's {caller:?}: history was lost")]
pub struct LostHistory {
    pub store: Mark,
    pub caller: Mark,
}

impl Room {
    /// A new room and its first event. The incarnation is `now` in milliseconds, raised above `above`.
    #[must_use]
    pub fn create(settings: Settings, now: Timestamp, above: Incarnation) -> Done<Room> {
        let incarnation = now.0.max(above + 1);
        let event = RoomEvent {
            incarnation,
            event_no: 1,
            event: Event::Created { now, settings: Box::new(settings) },
        };
        let room = Room::from_created(&event).expect("a Created event makes a room");
        Done { mark: room.mark(), outcome: room, event: Some(Arc::new(event)) }
    }

    /// The room that an event began from nothing; `None` for any other event.
    #[must_use]
    pub fn from_created(first: &RoomEvent) -> Option<Room> {
        match &first.event {
            Event::Created { now, settings } => {
                let ledger = Ledger::fresh(first.incarnation, *now, settings.as_ref().clone());
                Some(Room { ledger, subjects: Subjects::default() })
            }
            Event::Recovering(recovering) => Room::from_recovering(first, recovering),
            _ => None,
        }
    }

    /// Gives a stored copy its descent back; one without is of a room that never lost anything.
    #[must_use]
    pub fn descend(mut self, descent: Descent) -> Room {
        self.ledger.descent = descent;
        self
    }

    /// Gives a stored copy back what it had seen of its traffic.
    #[must_use]
    pub fn flowing(mut self, flow: Flow) -> Room {
        self.ledger.flow = flow;
        self
    }

    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    #[must_use]
    pub fn mark(&self) -> Mark {
        self.ledger.mark()
    }

    /// What a node's replica starts from.
    #[must_use]
    pub fn read(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Applies an event that this or another copy of the room decided.
    ///
    /// # Errors
    /// [`OutOfOrder`] where it is not the next event of this incarnation.
    pub fn apply(&mut self, event: &RoomEvent) -> Result<(), OutOfOrder> {
        self.ledger.apply(event)?;
        self.index(&event.event);
        Ok(())
    }

    pub(crate) fn guard(&self, caller: Mark) -> Result<(), LostHistory> {
        let store = self.mark();
        if store.is_behind(&caller) { Err(LostHistory { store, caller }) } else { Ok(()) }
    }

    /// Numbers, applies and hands out what an operation decided.
    pub(crate) fn commit<T>(&mut self, outcome: T, event: Option<Event>) -> Done<T> {
        let event = event.map(|event| {
            let event = RoomEvent {
                incarnation: self.ledger.incarnation,
                event_no: self.ledger.event_no + 1,
                event,
            };
            self.apply(&event).expect("an event numbered from this state is the next one");
            Arc::new(event)
        });
        Done { outcome, mark: self.mark(), event }
    }

    fn index(&mut self, event: &Event) {
        match event {
            Event::Joined { first, people, .. } => self.give(*first, people),
            Event::WalkedIn(walked_in) => {
                let WalkedIn { first, people, .. } = walked_in.as_ref();
                self.give(*first, people);
            }
            Event::Changed { change, .. } => self.list(change),
            Event::Reattached(reattached) => {
                for (subject, seq) in &reattached.people {
                    self.subjects.set(*subject, *seq);
                }
            }
            Event::Ticked(_) | Event::Flowed(_) => {
                let Ledger { w, passes, .. } = &self.ledger;
                self.subjects.prune(|seq| w.contains(seq) || passes.get(seq).is_some());
            }
            _ => {}
        }
    }

    fn give(&mut self, first: Seq, people: &[SubjectKey]) {
        for (seq, subject) in (first..).zip(people) {
            self.subjects.set(*subject, seq);
        }
    }

    fn list(&mut self, change: &crate::Change) {
        let Subjects { blocked, allowed, .. } = &mut self.subjects;
        match change {
            crate::Change::Block(key) => _ = Arc::make_mut(blocked).insert(*key),
            crate::Change::Unblock(key) => _ = Arc::make_mut(blocked).remove(key),
            crate::Change::Allow(key) => _ = Arc::make_mut(allowed).insert(*key),
            crate::Change::Disallow(key) => _ = Arc::make_mut(allowed).remove(key),
            _ => {}
        }
    }
}
