//! A rehearsal: a room's real rules and a simulated crowd in virtual time, as fast as the machine can.
//!
//! What an operator wants to know before a sale: how long until the line is empty, how long people wait, how full it gets
//! inside, and how often the truth lay within the estimate that people were shown. Reads no clock and writes nothing.

mod agenda;
mod calibration;
mod census;
mod play;
mod queued;
mod report;
mod site;
mod timeline;

pub use calibration::Calibration;
pub use census::{Census, Stage};
pub use play::{Plan, rehearse};
pub use queued::Queued;
pub use report::{Moment, Peak, Report, Waits};
pub use site::Site;
