//! People of a room's block and allow lists whom the store has lost: nobody else knows them, so operators are told until as many
//! have been named again. Since this process began; the log of the node that ticked tells of it too.

use jari_line::{Change, Event};
use jari_units::Timestamp;
use parking_lot::Mutex;

/// How many are not named again yet, and when the last of them were found to be lost, by the room's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) people: u64,
    pub(crate) at: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct Unlisted(Mutex<Option<Lost>>);

impl Unlisted {
    /// Takes in what happened in the room.
    pub(crate) fn note(&self, event: &Event) {
        let tick = match event {
            Event::Settled(settled) => Some(&settled.tick),
            event => event.tick(),
        };
        if let Some(tick) = tick.filter(|tick| tick.unlisted > 0) {
            let mut lost = self.0.lock();
            let before = lost.map_or(0, |lost| lost.people);
            *lost = Some(Lost { people: before + tick.unlisted, at: tick.now });
        }
        let Event::Changed { change, .. } = event else { return };
        if matches!(**change, Change::Block(_) | Change::Allow(_)) {
            let mut lost = self.0.lock();
            // Whoever it is: as lists, the lost are gone, and an operator who begins to name people knows of it.
            *lost = lost.and_then(|Lost { people, at }| {
                (people > 1).then(|| Lost { people: people - 1, at })
            });
        }
    }

    pub(crate) fn told(&self) -> Option<Lost> {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use jari_line::{SeqSet, Tick};
    use jari_units::{Millis, SubjectKey};

    use super::*;

    fn ticked(unlisted: u64, now: u64) -> Event {
        Event::Ticked(Box::new(Tick { unlisted, now: Timestamp(now), ..Tick::default() }))
    }

    fn changed(change: Change) -> Event {
        let none = SeqSet::default;
        let change = Box::new(change);
        Event::Changed { change, ended: none(), granted: none(), deadline: Millis(0) }
    }

    #[test]
    fn the_lost_are_told_until_as_many_were_named_again() {
        let unlisted = Unlisted::default();
        unlisted.note(&ticked(0, 1_000));
        assert_eq!(unlisted.told(), None);
        unlisted.note(&ticked(2, 2_000));
        unlisted.note(&ticked(0, 3_000));
        unlisted.note(&changed(Change::Pause));
        assert_eq!(unlisted.told(), Some(Lost { people: 2, at: Timestamp(2_000) }));
        unlisted.note(&ticked(1, 4_000));
        unlisted.note(&changed(Change::Block(SubjectKey([1; 16]))));
        unlisted.note(&changed(Change::Allow(SubjectKey([2; 16]))));
        assert_eq!(unlisted.told(), Some(Lost { people: 1, at: Timestamp(4_000) }));
        unlisted.note(&changed(Change::Block(SubjectKey([3; 16]))));
        assert_eq!(unlisted.told(), None);
    }
}
