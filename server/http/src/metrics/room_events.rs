//! What a room's events say that its ledger does not keep: how long each person was inside. Fed where a replica applies
//! an event; counts since this node follows the room.

use std::time::Duration;

use jari_line::{Event, Ledger, SeqSet};
use jari_units::{Millis, Seq};

use super::latency::{DWELL_BUCKETS_S, Latency};

#[derive(Debug)]
pub(crate) struct RoomEvents {
    pub(super) dwell: Latency,
}

impl Default for RoomEvents {
    fn default() -> Self {
        RoomEvents { dwell: Latency::new(DWELL_BUCKETS_S) }
    }
}

impl RoomEvents {
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
        _ => return Vec::new(),
    };
    let claimed = |seq: Seq| before.passes().get(seq)?.claimed_at;
    ended.iter().filter_map(claimed).map(|claimed_at| silence_ms - claimed_at).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jari_line::{AdmitNow, Room, RoomEvent, Settings};
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
}
