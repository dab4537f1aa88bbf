//! Which of a tenant's keys signs the tokens for its sites, and which still vouch for what they signed. Holds no key.

use jari_units::{Millis, Timestamp};

/// How long a new key is shown before it signs: sites keep the key set for half of it, and then know the key when its first
/// token comes.
pub const SHOWN_BEFORE: Millis = Millis::from_mins(10);

/// When a key signs and vouches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// It is shown from the start, and signs from here on.
    pub signs_from: Timestamp,
    /// From this moment on it is gone, and nothing that it signed is good. `None`: not decided.
    pub ends_at: Option<Timestamp>,
}

impl KeyTimes {
    /// Whether it is in the key set, and what it signed is good.
    #[must_use]
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.ends_at.is_none_or(|end| now < end)
    }
}

/// The index of the key that signs at `now`: of those that are good the newest whose time has come, else the one whose time
/// comes first. `None` where none is good.
#[must_use]
pub fn signer(keys: &[KeyTimes], now: Timestamp) -> Option<usize> {
    let good = || keys.iter().enumerate().filter(|(_, key)| key.is_good(now));
    let come = good().filter(|(_, key)| key.signs_from <= now);
    let newest = come.max_by_key(|(_, key)| key.signs_from);
    let first = || good().min_by_key(|(_, key)| key.signs_from);
    newest.or_else(first).map(|(at, _)| at)
}

/// What a rotation at `now` does: when the new key begins to sign, and when the others end. Without an overlap both are
/// `now`: for a key that is in wrong hands.
#[must_use]
pub fn rotation(now: Timestamp, overlap: Millis) -> (Timestamp, Timestamp) {
    // Half of a short overlap is left for the tokens that the old key signed.
    let shown = SHOWN_BEFORE.min(Millis(overlap.0 / 2));
    (now + shown, now + overlap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn key(signs_from: u64, ends_at: Option<u64>) -> KeyTimes {
        KeyTimes { signs_from: Timestamp(signs_from), ends_at: ends_at.map(Timestamp) }
    }

    #[test]
    fn the_newest_good_key_whose_time_has_come_signs() {
        let now = NOW.0;
        for (keys, want) in [
            (vec![], None),
            (vec![key(1, None)], Some(0)),
            (vec![key(1, Some(now))], None),
            (vec![key(1, Some(now + 1)), key(now + 9, None)], Some(0)),
            (vec![key(1, Some(now + 1)), key(now, None)], Some(1)),
            (vec![key(1, Some(now)), key(now + 9, None)], Some(1)),
            (vec![key(5, None), key(2, None), key(3, Some(now))], Some(0)),
        ] {
            assert_eq!(signer(&keys, NOW), want, "{keys:?}");
        }
    }

    #[test]
    fn a_rotation_shows_the_new_key_before_it_signs_and_keeps_the_old_ones_for_the_overlap() {
        let day = Millis(24 * 3_600_000);
        assert_eq!(rotation(NOW, day), (NOW + SHOWN_BEFORE, NOW + day));
        assert_eq!(rotation(NOW, Millis(60_000)), (NOW + Millis(30_000), NOW + Millis(60_000)));
        assert_eq!(rotation(NOW, Millis::ZERO), (NOW, NOW));
    }

    /// At every moment of a rotation somebody signs, and what was signed a minute ago is good.
    #[test]
    fn no_moment_of_a_rotation_is_without_a_signer() {
        let (signs_from, ends_at) = rotation(NOW, Millis::from_mins(30));
        let keys = [key(1, Some(ends_at.0)), KeyTimes { signs_from, ends_at: None }];
        let minute = Millis(60_000);
        for second in 0..2_400 {
            let now = NOW + Millis(second * 1_000);
            let signs = signer(&keys, now).expect("somebody signs");
            assert!(keys[signs].is_good(now + minute) || now + minute >= ends_at, "{second} s");
            if now >= signs_from {
                assert_eq!(signs, 1, "{second} s");
            }
        }
    }
}
