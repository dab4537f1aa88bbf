//! A store's clock: never steps back, whatever the machine's clock does, and finds back to it. A step forward shows as a
//! late tick.

use jari_units::{Timestamp, limits};
use serde::{Deserialize, Serialize};

/// Turns readings of a wall clock into a time that only grows.
///
/// A backward step moves an offset, so that time goes on at once. The offset then shrinks, so that the times of the day
/// (`opens_at`) are soon right again: slowly while time goes on, at once where the wall clock jumps forward.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct StoreClock {
    offset: u64,
    last: Timestamp,
    wall: Option<Timestamp>,
    /// Milliseconds gone by that have not shortened the offset yet.
    credit: u64,
}

impl StoreClock {
    /// While the store's time is ahead of the machine's, it runs slower by one part in so many: five minutes are made
    /// up for in fifty. Slower is the safe side: rates are kept and nobody's silence is counted too long.
    pub const SLEW: u64 = 10;

    /// A clock that goes on from `last`, the latest time the store has recorded.
    #[must_use]
    pub fn resume(last: Timestamp) -> Self {
        StoreClock { last, ..StoreClock::default() }
    }

    /// The store's time at this reading of the wall clock.
    pub fn read(&mut self, wall: Timestamp) -> Timestamp {
        self.shrink(wall);
        self.wall = Some(wall);
        let now = Timestamp(wall.0 + self.offset);
        if now < self.last {
            self.offset += self.last.0 - now.0;
        } else {
            self.last = now;
        }
        self.last
    }

    fn shrink(&mut self, wall: Timestamp) {
        let since = self.wall.map_or(0, |before| wall.since(before).0);
        if since > limits::TICK_LATE.0 {
            self.offset = self.offset.saturating_sub(since);
        } else {
            self.credit += since;
            let made_up = self.offset.min(self.credit / Self::SLEW);
            self.offset -= made_up;
            self.credit -= made_up * Self::SLEW;
        }
        if self.offset == 0 {
            self.credit = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> StoreClock {
        let mut clock = StoreClock::resume(Timestamp(1_000_000));
        assert_eq!(clock.read(Timestamp(1_000_500)), Timestamp(1_000_500));
        clock
    }

    /// A4: a clock stepped back five minutes neither stops the line nor runs it twice.
    #[test]
    fn a_backward_step_moves_the_offset_and_time_goes_on() {
        let mut clock = clock();
        assert_eq!(clock.read(Timestamp(700_500)), Timestamp(1_000_500));
        assert_eq!(clock.read(Timestamp(701_500)), Timestamp(1_001_400));
    }

    /// T1: a step that is taken back leaves no room opening early.
    #[test]
    fn the_right_time_is_found_again() {
        let mut slowly = clock();
        slowly.read(Timestamp(700_500));
        let fifty_minutes = 3_000;
        for second in 1..=fifty_minutes {
            slowly.read(Timestamp(700_500 + second * 1_000));
        }
        assert_eq!(slowly.read(Timestamp(3_800_000)), Timestamp(3_800_000));

        let mut at_once = clock();
        at_once.read(Timestamp(700_500));
        assert_eq!(at_once.read(Timestamp(1_002_000)), Timestamp(1_002_000));
    }

    #[test]
    fn how_often_it_is_read_makes_no_difference() {
        let mut seldom = clock();
        let mut often = seldom;
        let start = 700_500;
        seldom.read(Timestamp(start));
        often.read(Timestamp(start));
        for ms in 1..=4_000 {
            often.read(Timestamp(start + ms));
        }
        assert_eq!(often.read(Timestamp(start + 4_000)), seldom.read(Timestamp(start + 4_000)));
    }
}
