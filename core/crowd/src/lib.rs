//! A believable simulated crowd: who comes when, and how each of them behaves. Drives nobody and reads no clock: the
//! demo, rehearsals and the load generator carry the plans out.
//!
//! Everything is drawn from a seed: person `n` of a seed is the same person in every run and in a crowd of any size.
//! Where a distribution comes from a measurement, its source is named beside it; the rest are assumptions and say so.

mod arrivals;
mod crowd;
mod dice;
mod habits;
mod person;
mod shape;

pub use arrivals::{Arrivals, Curve, UnknownCurve};
pub use crowd::{Crowd, PEOPLE_MAX};
pub use habits::{Habits, HabitsError, Spread};
pub use person::{Device, GivesUp, Interruption, Person, Turn, Visit, What};
pub use shape::{POINTS_MAX, Shape, ShapeError};
