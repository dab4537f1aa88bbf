//! When arrivals are due: stretches of time in which their rate stays or changes evenly. Sends nothing.

use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use tokio::time::Duration;

/// Arrivals of one schedule at most: bounds what one command line can ask for.
const ARRIVALS_MAX: f64 = 5_000_000.0;
/// The longest schedule, in seconds.
const SECONDS_MAX: f64 = 3_600.0;

/// A stretch in which the rate goes evenly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stage {
    from_per_s: f64,
    to_per_s: f64,
    seconds: f64,
}

impl FromStr for Stage {
    type Err = anyhow::Error;

    /// "300:10" is 300 a second for 10 s; "300-180:40" goes from 300 to 180 a second over 40 s.
    fn from_str(text: &str) -> Result<Self> {
        let (rates, seconds) = text.split_once(':').context("write RATE:SECONDS")?;
        let (from, to) = rates.split_once('-').unwrap_or((rates, rates));
        let number = |text: &str| -> Result<f64> {
            let number = text.parse::<f64>().with_context(|| format!("{text} is no number"))?;
            ensure!(number.is_finite() && number >= 0.0, "{text} is below nothing");
            Ok(number)
        };
        let stage =
            Stage { from_per_s: number(from)?, to_per_s: number(to)?, seconds: number(seconds)? };
        ensure!(stage.seconds > 0.0, "{text} lasts no time");
        Ok(stage)
    }
}

impl Stage {
    fn arrivals(self) -> f64 {
        f64::midpoint(self.from_per_s, self.to_per_s) * self.seconds
    }

    /// Seconds from its start until `arrivals` have come: the root of `from t + slope t^2 / 2 = arrivals`, written so
    /// that an even rate needs no case of its own.
    fn after(self, arrivals: f64) -> f64 {
        let slope = (self.to_per_s - self.from_per_s) / self.seconds;
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * arrivals).max(0.0).sqrt();
        (2.0 * arrivals / (self.from_per_s + root)).min(self.seconds)
    }
}

/// Stages one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Schedule(Vec<Stage>);

impl Schedule {
    /// The stages with every duration times `scale`: the rates stay, fewer people come.
    pub(crate) fn new(stages: &[Stage], scale: f64) -> Result<Schedule> {
        ensure!(scale > 0.0 && scale.is_finite(), "the scale must be above 0");
        let scaled = stages.iter().map(|s| Stage { seconds: s.seconds * scale, ..*s });
        let schedule = Schedule(scaled.collect());
        ensure!(schedule.arrivals_exact() <= ARRIVALS_MAX, "more than {ARRIVALS_MAX} arrivals");
        ensure!(schedule.seconds() <= SECONDS_MAX, "longer than {SECONDS_MAX} s");
        Ok(schedule)
    }

    fn arrivals_exact(&self) -> f64 {
        self.0.iter().map(|stage| stage.arrivals()).sum()
    }

    pub(crate) fn arrivals(&self) -> u64 {
        // A millionth for what is lost in sums of fractions.
        (self.arrivals_exact() + 1e-6) as u64
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.iter().map(|stage| stage.seconds).sum()
    }

    /// From the start to the arrival with this number, from 0; each stands in the middle of its own share of time.
    pub(crate) fn due(&self, nth: u64) -> Option<Duration> {
        if nth >= self.arrivals() {
            return None;
        }
        let (mut left, mut from) = (nth as f64 + 0.5, 0.0);
        for stage in &self.0 {
            if left <= stage.arrivals() {
                return Some(Duration::from_secs_f64(from + stage.after(left)));
            }
            left -= stage.arrivals();
            from += stage.seconds;
        }
        Some(Duration::from_secs_f64(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(stages: &[&str], scale: f64) -> Schedule {
        let stages: Vec<Stage> = stages.iter().map(|text| text.parse().expect("good")).collect();
        Schedule::new(&stages, scale).expect("within the bounds")
    }

    #[test]
    fn an_even_rate_is_evenly_spaced() {
        let even = schedule(&["100:2"], 1.0);
        assert_eq!(even.arrivals(), 200);
        for nth in [0, 1, 77, 199] {
            let due = even.due(nth).expect("within").as_secs_f64();
            assert!((due - (nth as f64 + 0.5) / 100.0).abs() < 1e-9, "{nth}: {due}");
        }
        assert_eq!(even.due(200), None);
    }

    #[test]
    fn ramps_have_the_area_under_their_line_in_every_second() {
        let ramps = schedule(&["300:10", "300-180:40", "180-50:60", "50-0:20"], 1.0);
        assert_eq!(ramps.arrivals(), 20_000);
        let dues: Vec<f64> =
            (0..20_000).map(|n| ramps.due(n).expect("within").as_secs_f64()).collect();
        assert!(dues.windows(2).all(|two| two[0] <= two[1]), "in order");
        assert!(dues[19_999] <= 130.0);
        let within = |from: f64, to: f64| dues.iter().filter(|s| (from..to).contains(s)).count();
        // The middle second of each stretch has its mean rate.
        for (second, rate) in [(4.5, 300), (29.5, 240), (79.5, 115), (119.5, 25)] {
            let count = within(second, second + 1.0);
            assert!(count.abs_diff(rate) <= 1, "{count} at {second}, not {rate}");
        }
    }

    #[test]
    fn a_scale_keeps_the_rates_and_shortens_the_time() {
        let short = schedule(&["300:10", "300-180:40"], 0.1);
        assert_eq!((short.arrivals(), short.seconds()), (1_260, 5.0));
        assert!(short.due(150).expect("within").as_secs_f64() < 0.51);
    }

    #[test]
    fn what_is_no_stage_is_refused() {
        for text in ["", "300", "300:0", "-5:10", "x:1", "1-:1", "NaN:1", "inf:1"] {
            assert!(text.parse::<Stage>().is_err(), "{text}");
        }
        let stage = "1000000:1000".parse().expect("a stage");
        assert!(Schedule::new(&[stage], 1.0).is_err(), "too many");
    }
}
