//! When a rehearsed `auto` room queued, and who walked in meanwhile. Decides neither: the room does.

use jari_units::{Millis, limits};

/// Of rooms in another mode all of it is the default: they queue always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// People who were let in without a wait.
    pub walked_in: u64,
    /// When it first queued, from the start; `None`: never.
    pub first_after: Option<Millis>,
    /// For how long in all.
    pub lasted: Millis,
}

impl Queued {
    /// Notes how a tick has left the room.
    pub(crate) fn note(&mut self, queues: bool, now: Millis) {
        if queues {
            self.first_after = self.first_after.or(Some(now));
            self.lasted += limits::TICK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_moment_stays_and_the_time_adds_up() {
        let mut queued = Queued::default();
        for (second, queues) in [(0, false), (1, true), (2, true), (3, false), (4, true)] {
            queued.note(queues, Millis::from_secs(second));
        }
        let (first, lasted) = (Some(Millis(1_000)), Millis(3_000));
        assert_eq!(queued, Queued { walked_in: 0, first_after: first, lasted });
    }
}
