//! recover: a room that has lost history begins a new one, above every number that anybody has seen.

use jari_units::{EventNo, Incarnation, Mark, NodeId, Seq, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::descent::Recovery;
use crate::ledger::Ledger;
use crate::subjects::Subjects;
use crate::{Done, Event, Room, RoomEvent, SeqSet, Settings};

/// Why a caller holds that history was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It has seen more than the store has.
    Seen(Past),
    /// Older files were put in place of newer ones: whatever came after them is lost, whoever saw it.
    Declared,
}

/// What somebody has seen of a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The newest mark. From a token alone: its incarnation, no event, the number above its own.
    pub mark: Mark,
    /// The oldest incarnation of that history ([`Ledger::origin`]), where the caller knows it.
    pub origin: Option<Incarnation>,
}

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverOutcome {
    /// The room is not behind what the caller has seen; nothing was done.
    NothingLost,
    /// The store may be a copy that lacks something. Whoever served the room is asked by the same call: repeat it until
    /// it says something else. Meanwhile nobody gets a number. Only stores that have copies say so.
    Asking,
    /// Somebody else began it; tell what you know.
    UnderWay,
    /// A new incarnation began, and its window.
    Began,
}

/// How a new incarnation begins after a loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovering {
    pub now: Timestamp,
    /// The window's end, unless ticks stop coming.
    pub until: Timestamp,
    /// The event it goes on from.
    pub after: Option<(Incarnation, EventNo)>,
    /// Where nothing to go on from was left: what the room is made of.
    pub settings: Option<Box<Settings>>,
    pub origin: Option<Incarnation>,
    pub top: Seq,
    pub next_seq: Seq,
    /// Nodes to hear before the window may end early.
    pub awaited: Option<Vec<NodeId>>,
}

impl Room {
    /// Opens a new incarnation where history was lost. Outcomes: nothing lost | under way | began.
    ///
    /// What is left counts as one more telling. A room of an earlier life than the caller's (deleted since, and made
    /// again) counts for nothing: it begins empty, with `settings`. Idempotent: whoever comes second joins in.
    #[must_use]
    pub fn recover(
        &mut self,
        loss: &Loss,
        settings: Settings,
        now: Timestamp,
    ) -> Done<RecoverOutcome> {
        let store = self.mark();
        let (past, behind) = match loss {
            Loss::Seen(past) => (*past, store.is_behind(&past.mark)),
            Loss::Declared => (Past::default(), !self.ledger.is_recovering()),
        };
        if !behind {
            let under_way = self.ledger.is_recovering();
            let outcome =
                if under_way { RecoverOutcome::UnderWay } else { RecoverOutcome::NothingLost };
            return self.commit(outcome, None);
        }
        if past.origin.is_some_and(|origin| origin > store.incarnation) {
            let done = Room::recover_lost(loss, settings, now, store.incarnation);
            *self = done.outcome;
            return Done { outcome: RecoverOutcome::Began, mark: done.mark, event: done.event };
        }
        let incarnation = now.0.max(store.incarnation.max(past.mark.incarnation) + 1);
        let event = self.ledger.recovering(&past, *loss == Loss::Declared, now);
        let event = RoomEvent { incarnation, event_no: 1, event: Event::Recovering(event.into()) };
        self.apply(&event).expect("it goes on from this state");
        Done { outcome: RecoverOutcome::Began, mark: self.mark(), event: Some(event.into()) }
    }

    /// The same where the store has nothing left of the room. The incarnation is also raised above `above`.
    #[must_use]
    pub fn recover_lost(
        loss: &Loss,
        settings: Settings,
        now: Timestamp,
        above: Incarnation,
    ) -> Done<Room> {
        let past = match loss {
            Loss::Seen(past) => *past,
            Loss::Declared => Past::default(),
        };
        let top = past.mark.next_seq.max(1);
        let recovering = Recovering {
            now,
            until: now + limits::RECOVERY_WINDOW,
            after: None,
            settings: Some(Box::new(settings)),
            origin: past.origin,
            top,
            next_seq: above_all(top),
            awaited: None,
        };
        let incarnation = now.0.max(above.max(past.mark.incarnation) + 1);
        let event =
            RoomEvent { incarnation, event_no: 1, event: Event::Recovering(recovering.into()) };
        let room = Room::from_created(&event).expect("it names its settings");
        Done { mark: room.mark(), outcome: room, event: Some(event.into()) }
    }

    /// The room that a recovery began from nothing.
    pub(crate) fn from_recovering(first: &RoomEvent, recovering: &Recovering) -> Option<Room> {
        let settings = recovering.settings.as_ref().filter(|_| recovering.after.is_none())?;
        let now = recovering.now;
        let mut ledger = Ledger::fresh(first.incarnation, now, settings.as_ref().clone());
        ledger.begin_recovery(first.incarnation, recovering, Recovery::default());
        Some(Room { ledger, subjects: Subjects::default() })
    }
}

/// The next number after a loss: `top` and what nobody may have heard of.
pub(crate) fn above_all(top: Seq) -> Seq {
    top.saturating_add(limits::SEQ_JUMP).min(limits::SEQ_MAX)
}

impl Ledger {
    /// The oldest incarnation whose numbers mean something here.
    #[must_use]
    pub fn origin(&self) -> Incarnation {
        self.descent.lineage.origin.unwrap_or(self.incarnation)
    }

    fn recovering(&self, past: &Past, declared: bool, now: Timestamp) -> Recovering {
        let now = now.max(self.clocks.now);
        let top = self.next_seq.max(past.mark.next_seq);
        Recovering {
            now,
            until: now + limits::RECOVERY_WINDOW,
            after: Some((self.incarnation, self.event_no)),
            settings: None,
            origin: self.origin_after_loss(),
            top,
            next_seq: above_all(top),
            awaited: (!declared).then(|| self.fresh_nodes()).flatten(),
        }
    }

    /// A recovery cut short by another one may still not know.
    fn origin_after_loss(&self) -> Option<Incarnation> {
        if self.is_recovering() { self.descent.lineage.origin } else { Some(self.origin()) }
    }

    /// Nodes that attended within a minute of the last tick; `None` where there were none.
    fn fresh_nodes(&self) -> Option<Vec<NodeId>> {
        let fresh = |at: &Timestamp| self.clocks.now.since(*at) <= limits::NODE_FRESH;
        let nodes = self.descent.nodes.iter().filter(|(_, at)| fresh(at));
        let nodes: Vec<NodeId> = nodes.map(|(node, _)| *node).collect();
        (!nodes.is_empty()).then_some(nodes)
    }

    /// What the store itself still knows, as the first telling.
    fn own_telling(&self) -> Recovery {
        let mut known = SeqSet::default();
        if self.next_seq > 1 {
            known.insert_range(1..=self.next_seq - 1);
        }
        let told = Recovery {
            known,
            told: (self.incarnation, self.event_no),
            told_at: self.clocks.now,
            ..Recovery::default()
        };
        // Numbers that a recovery cut short had not been told of are still unknown.
        self.descent.recovery.clone().unwrap_or(told)
    }

    /// The new incarnation's first event, on the state it goes on from.
    pub(crate) fn go_on(&mut self, incarnation: Incarnation, recovering: &Recovering) {
        let told = self.own_telling();
        self.incarnation = incarnation;
        self.event_no = 1;
        self.begin_recovery(incarnation, recovering, told);
    }

    fn begin_recovery(&mut self, incarnation: Incarnation, begun: &Recovering, told: Recovery) {
        self.next_seq = begun.next_seq;
        // What the lost history let in is not known yet: nothing is saved up for the window's end but what it fills.
        self.bucket = 0;
        self.clocks.now = begun.now;
        self.clocks.lull_until = begun.until;
        self.clocks.was_idle = false;
        // Tokens of before are refused for their incarnation.
        self.passes.forget_landings();
        // Nobody is present until heard from again.
        (self.cur, self.prev) = (SeqSet::default(), SeqSet::default());
        self.descent.lineage.origin = begun.origin;
        self.descent.lineage.begin(incarnation, begun.next_seq);
        let awaited = begun.awaited.as_ref().map(|nodes| nodes.iter().copied().collect());
        let (began, top) = (begun.now, begun.top.max(told.top));
        self.descent.recovery = Some(Recovery { began, top, awaited, ..told });
    }

    /// A number below `top` has been given: new ones start well above it. Only while recovering.
    pub(crate) fn raise(&mut self, top: Seq, next_seq: Seq) {
        let Some(told) = &mut self.descent.recovery else {
            return;
        };
        told.top = told.top.max(top);
        self.next_seq = self.next_seq.max(next_seq);
        if let Some((_, first)) = self.descent.lineage.begins.last_mut() {
            *first = self.next_seq;
        }
    }
}

#[cfg(test)]
#[path = "recover_tests.rs"]
pub(crate) mod tests;
