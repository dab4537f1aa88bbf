//! How long the wait may be, as a range. Wrong numbers cost trust, so the range is wide where little is known.

use jari_units::{Millis, Timestamp};
use std::collections::VecDeque;

/// Speed is measured over this: long enough to even out ticks, short enough to follow the operator.
const SHORT: Millis = Millis::from_secs(60);
const LONG: Millis = Millis::from_mins(5);
/// Less measured time than this says nothing about speed.
const MEASURED_MIN: Millis = Millis::from_secs(20);
/// Samples are kept at most this often.
const SAMPLE_EVERY: Millis = Millis::from_secs(2);
/// How much faster or slower than measured the line may turn out.
const FASTER_PERCENT: u64 = 114;
const SLOWER_PERCENT: u64 = 85;
/// Places, against the root of the position, that chance may add or take away.
const CHANCE_PERCENT: u64 = 150;
/// A tick, its notice and a poll pass before anyone knows.
const NOTICE_LAG: Millis = Millis::from_secs(3);

/// From `low` to `high` from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub low: Millis,
    pub high: Millis,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEstimate {
    NotOpen,
    Paused,
    Closed,
    /// The tenant admits by hand, or nothing has moved for a while.
    Unknown,
}

/// Recent speed of the frontier, sampled as ticks come in.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    samples: VecDeque<(Timestamp, u64)>,
}

/// What an estimate is made of.
#[derive(Clone, Copy, Debug)]
pub struct EstimateInput {
    pub position: u64,
    /// Admissions per 1,000 s that the pacer allows.
    pub rate_milli: u64,
    pub capacity: u64,
    pub live: u64,
    /// Mean life of a pass, once enough have ended.
    pub stay: Option<Millis>,
    /// The longest life of a pass that nobody uses after its claim.
    pub stay_max: Millis,
    /// Places that the line moves by for 1,000 passes: above 1,000 where people do not wait for their turn.
    pub served_per_mille: u64,
}

impl Pace {
    /// Notes how many places had been served at `now`.
    pub fn sample(&mut self, now: Timestamp, served: u64) {
        if self.samples.back().is_some_and(|(at, _)| now.since(*at) < SAMPLE_EVERY) {
            return;
        }
        self.samples.push_back((now, served));
        while self.samples.get(1).is_some_and(|(at, _)| now.since(*at) >= LONG) {
            self.samples.pop_front();
        }
    }

    /// Forgets what was measured: the rate, the capacity or the pause changed.
    pub fn restart(&mut self) {
        self.samples.clear();
    }

    /// Places served per 1,000 s over the last `span`, once enough was measured.
    fn over(&self, span: Millis) -> Option<u64> {
        let (end, served) = self.samples.back()?;
        let (start, before) = self.samples.iter().find(|(at, _)| end.since(*at) <= span)?;
        let time = end.since(*start);
        (time >= MEASURED_MIN).then(|| (served - before) * 1_000_000 / time.0)
    }

    /// The slowest and fastest pace measured.
    fn bounds(&self) -> Option<(u64, u64)> {
        let (short, long) = (self.over(SHORT)?, self.over(LONG)?);
        Some((short.min(long), short.max(long)))
    }
}

impl Estimate {
    /// The wait of the person at `position`.
    ///
    /// # Errors
    /// [`NoEstimate::Unknown`] where nothing moves and nothing says when it will.
    pub fn new(input: &EstimateInput, pace: &Pace) -> Result<Estimate, NoEstimate> {
        if input.capacity == 0 {
            return Err(NoEstimate::Unknown);
        }
        let rate = input.rate_milli * input.served_per_mille / 1_000;
        // Once the room is full the line moves as those inside finish. Until that was seen, the slow end assumes that
        // everybody uses all of the pass.
        let turnover =
            |stay: Millis| input.capacity * 1_000 * input.served_per_mille / stay.0.max(1);
        let full_fast = input.stay.map_or(rate, |stay| rate.min(turnover(stay)));
        let full_slow = input.rate_milli.min(turnover(input.stay.unwrap_or(input.stay_max)));
        let (slow, fast) = match (pace.bounds(), input.rate_milli) {
            // By hand: only what was measured tells.
            (Some((slow, fast)), 0) => (slow, fast),
            // A line that stood still because the room was full moves again.
            (Some((0, fast)), _) => (full_slow, fast.max(full_fast)),
            (Some((slow, fast)), _) => (slow.min(full_slow), fast.max(full_fast)),
            (None, _) => (full_slow, full_fast),
        };
        if fast == 0 {
            return Err(NoEstimate::Unknown);
        }
        let (slow, fast) = (slow * SLOWER_PERCENT / 100, fast * FASTER_PERCENT / 100);
        let free = input.capacity.saturating_sub(input.live);
        let fill_slow = slow.max(input.rate_milli * SLOWER_PERCENT / 100);
        let fill_fast = fast.max(rate);
        // How many ahead go in, stay away or give up is chance: over few places it evens out less.
        let chance = input.position.isqrt() * CHANCE_PERCENT / 100;
        let high = travel(input.position + chance, free, fill_slow, slow) + NOTICE_LAG;
        let ahead = input.position.saturating_sub(1 + chance);
        let low = travel(ahead, free, fill_fast, fast);
        Ok(Estimate { low: low.min(high), high })
    }
}

/// Time for `places` to be served: the first `free` at one pace, the rest at another (per 1,000 s).
fn travel(places: u64, free: u64, pace: u64, later: u64) -> Millis {
    let first = places.min(free);
    let ms = |count: u64, pace: u64| count.saturating_mul(1_000_000) / pace.max(1);
    Millis(ms(first, pace).saturating_add(ms(places - first, later)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(position: u64) -> EstimateInput {
        EstimateInput {
            position,
            rate_milli: 200_000,
            capacity: 5_000,
            live: 0,
            stay: None,
            stay_max: Millis::from_mins(12),
            served_per_mille: 1_000,
        }
    }

    fn steady(per_second: u64, seconds: u64) -> Pace {
        let mut pace = Pace::default();
        (0..=seconds).for_each(|s| pace.sample(Timestamp(s * 1_000), s * per_second));
        pace
    }

    #[test]
    fn an_unmeasured_line_is_bounded_by_rate_and_by_turnover() {
        let near = Estimate::new(&input(200), &Pace::default()).expect("rate is known");
        assert!(near.low <= Millis(1_000) && near.high >= Millis(1_000), "{near:?}");
        let far = Estimate::new(&input(20_000), &Pace::default()).expect("rate is known");
        assert!((80..100).contains(&(far.low.0 / 1_000)), "at about the full rate: {far:?}");
        // 15,000 beyond the free slots, at 5,000 per 12 minutes: more than half an hour.
        assert!(far.high > Millis::from_mins(36), "{far:?}");
    }

    #[test]
    fn a_measured_line_narrows_the_range_around_its_pace() {
        let stay = Some(Millis::from_secs(60));
        let measured = EstimateInput { stay, live: 5_000, ..input(6_000) };
        let estimate = Estimate::new(&measured, &steady(80, 300)).expect("moving");
        let truth = Millis(6_000 * 1_000 / 80);
        assert!(estimate.low < truth && truth < estimate.high, "{estimate:?}");
        assert!(estimate.high.0 < truth.0 * 2, "{estimate:?}");
    }

    #[test]
    fn a_line_that_stands_says_so_only_without_a_rate() {
        let manual = EstimateInput { rate_milli: 0, ..input(5) };
        assert_eq!(Estimate::new(&manual, &Pace::default()), Err(NoEstimate::Unknown));
        assert!(Estimate::new(&manual, &steady(10, 60)).is_ok(), "the tenant's own pace counts");
        let shut = EstimateInput { capacity: 0, ..input(5) };
        assert_eq!(Estimate::new(&shut, &steady(10, 60)), Err(NoEstimate::Unknown));
    }
}
