//! Places that their owners were told to have left. The replica hears of it a moment later; a store that is lost in that
//! moment takes it along, and then this node alone knows. Tells no store by itself.

use jari_line::{EndReason, Event, RoomEvent, SeqSet, Standing};
use jari_units::{Mark, Seq};
use parking_lot::Mutex;

use super::Live;

/// Not heard of by the replica, as far as is known: each with the mark of its answer.
#[derive(Debug, Default)]
pub(super) struct Goodbyes(Mutex<Vec<(Seq, Mark)>>);

impl Goodbyes {
    /// Somebody was answered at `mark` that they have left; the replica stands at `reached`.
    pub(super) fn note(&self, seq: Seq, mark: Mark, reached: Mark) {
        let mut waiting = self.0.lock();
        // So there are never more than leave within the time that a replica takes.
        waiting.retain(|(_, mark)| reached.is_behind(mark));
        if reached.is_behind(&mark) {
            waiting.push((seq, mark));
        }
    }

    /// The room goes on in another history: takes what `old` had not heard of into it, for it is what is told of it.
    pub(super) fn tell(&self, old: &mut Live) {
        let left = std::mem::take(&mut *self.0.lock());
        let at = old.ledger().mark();
        let unheard = |mark: &Mark| mark.incarnation == at.incarnation && at.is_behind(mark);
        let lives = |seq: Seq| {
            seq < at.next_seq && old.ledger().standing(at.incarnation, seq) != Standing::Ended
        };
        let left = left.into_iter().filter(|(seq, mark)| unheard(mark) && lives(*seq));
        let seqs: SeqSet = left.map(|(seq, _)| seq).collect();
        if seqs.is_empty() {
            return;
        }
        let event = Event::Ended { seqs, reason: EndReason::Left };
        let (incarnation, event_no) = (at.incarnation, at.event_no + 1);
        let applied = old.apply(&RoomEvent { incarnation, event_no, event });
        debug_assert!(applied.is_ok(), "it is the next one: {applied:?}");
    }
}

#[cfg(test)]
mod tests {
    use jari_line::{Room, Settings};
    use jari_units::{SubjectKey, Timestamp};

    use super::*;

    #[test]
    fn who_left_unheard_has_left_what_is_told() {
        let mut room = Room::create(Settings::default(), Timestamp(1_000), 0).outcome;
        let people = [1, 2, 3].map(|n| SubjectKey([n; 16]));
        room.join(Mark::NONE, &people).expect("no mark");
        let mut replica = Live::new(room.ledger().clone());
        let reached = room.mark();
        let goodbyes = Goodbyes::default();
        let heard = Mark { event_no: reached.event_no - 1, ..reached };
        goodbyes.note(1, heard, reached);
        goodbyes.note(2, room.leave(Mark::NONE, &people[1..2]).expect("no mark").mark, reached);
        goodbyes.tell(&mut replica);
        let standing = |seq| replica.ledger().standing(reached.incarnation, seq);
        assert_ne!(standing(1), Standing::Ended, "the replica had heard all there was of it");
        assert_eq!(standing(2), Standing::Ended);
        assert_ne!(standing(3), Standing::Ended);
    }
}
