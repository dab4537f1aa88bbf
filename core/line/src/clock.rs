//! A store's clock: never steps back, whatever the machine's clock does. A step forward shows as a late tick.

use jari_units::Timestamp;

/// Turns readings of a wall clock into a time that only grows. A backward step moves the offset, so that time goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreClock {
    offset: u64,
    last: Timestamp,
}

impl StoreClock {
    /// A clock that goes on from `last`, the latest time the store has recorded.
    #[must_use]
    pub fn resume(last: Timestamp) -> Self {
        StoreClock { offset: 0, last }
    }

    /// The store's time at this reading of the wall clock.
    pub fn read(&mut self, wall: Timestamp) -> Timestamp {
        let now = Timestamp(wall.0 + self.offset);
        if now < self.last {
            self.offset += self.last.0 - now.0;
        } else {
            self.last = now;
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A4: a clock stepped back five minutes neither stops the line nor runs it twice.
    #[test]
    fn a_backward_step_moves_the_offset_and_time_goes_on() {
        let mut clock = StoreClock::resume(Timestamp(1_000_000));
        assert_eq!(clock.read(Timestamp(1_000_500)), Timestamp(1_000_500));
        assert_eq!(clock.read(Timestamp(700_500)), Timestamp(1_000_500));
        assert_eq!(clock.read(Timestamp(701_500)), Timestamp(1_001_500));
        assert_eq!(clock.read(Timestamp(1_002_000)), Timestamp(1_302_000));
    }
}
