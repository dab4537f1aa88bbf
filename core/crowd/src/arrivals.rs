//! Arrival curves: how many come when. Knows nothing of what they do then.

use std::fmt;
use std::str::FromStr;

use jari_units::Millis;
use thiserror::Error;

use crate::dice::span;

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

/// A point of a curve: how far into the window (0 to 1), and the rate there against the curve's other points.
type Knot = (f64, f64);

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

    fn knots(self) -> &'static [Knot] {
        match self {
            Curve::Burst => BURST,
            Curve::Ramp => RAMP,
            Curve::Stadium => STADIUM,
            Curve::Steady => STEADY,
            Curve::Waves => WAVES,
        }
    }

    /// The area under the knots: what their rates must be divided by.
    fn area(self) -> f64 {
        self.knots().windows(2).map(|pair| trapezoid(pair[0], pair[1])).sum()
    }

    /// The rate at `at` (0 to 1 of the window) against the mean rate; 0 outside the window.
    #[must_use]
    pub fn rate_at(self, at: f64) -> f64 {
        let piece = self.knots().windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&at));
        piece.map_or(0.0, |pair| height(pair[0], pair[1], at) / self.area())
    }

    /// The share (0 to 1) of all people who have come by `at` (0 to 1 of the window).
    #[must_use]
    pub fn share_by(self, at: f64) -> f64 {
        let upto = |pair: &[Knot]| {
            let (from, to) = (pair[0], pair[1]);
            let end = at.clamp(from.0, to.0);
            trapezoid(from, (end, height(from, to, end)))
        };
        self.knots().windows(2).map(upto).sum::<f64>() / self.area()
    }

    /// Where in the window (0 to 1) the given share (0 to 1) of people has come: `share_by` turned round.
    #[must_use]
    pub fn when(self, share: f64) -> f64 {
        let mut left = share.clamp(0.0, 1.0) * self.area();
        for pair in self.knots().windows(2) {
            let whole = trapezoid(pair[0], pair[1]);
            if left <= whole {
                return reach(pair[0], pair[1], left);
            }
            left -= whole;
        }
        1.0
    }
}

fn trapezoid(from: Knot, to: Knot) -> f64 {
    (to.0 - from.0) * (from.1 + to.1) / 2.0
}

fn height(from: Knot, to: Knot, at: f64) -> f64 {
    from.1 + (to.1 - from.1) * (at - from.0) / (to.0 - from.0)
}

/// How far from `from` one must go until the area behind is `area`: the root of a quadratic, in the form that does not
/// cancel where the line is nearly flat.
fn reach(from: Knot, to: Knot, area: f64) -> f64 {
    let slope = (to.1 - from.1) / (to.0 - from.0);
    let root = (from.1 * from.1 + 2.0 * slope * area).max(0.0).sqrt();
    let width = if area > 0.0 { 2.0 * area / (from.1 + root) } else { 0.0 };
    (from.0 + width).min(to.0)
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

/// A curve laid over a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    pub curve: Curve,
    /// From the first possible arrival to the last.
    pub window: Millis,
}

impl Arrivals {
    /// When a person arrives who drew `share` (evenly in 0 to 1), from the window's start.
    #[must_use]
    pub fn after(&self, share: f64) -> Millis {
        span(self.curve.when(share) * self.window_s())
    }

    /// People per second that a crowd of `people` brings at `at` from the window's start.
    #[must_use]
    pub fn rate_per_s(&self, people: u32, at: Millis) -> f64 {
        if self.window == Millis::ZERO {
            return 0.0;
        }
        let at = at.0 as f64 / self.window.0 as f64;
        self.curve.rate_at(at) * f64::from(people) / self.window_s()
    }

    fn window_s(&self) -> f64 {
        self.window.0 as f64 / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Riemann's sum as the oracle for the closed forms.
    fn integral(curve: Curve, upto: f64) -> f64 {
        const STEPS: u32 = 100_000;
        let step = upto / f64::from(STEPS);
        (0..STEPS).map(|i| curve.rate_at((f64::from(i) + 0.5) * step) * step).sum()
    }

    #[test]
    fn curves_integrate_to_everybody() {
        for curve in Curve::ALL {
            assert_eq!(curve.share_by(0.0), 0.0, "{curve}");
            assert!((curve.share_by(1.0) - 1.0).abs() < 1e-12, "{curve}");
            for at in [0.01, 0.1, 0.37, 0.5, 0.93, 1.0] {
                let (sum, closed) = (integral(curve, at), curve.share_by(at));
                assert!((sum - closed).abs() < 1e-4, "{curve} at {at}: {sum} {closed}");
            }
        }
    }

    #[test]
    fn when_turns_share_by_round() {
        for curve in Curve::ALL {
            for i in 0..=1_000 {
                let share = f64::from(i) / 1_000.0;
                let back = curve.share_by(curve.when(share));
                assert!((back - share).abs() < 1e-9, "{curve} {share}: {back}");
            }
            let ends = (curve.when(-1.0), curve.when(2.0));
            assert!(ends.0 == 0.0 && (ends.1 - 1.0).abs() < 1e-9, "{curve}: {ends:?}");
        }
    }

    #[test]
    fn shapes_are_as_described() {
        assert!((Curve::Burst.when(0.5) - 1.0 / 12.0).abs() < 0.01, "{}", Curve::Burst.when(0.5));
        assert!((Curve::Ramp.share_by(0.5) - 0.25).abs() < 1e-9);
        let peak = (0..=100).max_by(|a, b| {
            let rate = |i: &i32| Curve::Stadium.rate_at(f64::from(*i) / 100.0);
            rate(a).total_cmp(&rate(b))
        });
        assert_eq!(peak, Some(42));
        assert_eq!(Curve::Stadium.rate_at(1.01), 0.0);
    }

    #[test]
    fn rates_are_people_per_second() {
        let arrivals = Arrivals { curve: Curve::Ramp, window: Millis::from_secs(100) };
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
