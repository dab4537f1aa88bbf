//! The parts of `bench line`, in the order in which they run. Each starts what it needs and ends it.

mod estimates;
mod million;
mod processes;
mod ratios;
pub(super) mod rushes;
pub(super) mod streams;

use anyhow::Result;
use clap::ValueEnum;

use super::entry::Entry;
use super::pictures::Picture;
use super::setting::Setting;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Joins and polls against handlers that do nothing
    Ratios,
    /// A million waiting: cost, memory, stalls, restart
    Million,
    /// As many streams as one process can have
    Streams,
    /// Ten times as many, over several servers
    Processes,
    /// Register, subscribe, allow, and its stress forms
    Rushes,
    /// How often the truth lay inside the shown estimate
    Estimates,
}

/// What a part has found.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) entries: Vec<Entry>,
    pub(super) pictures: Vec<Picture>,
}

impl Part {
    pub(super) const ALL: [Part; 6] = [
        Part::Ratios,
        Part::Million,
        Part::Streams,
        Part::Rushes,
        Part::Estimates,
        Part::Processes,
    ];

    pub(super) fn measure(self, setting: &Setting) -> Result<Measured> {
        match self {
            Part::Ratios => ratios::measure(setting),
            Part::Million => million::measure(setting),
            Part::Streams => streams::measure(setting),
            Part::Processes => processes::measure(setting),
            Part::Rushes => rushes::measure(setting),
            Part::Estimates => estimates::measure(setting),
        }
    }
}
