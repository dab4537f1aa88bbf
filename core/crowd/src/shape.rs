//! A shape of arrivals: a rate that runs in straight lines from point to point. Knows no names and no people.

use std::fmt;

use jari_units::Millis;
use thiserror::Error;

/// A point of a shape: how far into the window (0 to 1), and the rate there against the shape's other points.
pub(crate) type Knot = (f64, f64);

/// Points of one shape at most: one for each second of almost three hours.
pub const POINTS_MAX: usize = 10_000;

/// How arrivals spread over a window. Between two points the rate is a straight line.
#[derive(Clone, PartialEq)]
pub struct Shape {
    knots: Vec<Knot>,
    /// The area under the rate up to each knot.
    behind: Vec<f64>,
}

/// Why points are no shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    #[error("a curve has 2 to {POINTS_MAX} points; these are {0}")]
    Count(usize),
    #[error("the first point must be at 0")]
    Start,
    /// Counted from 0.
    #[error("point {0} is not later than the one before")]
    Order(usize),
    /// Counted from 0.
    #[error("the rate at point {0} is not a number from 0 on")]
    Rate(usize),
    #[error("nobody ever comes: every rate is 0")]
    Nobody,
}

impl Shape {
    /// The shape through points of (time, people per second), the first at 0; the last point's time is the window.
    ///
    /// # Errors
    /// What is wrong with the first bad point, or with all of them.
    pub fn through(points: &[(Millis, f64)]) -> Result<Shape, ShapeError> {
        if !(2..=POINTS_MAX).contains(&points.len()) {
            return Err(ShapeError::Count(points.len()));
        }
        if points[0].0 != Millis::ZERO {
            return Err(ShapeError::Start);
        }
        if let Some(at) = points.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            return Err(ShapeError::Order(at + 1));
        }
        let good = |rate: f64| rate.is_finite() && rate >= 0.0;
        if let Some(at) = points.iter().position(|point| !good(point.1)) {
            return Err(ShapeError::Rate(at));
        }
        // Against the highest rate, so that no sum of huge rates overflows and none of tiny ones vanishes.
        let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
        if highest == 0.0 {
            return Err(ShapeError::Nobody);
        }
        let window = points[points.len() - 1].0.0 as f64;
        let knot = |point: &(Millis, f64)| (point.0.0 as f64 / window, point.1 / highest);
        Ok(Shape::of(points.iter().map(knot).collect()))
    }

    /// The shape of knots known to be good: from 0 to 1, in order, with some area.
    pub(crate) fn of(knots: Vec<Knot>) -> Shape {
        let mut area = 0.0;
        let mut behind = vec![0.0];
        for pair in knots.windows(2) {
            area += trapezoid(pair[0], pair[1]);
            behind.push(area);
        }
        Shape { knots, behind }
    }

    /// The area under all knots: what their rates must be divided by.
    fn area(&self) -> f64 {
        self.behind[self.behind.len() - 1]
    }

    /// The piece that `at` (0 to 1) lies in; of two that meet there the earlier.
    fn piece(&self, at: f64) -> usize {
        self.knots.partition_point(|knot| knot.0 < at).clamp(1, self.knots.len() - 1) - 1
    }

    /// The rate at `at` (0 to 1 of the window) against the mean rate; 0 outside the window.
    #[must_use]
    pub fn rate_at(&self, at: f64) -> f64 {
        if !(0.0..=1.0).contains(&at) {
            return 0.0;
        }
        let piece = self.piece(at);
        height(self.knots[piece], self.knots[piece + 1], at) / self.area()
    }

    /// The share (0 to 1) of all people who have come by `at` (0 to 1 of the window).
    #[must_use]
    pub fn share_by(&self, at: f64) -> f64 {
        let at = at.clamp(0.0, 1.0);
        let piece = self.piece(at);
        let (from, to) = (self.knots[piece], self.knots[piece + 1]);
        (self.behind[piece] + trapezoid(from, (at, height(from, to, at)))) / self.area()
    }

    /// Where in the window (0 to 1) the given share (0 to 1) of people has come: `share_by` turned round.
    #[must_use]
    pub fn when(&self, share: f64) -> f64 {
        let area = share.clamp(0.0, 1.0) * self.area();
        let knot = self.behind.partition_point(|behind| *behind < area);
        let piece = knot.clamp(1, self.knots.len() - 1) - 1;
        reach(self.knots[piece], self.knots[piece + 1], area - self.behind[piece])
    }
}

impl fmt::Debug for Shape {
    /// A thousand points say nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shape {{ {} points }}", self.knots.len())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Curve;

    /// The named shapes, and one by points with a quiet start, a quiet middle and a steep end.
    fn shapes() -> Vec<Shape> {
        let mut shapes: Vec<Shape> = Curve::ALL.map(Curve::shape).to_vec();
        let points = [(0, 0.0), (10, 0.0), (20, 50.0), (30, 0.0), (70, 0.0), (71, 400.0)];
        shapes.push(Shape::through(&at_secs(&points)).expect("good points"));
        shapes
    }

    fn at_secs(points: &[(u64, f64)]) -> Vec<(Millis, f64)> {
        points.iter().map(|(secs, rate)| (Millis::from_secs(*secs), *rate)).collect()
    }

    /// Riemann's sum as the oracle for the closed forms.
    fn integral(shape: &Shape, upto: f64) -> f64 {
        const STEPS: u32 = 100_000;
        let step = upto / f64::from(STEPS);
        (0..STEPS).map(|i| shape.rate_at((f64::from(i) + 0.5) * step) * step).sum()
    }

    #[test]
    fn shapes_integrate_to_everybody() {
        for (n, shape) in shapes().iter().enumerate() {
            assert_eq!(shape.share_by(0.0), 0.0, "{n}");
            assert!((shape.share_by(1.0) - 1.0).abs() < 1e-12, "{n}");
            for at in [0.01, 0.1, 0.37, 0.5, 0.93, 1.0] {
                let (sum, closed) = (integral(shape, at), shape.share_by(at));
                assert!((sum - closed).abs() < 1e-4, "{n} at {at}: {sum} {closed}");
            }
        }
    }

    #[test]
    fn when_turns_share_by_round() {
        for (n, shape) in shapes().iter().enumerate() {
            for i in 0..=1_000 {
                let share = f64::from(i) / 1_000.0;
                let back = shape.share_by(shape.when(share));
                assert!((back - share).abs() < 1e-9, "{n} {share}: {back}");
            }
            let ends = (shape.when(-1.0), shape.when(2.0));
            assert!(ends.0 == 0.0 && (ends.1 - 1.0).abs() < 1e-9, "{n}: {ends:?}");
        }
    }

    #[test]
    fn points_are_people_per_second() {
        let shape = Shape::through(&at_secs(&[(0, 0.0), (50, 20.0), (100, 0.0)])).expect("good");
        // 1,000 people in 100 s: 10 a second on the mean, 20 at the top.
        assert!((shape.rate_at(0.5) - 2.0).abs() < 1e-12);
        assert!((shape.when(0.5) - 0.5).abs() < 1e-12 && (shape.when(0.125) - 0.25).abs() < 1e-12);
        // Nobody arrives in a quiet stretch, wherever it lies.
        let quiet = &shapes()[5];
        let share = quiet.share_by(30.0 / 71.0);
        assert!((quiet.share_by(70.0 / 71.0) - share).abs() < 1e-12);
        assert!(quiet.when(1e-9) > 10.0 / 71.0);
        assert!(quiet.when(share + 1e-6) > 70.0 / 71.0);
        for huge in [f64::MAX, 1e-300] {
            let shape = Shape::through(&at_secs(&[(0, huge), (9, huge)])).expect("good");
            assert!((shape.when(0.25) - 0.25).abs() < 1e-12, "{huge}");
        }
    }

    #[test]
    fn bad_points_are_named() {
        for (points, want) in [
            (&[][..], ShapeError::Count(0)),
            (&[(0, 1.0)], ShapeError::Count(1)),
            (&[(1, 1.0), (2, 1.0)], ShapeError::Start),
            (&[(0, 1.0), (2, 1.0), (2, 3.0)], ShapeError::Order(2)),
            (&[(0, 1.0), (2, -1.0)], ShapeError::Rate(1)),
            (&[(0, f64::NAN), (2, 1.0)], ShapeError::Rate(0)),
            (&[(0, 0.0), (2, 0.0)], ShapeError::Nobody),
        ] {
            assert_eq!(Shape::through(&at_secs(points)), Err(want), "{points:?}");
        }
        let many: Vec<_> = (0..=POINTS_MAX as u64).map(|secs| (secs, 1.0)).collect();
        let count = Err(ShapeError::Count(POINTS_MAX + 1));
        assert_eq!(Shape::through(&at_secs(&many)), count);
    }
}
