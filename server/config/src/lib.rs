//! Configuration in four steps: built-in default, file, environment, flags; then validation that names every problem.
//!
//! Says what the process is run with. Rooms, groups and keys are control data and not here. Nothing here is a secret,
//! so a [`Config`] may be logged.

mod config;
#[cfg(test)]
mod config_tests;
mod explain;
mod fields;
mod layers;
mod problems;
mod read;
#[cfg(test)]
mod reference_tests;
mod settings;
mod sources;
mod validate;

pub use config::Config;
pub use problems::{ConfigErrors, Problem};
pub use settings::{ForwardedHeader, Http, Log, LogFormat, Ops, Store, StoreUrl};
pub use sources::{Overrides, Sources};
