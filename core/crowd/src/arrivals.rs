//! Arrival curves by name, and a curve laid over a span of time: who comes when. Knows nothing of what they do then.

use std::fmt;
use std::str::FromStr;

use jari_units::Millis;
use thiserror::Error;

use crate::dice::span;
use crate::shape::{Knot, Shape};

/// A named shape of arrivals. All are assumptions about how sales go, not measurements of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// Everybody waited for the opening: half are there in the first twelfth of the window, then a long tail. The
    /// course registration this was modelled on had 3,660 students within 1 to 3 s.
    Burst,
    /// Word spreads: from nobody, the rate grows evenly to twice its mean.
    Ramp,
    /// A big concert: people gather early, most come around the opening at two fifths, stragglers follow.
    Stadium,
    /// An ordinary day that is too busy: as many come in each minute.
    Steady,
    /// Word goes out three times: by mail, on air, by the press. Each wave is smaller than the one before.
    Waves,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are the curves burst, ramp, stadium, steady and waves")]
pub struct UnknownCurve;

/// Between knots the rate is a straight line.
const BURST: &[Knot] = &[(0.0, 7.0), (0.05, 6.4), (0.1, 3.2), (0.2, 0.9), (0.5, 0.2), (1.0, 0.05)];
const RAMP: &[Knot] = &[(0.0, 0.0), (1.0, 2.0)];
const STADIUM: &[Knot] =
    &[(0.0, 0.2), (0.3, 0.6), (0.38, 3.0), (0.42, 5.0), (0.5, 1.5), (0.7, 0.4), (1.0, 0.1)];
const STEADY: &[Knot] = &[(0.0, 1.0), (1.0, 1.0)];
const WAVES: &[Knot] = &[
    (0.0, 0.1),
    (0.05, 4.0),
    (0.15, 0.5),
    (0.4, 0.3),
    (0.45, 3.0),
    (0.55, 0.4),
    (0.75, 0.2),
    (0.8, 1.8),
    (1.0, 0.1),
];

impl Curve {
    pub const ALL: [Curve; 5] =
        [Curve::Burst, Curve::Ramp, Curve::Stadium, Curve::Steady, Curve::Waves];

    /// The curve from point to point.
    #[must_use]
    pub fn shape(self) -> Shape {
        let knots = match self {
            Curve::Burst => BURST,
            Curve::Ramp => RAMP,
            Curve::Stadium => STADIUM,
            Curve::Steady => STEADY,
            Curve::Waves => WAVES,
        };
        Shape::of(knots.to_vec())
    }
}

impl FromStr for Curve {
    type Err = UnknownCurve;
    fn from_str(name: &str) -> Result<Self, UnknownCurve> {
        Curve::ALL.into_iter().find(|curve| curve.to_string() == name).ok_or(UnknownCurve)
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Curve::Burst => "burst",
            Curve::Ramp => "ramp",
            Curve::Stadium => "stadium",
            Curve::Steady => "steady",
            Curve::Waves => "waves",
        })
    }
}

/// A shape laid over a span of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    pub shape: Shape,
    /// From the first possible arrival to the last.
    pub window: Millis,
}

impl Arrivals {
    /// When a person arrives who drew `share` (evenly in 0 to 1), from the window's start.
    #[must_use]
    pub fn after(&self, share: f64) -> Millis {
        span(self.shape.when(share) * self.window_s())
    }

    /// People per second that a crowd of `people` brings at `at` from the window's start.
    #[must_use]
    pub fn rate_per_s(&self, people: u32, at: Millis) -> f64 {
        if self.window == Millis::ZERO {
            return 0.0;
        }
        let at = at.0 as f64 / self.window.0 as f64;
        self.shape.rate_at(at) * f64::from(people) / self.window_s()
    }

    fn window_s(&self) -> f64 {
        self.window.0 as f64 / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_as_described() {
        let half = Curve::Burst.shape().when(0.5);
        assert!((half - 1.0 / 12.0).abs() < 0.01, "{half}");
        assert!((Curve::Ramp.shape().share_by(0.5) - 0.25).abs() < 1e-9);
        let stadium = Curve::Stadium.shape();
        let peak = (0..=100).max_by(|a, b| {
            let rate = |i: &i32| stadium.rate_at(f64::from(*i) / 100.0);
            rate(a).total_cmp(&rate(b))
        });
        assert_eq!(peak, Some(42));
        assert_eq!(stadium.rate_at(1.01), 0.0);
    }

    #[test]
    fn rates_are_people_per_second() {
        let arrivals = Arrivals { shape: Curve::Ramp.shape(), window: Millis::from_secs(100) };
        assert!((arrivals.rate_per_s(1_000, Millis::from_secs(50)) - 10.0).abs() < 1e-9);
        assert_eq!(arrivals.after(0.25), Millis::from_secs(50));
        let at_once = Arrivals { window: Millis::ZERO, ..arrivals };
        assert_eq!(at_once.after(0.9), Millis::ZERO);
        assert_eq!(at_once.rate_per_s(1_000, Millis::ZERO), 0.0);
    }

    #[test]
    fn names_are_read_back() {
        for curve in Curve::ALL {
            assert_eq!(curve.to_string().parse(), Ok(curve));
        }
        assert_eq!("flood".parse::<Curve>(), Err(UnknownCurve));
    }
}
