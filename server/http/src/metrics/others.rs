//! The rooms without a label of their own, as one: what happened in them, added up from scrape to scrape. A sum over
//! whichever rooms they are now would fall with every room that leaves them, and leap with every one that comes with a past.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::latency::Snapshot;
use super::room_events::Counted;
use super::rooms::{ROOMS_MAX, RoomCounts, TOTALS, Totals};

/// Kept from scrape to scrape: some 300 bytes for each room at work.
#[derive(Debug, Default)]
pub(super) struct Others {
    last: FxHashMap<Cow<'static, str>, Last>,
    sum: Option<Sum>,
}

/// What happened in rooms while they had no label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sum {
    pub(super) totals: Totals,
    pub(super) dwell: Snapshot,
}

/// A room at the scrape before.
#[derive(Debug)]
struct Last {
    counted: Counted,
    dwell: Snapshot,
}

impl Others {
    /// Takes in all rooms of a scrape, in order of id. The sum, once there is a room without a label.
    pub(super) fn take_in(&mut self, rooms: &[RoomCounts]) -> Option<Sum> {
        let mut old = std::mem::take(&mut self.last);
        for (at, room) in rooms.iter().enumerate() {
            let Some(counted) = room.counted else { continue };
            let last = old.remove(&room.room).filter(|last| last.counted.since == counted.since);
            // What a room counted before this node followed it is not of this sum.
            let mut last = last.unwrap_or_else(|| Last {
                counted: Counted { now: counted.began, ..counted },
                dwell: room.dwell.emptied(),
            });
            if at >= ROOMS_MAX {
                self.sum
                    .get_or_insert_with(|| Sum::of_nothing(&room.dwell))
                    .add(&last, room, &counted);
            }
            last.raise(room, &counted);
            self.last.insert(room.room.clone(), last);
        }
        self.sum.clone()
    }
}

impl Sum {
    fn of_nothing(like: &Snapshot) -> Sum {
        Sum { totals: [0; TOTALS.len()], dwell: like.emptied() }
    }

    fn add(&mut self, last: &Last, room: &RoomCounts, counted: &Counted) {
        let pairs = last.counted.now.iter().zip(counted.now);
        for (sum, (old, new)) in self.totals.iter_mut().zip(pairs) {
            *sum += new.saturating_sub(*old);
        }
        self.dwell.add_since(&last.dwell, &room.dwell);
    }
}

impl Last {
    /// Of two scrapes at once the one that looked first may come last.
    fn raise(&mut self, room: &RoomCounts, counted: &Counted) {
        for (old, new) in self.counted.now.iter_mut().zip(counted.now) {
            *old = new.max(*old);
        }
        self.dwell.raise(&room.dwell);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jari_line::{Room, Settings};
    use jari_units::{Incarnation, Mark, Millis, SubjectKey, Timestamp};

    use super::*;
    use crate::metrics::room_events::RoomEvents;

    /// Rooms of a node and what it keeps between scrapes.
    #[derive(Default)]
    struct Node {
        rooms: BTreeMap<String, (Room, RoomEvents)>,
        others: Others,
        people: u64,
    }

    impl Node {
        /// A room in which so many have joined before this node follows it.
        fn follow(&mut self, id: &str, past: u64, above: Incarnation) {
            let mut room = Room::create(Settings::default(), Timestamp(1_000), above).outcome;
            join(&mut room, &mut self.people, past);
            let events = RoomEvents::of(room.ledger());
            self.rooms.insert(id.to_owned(), (room, events));
        }

        /// So many join each room, and somebody ends a stay.
        fn happens_in_all(&mut self, joins: u64) {
            for (room, events) in self.rooms.values_mut() {
                join(room, &mut self.people, joins);
                events.note(vec![Millis(7_000)]);
            }
        }

        fn keep(&mut self, keep: impl Fn(&str) -> bool) {
            self.rooms.retain(|id, _| keep(id));
        }

        fn look(&self) -> Vec<RoomCounts> {
            let looks = self.rooms.iter().map(|(id, (room, events))| {
                let batches =
                    [("join", 0), ("leave", 0), ("claim", 0), ("touch", 0), ("reattach", 0)];
                RoomCounts::of(&id.parse().expect("an id"), room.ledger(), events, 0, batches)
            });
            looks.collect()
        }

        /// People who joined, and stays that ended, in rooms without a label.
        fn scrape(&mut self) -> Option<(u64, u64)> {
            let sum = self.others.take_in(&self.look())?;
            Some((sum.totals[0], sum.dwell.count()))
        }
    }

    fn join(room: &mut Room, people: &mut u64, count: u64) {
        let keys: Vec<_> = (0..count)
            .map(|_| {
                *people += 1;
                SubjectKey(u128::from(*people).to_be_bytes())
            })
            .collect();
        room.join(Mark::NONE, &keys).expect("no mark");
    }

    #[test]
    fn with_250_rooms_that_come_and_go_the_others_count_what_happened_in_them_and_never_fall() {
        let mut node = Node::default();
        for n in 0..ROOMS_MAX {
            node.follow(&format!("r{n:03}"), 9, 0);
        }
        assert_eq!(node.scrape(), None, "each has a label of its own");
        for n in ROOMS_MAX..250 {
            node.follow(&format!("r{n:03}"), 9, 0);
        }
        assert_eq!(node.scrape(), Some((0, 0)), "what was before this node is not of the sum");
        node.happens_in_all(3);
        assert_eq!(node.scrape(), Some((150, 50)));
        assert_eq!(node.scrape(), Some((150, 50)), "a scrape by itself counts nothing");
        // Thirty labels come free: thirty rooms take theirs out of the others.
        node.keep(|id| id >= "r030");
        assert_eq!(node.scrape(), Some((150, 50)));
        node.happens_in_all(1);
        assert_eq!(node.scrape(), Some((170, 70)), "twenty are left");
        // A hundred new ones come before them: a hundred that had a label bring no past.
        for n in 0..100 {
            node.follow(&format!("a{n:03}"), 0, 0);
        }
        assert_eq!(node.scrape(), Some((170, 70)));
        node.happens_in_all(2);
        assert_eq!(node.scrape(), Some((410, 190)), "120 now");
        // One is deleted, and another of its id made: less than its predecessor had, and all of it new.
        let above = node.rooms["r249"].0.mark().incarnation;
        node.follow("r249", 0, above);
        let (again, _) = node.rooms.get_mut("r249").expect("it was made again");
        join(again, &mut node.people, 1);
        assert_eq!(node.scrape(), Some((411, 190)));
        node.keep(|id| id < "a010");
        assert_eq!(
            node.scrape(),
            Some((411, 190)),
            "nothing is without a label, and nothing is forgotten"
        );
    }

    #[test]
    fn of_two_scrapes_at_once_the_older_look_may_come_last() {
        let mut node = Node::default();
        for n in 0..=ROOMS_MAX {
            node.follow(&format!("r{n:03}"), 0, 0);
        }
        let older = node.look();
        node.happens_in_all(5);
        assert_eq!(node.scrape(), Some((5, 1)));
        let told = node.others.take_in(&older).map(|sum| (sum.totals[0], sum.dwell.count()));
        assert_eq!(told, Some((5, 1)));
        assert_eq!(node.scrape(), Some((5, 1)), "nothing is counted twice");
    }
}
