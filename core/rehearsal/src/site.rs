//! A simple site for the pacer `signal`: what it says hangs on how many people are at it, and on nothing else.

use jari_line::Load;

/// From how many people on it says which word; `busy_at` is not above `overloaded_at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    pub busy_at: u64,
    pub overloaded_at: u64,
}

impl Site {
    pub(crate) fn says(self, visiting: u64) -> Load {
        if visiting >= self.overloaded_at {
            Load::Overloaded
        } else if visiting >= self.busy_at {
            Load::Busy
        } else {
            Load::Ok
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_people_make_it_say_worse() {
        let site = Site { busy_at: 80, overloaded_at: 100 };
        let said = [0, 79, 80, 99, 100, 500].map(|visiting| site.says(visiting));
        let [ok, busy, overloaded] = [Load::Ok, Load::Busy, Load::Overloaded];
        assert_eq!(said, [ok, ok, busy, busy, overloaded, overloaded]);
    }
}
