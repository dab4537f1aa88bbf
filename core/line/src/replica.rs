//! A node's copy of a room, fed by events: answers polls, streams and the gate without asking the store.

use jari_units::{Millis, Timestamp};

use crate::estimate::{Estimate, EstimateInput, NoEstimate, Pace};
use crate::ledger::{Ledger, Phase};
use crate::{Change, Event, OutOfOrder, RoomEvent};

/// People are told why their estimate moved for this long.
const MOVED_TOLD_FOR: Millis = Millis::from_mins(2);
/// Fewer stays than this say little about the mean.
const STAYS_MIN: u64 = 10;

/// Why estimates moved lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The organiser slowed entry or let fewer in at once.
    Slowed,
    SpedUp,
    /// The room was paused and goes on.
    Resumed,
    /// Jari could not hear people for a while; nobody loses a place for it.
    Lull,
}

#[derive(Clone, Debug)]
pub struct Replica {
    ledger: Ledger,
    pace: Pace,
    moved: Option<(Moved, Timestamp)>,
}

impl Replica {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Replica { ledger, pace: Pace::default(), moved: None }
    }

    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// [`OutOfOrder`]: events were missed, or history began anew; read the room again.
    pub fn apply(&mut self, event: &RoomEvent) -> Result<(), OutOfOrder> {
        let moved = self.would_move(&event.event);
        self.ledger.apply(event)?;
        if let Some(moved) = moved {
            self.moved = Some((moved, self.ledger.clocks().now));
            self.pace.restart();
        }
        if event.event.tick().is_some() && self.ledger.phase() == Phase::Open {
            self.pace.sample(self.ledger.clocks().now, self.ledger.served());
        }
        Ok(())
    }

    fn would_move(&self, event: &Event) -> Option<Moved> {
        let change = match event {
            Event::Changed { change, .. } => change.as_ref(),
            Event::Ticked(_) | Event::Flowed(_) => {
                let until = event.tick()?.lull_until;
                return (until > self.ledger.clocks().lull_until).then_some(Moved::Lull);
            }
            Event::Lulled { .. } | Event::Settled(_) => return Some(Moved::Lull),
            _ => return None,
        };
        match change {
            Change::Resume | Change::Open => Some(Moved::Resumed),
            Change::Settings(new) => {
                let old = self.ledger.settings();
                let slower = new.rate_milli < old.rate_milli || new.capacity < old.capacity;
                let faster = new.rate_milli > old.rate_milli || new.capacity > old.capacity;
                match (slower, faster) {
                    (true, _) => Some(Moved::Slowed),
                    (false, true) => Some(Moved::SpedUp),
                    (false, false) => None,
                }
            }
            _ => None,
        }
    }

    /// Why estimates moved lately, if they did.
    #[must_use]
    pub fn moved(&self) -> Option<Moved> {
        let now = self.ledger.clocks().now;
        self.moved.filter(|(_, at)| now.since(*at) < MOVED_TOLD_FOR).map(|(moved, _)| moved)
    }

    /// How long the person at `position` may wait.
    ///
    /// # Errors
    /// [`NoEstimate`], with the reason.
    pub fn estimate(&self, position: u64) -> Result<Estimate, NoEstimate> {
        let ledger = &self.ledger;
        match ledger.phase() {
            Phase::Open => {}
            Phase::NotOpen { .. } => return Err(NoEstimate::NotOpen),
            Phase::Paused | Phase::Off => return Err(NoEstimate::Paused),
            Phase::SoldOut | Phase::Closed(_) => return Err(NoEstimate::Closed),
        }
        let settings = ledger.settings();
        let input = EstimateInput {
            position,
            rate_milli: ledger.rate_milli(),
            capacity: settings.capacity,
            live: ledger.passes().live(),
            stay: self.stay(),
            stay_max: settings.pass_ttl + settings.claim_window,
            served_per_mille: self.served_per_mille(),
        };
        Estimate::new(&input, &self.pace)
    }
}

impl Replica {
    /// How long a pass lives. Those still live count with the time they have had: whoever ends first stays shortest, so
    /// that the mean of the ended alone would be far too short at first.
    fn stay(&self) -> Option<Millis> {
        let (ledger, totals) = (&self.ledger, self.ledger.totals());
        let live_ms = ledger.passes().live_ms(ledger.clocks().silence_ms);
        (totals.stays >= STAYS_MIN).then(|| Millis((totals.stay_ms + live_ms) / totals.stays))
    }

    /// Places that the line moves by for 1,000 passes: those who left the page are passed for nothing.
    fn served_per_mille(&self) -> u64 {
        let (served, admitted) = (self.ledger.served(), self.ledger.totals().admitted);
        if admitted < STAYS_MIN { 1_000 } else { (served * 1_000 / admitted).clamp(1_000, 10_000) }
    }
}

#[cfg(test)]
mod tests {
    use jari_units::Mark;

    use super::*;
    use crate::join::tests::{key, room, subjects};
    use crate::{Change, Settings};

    /// A5: a replica that starts from a read and follows the events equals the room, whatever happens.
    #[test]
    fn a_replica_equals_its_room() {
        let mut room = room();
        room.join(Mark::NONE, &subjects(1..=50)).expect("no mark");
        let mut replica = Replica::new(room.read());
        let mut follow = |event: Option<std::sync::Arc<RoomEvent>>| {
            if let Some(event) = event {
                replica.apply(&event).expect("in order");
            }
            replica.ledger().clone()
        };
        let now = room.ledger().clocks().now;
        follow(room.admit(Mark::NONE, now + Millis(1_000), None).expect("no mark").event);
        follow(room.leave(Mark::NONE, &[key(3), key(40)]).expect("no mark").event);
        follow(room.change(Mark::NONE, Change::Pause).expect("no mark").event);
        let copy =
            follow(room.admit(Mark::NONE, now + Millis(2_000), None).expect("no mark").event);
        assert_eq!(&copy, room.ledger());
    }

    #[test]
    fn a_gap_is_noticed_and_changes_nothing() {
        let mut room = room();
        let mut replica = Replica::new(room.read());
        room.join(Mark::NONE, &[key(1)]).expect("no mark");
        let second = room.join(Mark::NONE, &[key(2)]).expect("no mark").event.expect("joined");
        assert!(replica.apply(&second).is_err());
        assert_eq!(replica.ledger().mark().next_seq, 1);
    }

    #[test]
    fn it_says_why_the_estimate_moved() {
        let mut room = room();
        let mut replica = Replica::new(room.read());
        let slower = Settings { rate_milli: 10_000, ..Settings::default() };
        let done = room.change(Mark::NONE, Change::Settings(Box::new(slower))).expect("no mark");
        replica.apply(&done.event.expect("changed")).expect("in order");
        assert_eq!(replica.moved(), Some(Moved::Slowed));
    }
}
