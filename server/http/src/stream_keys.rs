//! Which one-time stream keys were used. Remembers each until it would have expired anyway; makes and checks none.

use jari_units::{Millis, Timestamp};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

/// A key is used right after the answer that brought it, or never.
pub(crate) const STREAM_KEY_TTL: Millis = Millis::from_secs(30);

/// Keys remembered at most, some 4 MB: four times the streams a process opens in a key's life.
const USED_MAX: usize = 131_072;

#[derive(Debug, Default)]
pub struct StreamKeys(Mutex<Used>);

/// Two generations, each as long as a key lives: a key is forgotten only after it expired.
#[derive(Debug, Default)]
struct Used {
    since: Timestamp,
    new: FxHashSet<u64>,
    old: FxHashSet<u64>,
}

/// Why a stream key is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRefused {
    /// It was used before.
    Used,
    /// Too many were used lately: nobody can tell whether it was.
    Crowded,
}

impl StreamKeys {
    /// Uses a key that is good at `now`.
    pub(crate) fn use_up(&self, nonce: u64, now: Timestamp) -> Result<(), KeyRefused> {
        self.0.lock().use_up(nonce, now)
    }
}

impl Used {
    fn use_up(&mut self, nonce: u64, now: Timestamp) -> Result<(), KeyRefused> {
        if now.since(self.since) >= STREAM_KEY_TTL {
            self.old = std::mem::take(&mut self.new);
            self.since = now;
        }
        if self.old.contains(&nonce) || self.new.contains(&nonce) {
            return Err(KeyRefused::Used);
        }
        if self.new.len() >= USED_MAX / 2 {
            return Err(KeyRefused::Crowded);
        }
        self.new.insert(nonce);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_used_once_for_as_long_as_it_lives() {
        let mut used = Used::default();
        for start in [1_000_000, 1_017_000] {
            let at = |ms| Timestamp(start + ms);
            let nonce = start;
            assert_eq!(used.use_up(nonce, at(0)), Ok(()));
            for ms in [0, 1, 15_000, 29_999] {
                assert_eq!(used.use_up(nonce, at(ms)), Err(KeyRefused::Used), "{ms}");
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_comes_back() {
        let mut used = Used::default();
        let now = Timestamp(1_000_000);
        let taken = (0..USED_MAX as u64).filter(|n| used.use_up(*n, now).is_ok()).count();
        assert_eq!(taken, USED_MAX / 2);
        assert_eq!(used.use_up(u64::MAX, now), Err(KeyRefused::Crowded));
        assert_eq!(used.use_up(u64::MAX, now + STREAM_KEY_TTL), Ok(()));
    }
}
