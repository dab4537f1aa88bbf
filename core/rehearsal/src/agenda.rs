//! What simulated people will do, in order of time. Knows no rule of the line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jari_units::Millis;

/// Something one person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    Join,
    /// Hears nothing for so long: a locked phone, or a closed page that is opened again.
    Away(Millis),
    Back,
    GiveUp,
    /// Clicks on "enter".
    GoIn,
    Touch,
    Finish,
}

/// Deeds by time; of one moment in the order they were planned.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    deeds: BinaryHeap<Reverse<(Millis, u64, u32, Deed)>>,
    planned: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Millis, person: u32, deed: Deed) {
        self.planned += 1;
        self.deeds.push(Reverse((at, self.planned, person, deed)));
    }

    /// The next deed that is due at `now`.
    pub(crate) fn due(&mut self, now: Millis) -> Option<(u32, Deed)> {
        let Reverse((at, ..)) = self.deeds.peek()?;
        if *at > now {
            return None;
        }
        self.deeds.pop().map(|Reverse((_, _, person, deed))| (person, deed))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deeds.is_empty()
    }
}
