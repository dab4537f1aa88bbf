//! Which room wants its next tick when, so that what idle rooms cost a tick does not grow with their number. Knows no
//! rule: the core says when.

use std::collections::{BTreeMap, BTreeSet};

use jari_units::{RoomId, Timestamp};

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    by_time: BTreeSet<(Timestamp, RoomId)>,
    by_room: BTreeMap<RoomId, Timestamp>,
}

impl Agenda {
    /// Puts a room's next tick in the place of the one it had; `None` where it wants none.
    pub(crate) fn set(&mut self, room: &RoomId, at: Option<Timestamp>) {
        let before = self.by_room.get(room).copied();
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.by_time.remove(&(before, room.clone()));
            self.by_room.remove(room);
        }
        if let Some(at) = at {
            self.by_time.insert((at, room.clone()));
            self.by_room.insert(room.clone(), at);
        }
    }

    /// The rooms whose time has come, in order of id.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<RoomId> {
        let due = self.by_time.iter().take_while(|(at, _)| *at <= now);
        let mut rooms: Vec<_> = due.map(|(_, room)| room.clone()).collect();
        rooms.sort_unstable();
        rooms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_due_from_its_time_on_and_has_one_time() {
        let room = |text: &str| text.parse::<RoomId>().expect("an id");
        let (a, b) = (room("a"), room("b"));
        let mut agenda = Agenda::default();
        agenda.set(&b, Some(Timestamp(0)));
        agenda.set(&a, Some(Timestamp(10)));
        assert_eq!(agenda.due(Timestamp(9)), std::slice::from_ref(&b));
        assert_eq!(agenda.due(Timestamp(10)), [a.clone(), b.clone()]);
        agenda.set(&a, Some(Timestamp(20)));
        agenda.set(&b, None);
        agenda.set(&b, None);
        assert!(agenda.due(Timestamp(19)).is_empty());
        assert_eq!(agenda.due(Timestamp(20)), [a]);
        assert_eq!((agenda.by_time.len(), agenda.by_room.len()), (1, 1));
    }
}
