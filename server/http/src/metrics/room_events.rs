//! What the metrics keep of a room that its ledger does not: how long each person was inside, fed where a replica applies
//! an event; and which totals were shown, since a ledger that lost its history has forgotten them for a while.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jari_line::{Event, Ledger, SeqSet};
use jari_units::{Incarnation, Millis, Seq};

use super::latency::{DWELL_BUCKETS_S, Latency};
use super::rooms::{TOTALS, Totals, totals};

/// Lives as long as this node follows the room. A room that was deleted and made again has new ones.
#[derive(Debug)]
pub(crate) struct RoomEvents {
    pub(super) dwell: Latency,
    began: OnceLock<(Incarnation, Totals)>,
    highest: [AtomicU64; TOTALS.len()],
}

/// A room's totals at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The room's incarnation when this node first saw it whole: another one of the same id has a higher one.
    pub(super) since: Incarnation,
    /// What it had counted by then.
    pub(super) began: Totals,
    /// None of these ever falls.
    pub(super) now: Totals,
}

impl Default for RoomEvents {
    fn default() -> Self {
        let dwell = Latency::new(DWELL_BUCKETS_S);
        RoomEvents { dwell, began: OnceLock::new(), highest: Default::default() }
    }
}

impl RoomEvents {
    /// Those of a room that this node follows from now on.
    pub(crate) fn of(ledger: &Ledger) -> Self {
        let events = RoomEvents::default();
        events.counted(ledger);
        events
    }

    /// What the room has counted. A room that lost its history begins at nothing until nodes have told it what they know, and
    /// may have lost its last moments for good: until it is at what was shown before, that stays.
    pub(super) fn counted(&self, ledger: &Ledger) -> Option<Counted> {
        let mut now = totals(ledger);
        if !ledger.is_recovering() {
            self.began.get_or_init(|| (ledger.mark().incarnation, now));
        }
        let (since, began) = *self.began.get()?;
        for (now, highest) in now.iter_mut().zip(&self.highest) {
            *now = highest.fetch_max(*now, Relaxed).max(*now);
        }
        Some(Counted { since, began, now })
    }

    /// Notes the stays that an event ends, once it was applied.
    pub(crate) fn note(&self, dwells: Vec<Millis>) {
        for dwell in dwells {
            self.dwell.note(Duration::from_millis(dwell.0));
        }
    }
}

/// How long those were inside whose claimed passes `event` ends; `before` is the ledger that it comes to.
pub(crate) fn dwells(before: &Ledger, event: &Event) -> Vec<Millis> {
    let (ended, silence_ms): (&SeqSet, Millis) = match event {
        Event::Ended { seqs, .. } => (seqs, before.clocks().silence_ms),
        Event::Changed { ended, .. } => (ended, before.clocks().silence_ms),
        // The clock moves first, then passes end by it. A second chance is for the unclaimed.
        Event::Ticked(tick) => (&tick.expired, tick.silence_ms),
        Event::Flowed(flowed) => (&flowed.tick.expired, flowed.tick.silence_ms),
        _ => return Vec::new(),
    };
    let claimed = |seq: Seq| before.passes().get(seq)?.claimed_at;
    ended.iter().filter_map(claimed).map(|claimed_at| silence_ms - claimed_at).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jari_line::{AdmitNow, Loss, Past, Room, RoomEvent, Settings};
    use jari_units::{Mark, PassId, SubjectKey, Timestamp};

    use super::*;

    /// Applies what an operation says and gives the stays it ended.
    fn follow(replica: &mut Ledger, event: Option<Arc<RoomEvent>>) -> Vec<u64> {
        let Some(event) = event else { return Vec::new() };
        let dwells = dwells(replica, &event.event);
        replica.apply(&event).expect("the next event");
        dwells.into_iter().map(|dwell| dwell.0).collect()
    }

    #[test]
    fn stays_are_those_that_the_ledger_adds_up() {
        let start = Timestamp(1_000);
        let mut room = Room::create(Settings::default(), start, 0).outcome;
        let mut replica = room.read();
        let people: Vec<_> = (1..=3).map(|n| SubjectKey([n; 16])).collect();
        let joined = room.join(Mark::NONE, &people).expect("no mark");
        follow(&mut replica, joined.event);
        let called = room.admit_now(Mark::NONE, &AdmitNow::Count(3)).expect("no mark");
        follow(&mut replica, called.event);
        let incarnation = replica.mark().incarnation;
        let passes: Vec<_> = (1..=2).map(|seq| PassId { incarnation, seq, grant: 1 }).collect();
        let claimed = room.claim(Mark::NONE, &passes).expect("no mark");
        follow(&mut replica, claimed.event);

        let later = |seconds: u64| Timestamp(start.0 + seconds * 1_000);
        let mut noted = Vec::new();
        for second in 1..=4 {
            let ticked = room.admit(Mark::NONE, later(second), None).expect("no mark");
            noted.extend(follow(&mut replica, ticked.event));
        }
        let left = room.leave(Mark::NONE, &people[..1]).expect("no mark");
        noted.extend(follow(&mut replica, left.event));
        assert_eq!(noted, [4_000], "who left after four seconds");
        // The claimed pass expires, the unclaimed one too: only the first is a stay.
        for second in 5..=4_000 {
            let ticked = room.admit(Mark::NONE, later(second), None).expect("no mark");
            noted.extend(follow(&mut replica, ticked.event));
        }
        let totals = replica.totals();
        assert_eq!(
            (noted.len() as u64, noted.iter().sum::<u64>()),
            (totals.dwells, totals.dwell_ms)
        );
        assert_eq!(noted.len(), 2);
    }

    fn room_of(people: u8) -> Room {
        let mut room = Room::create(Settings::default(), Timestamp(1_000), 0).outcome;
        let people: Vec<_> = (1..=people).map(|n| SubjectKey([n; 16])).collect();
        room.join(Mark::NONE, &people).expect("no mark");
        room
    }

    /// The room as its store has it after it lost everything.
    fn lost(room: &Room) -> Room {
        let past = Past { mark: room.mark(), origin: Some(room.ledger().origin()) };
        Room::recover_lost(&Loss::Seen(past), Settings::default(), Timestamp(9_000), 0).outcome
    }

    #[test]
    fn totals_stay_while_a_room_recovers_and_do_not_fall_with_what_it_lost() {
        let (before, fewer, more) = (room_of(9), room_of(8), room_of(11));
        let events = RoomEvents::of(before.ledger());
        let joined = |room: &Room| events.counted(room.ledger()).map(|counted| counted.now[0]);
        assert_eq!(
            joined(&lost(&before)),
            Some(9),
            "a reset would be counted twice once it is back"
        );
        assert_eq!(joined(&fewer), Some(9), "one join was lost for good");
        assert_eq!(joined(&more), Some(11));
    }

    #[test]
    fn a_room_first_seen_while_it_recovers_is_counted_from_when_it_is_whole() {
        let room = room_of(9);
        let events = RoomEvents::of(lost(&room).ledger());
        assert_eq!(events.counted(lost(&room).ledger()), None, "it cannot tell yet");
        let counted = events.counted(room.ledger()).expect("it is whole");
        assert_eq!((counted.began[0], counted.now[0]), (9, 9));
    }
}
