//! What must hold whatever was lost: one order of numbers, one person a number, never more inside than there is room for.

use std::collections::BTreeSet;

use jari_api::{PlaceStatus, PlaceView};
use jari_line::Ledger;
use jari_units::Seq;

use crate::people::Person;

/// What a room with this capacity, and so many inside when the store lost it, may show at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    pub(crate) capacity: u64,
    pub(crate) inside: u64,
}

impl Cap {
    /// Never more live passes than the capacity. While the room recovers, passes come back and none is given.
    pub(crate) fn see(self, room: &Ledger) {
        let live = room.passes().live();
        assert!(live <= self.capacity, "{live} inside, {} at most", self.capacity);
        let given = room.is_recovering() && live > self.inside;
        assert!(!given, "{live} inside, {} when it was lost: let in meanwhile", self.inside);
    }
}

/// Everybody in line is told a place in the order of their numbers: the first is 1, nobody shares one.
pub(crate) fn order(told: &[PlaceView]) {
    let waiting = told.iter().filter(|view| view.status == PlaceStatus::Waiting);
    let mut places: Vec<(Seq, u64)> =
        waiting.map(|view| (view.seq, view.position.expect("in line"))).collect();
    places.sort_unstable();
    for (nth, (seq, position)) in places.iter().enumerate() {
        assert_eq!(*position, nth as u64 + 1, "number {seq} is not told its place in the order");
    }
}

/// Nobody has another's number.
pub(crate) fn one_each(people: &[Person]) {
    let numbers: BTreeSet<Seq> = people.iter().map(|person| person.seq).collect();
    assert_eq!(numbers.len(), people.len(), "two people have one number");
}
