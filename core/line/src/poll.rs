//! How soon a visitor should ask again: soon near the front, seldom far back, never in step with the others.

use jari_units::Millis;

use crate::Settings;

/// The directed poll interval for someone with `ahead` places still to be served before them.
///
/// A tenth of the time the line needs at the present rate, within the room's bounds and a third of the presence window
/// (so that one lost poll makes nobody absent). `jitter` is any random number; it spreads the answer over +-20 %.
#[must_use]
pub fn poll_interval(ahead: u64, rate_milli: u64, settings: &Settings, jitter: u32) -> Millis {
    let wait_ms = match rate_milli {
        0 => u64::MAX,
        rate => ahead.saturating_mul(1_000_000) / rate,
    };
    let longest = settings.poll_far.min(Millis(settings.presence_window.0 / 3));
    let shortest = settings.poll_near.min(longest);
    let base = (wait_ms / 10).clamp(shortest.0, longest.0);
    let spread = base * 2 / 5;
    let offset = u64::from(jitter) * spread / u64::from(u32::MAX);
    Millis((base - spread / 2 + offset).clamp(shortest.0, longest.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_front_soon_and_far_back_seldom() {
        let settings = Settings::default();
        let at = |ahead, rate| poll_interval(ahead, rate, &settings, u32::MAX / 2).0;
        assert_eq!(at(0, 200_000), 1_000);
        assert_eq!(at(10_000, 200_000), 4_999);
        assert_eq!(at(1_000_000, 200_000), 9_999);
        assert_eq!(at(5, 0), 9_999, "a line that stands still is not polled hard");
    }

    #[test]
    fn never_outside_the_bounds_whatever_the_jitter() {
        let settings = Settings { presence_window: Millis::from_secs(12), ..Settings::default() };
        for jitter in [0, 1, u32::MAX / 3, u32::MAX] {
            for ahead in [0, 7, 1_000, u64::MAX] {
                let interval = poll_interval(ahead, 1_000, &settings, jitter);
                assert!((1_000..=4_000).contains(&interval.0), "{interval} for {ahead} {jitter}");
            }
        }
    }
}
