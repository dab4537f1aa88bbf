//! Configuration in four steps: built-in default, file, environment, flags; then validation that names every problem.
//!
//! Says what the process is run with. Rooms, groups and keys are control data and not here. The one secret that
//! may be in it, a database's password, does not show itself, so a [`Config`] may be logged.

mod config;
#[cfg(test)]
mod config_tests;
mod explain;
mod fields;
mod layers;
mod problems;
mod protect;
mod read;
mod records_url;
#[cfg(test)]
mod reference_tests;
mod settings;
mod sources;
mod validate;

pub use config::Config;
pub use problems::{ConfigErrors, Problem};
pub use protect::{HostHeader, Protect, TlsFiles};
pub use records_url::RecordsUrl;
pub use settings::{
    ForwardedHeader, Http, Joins, Log, LogFormat, Node, Ops, Ratio, Records, Role, Store, StoreUrl,
    Telemetry,
};
pub use sources::{Overrides, Sources};
