//! `cargo xtask bench`: measures the product on this machine. What loads and measures is testing/load's; here are the
//! order of runs, the medians, the bars and the pictures.

mod drawing;
mod entry;
mod gate;
mod k6;
mod line;
mod page;
mod parts;
mod pictures;
mod redis;
mod run;
mod setting;
mod size;
mod started;

use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub struct BenchArgs {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// The line at scale: joins, polls, a million waiting, streams, rushes, a restart, estimates
    Line(line::LineArgs),
    /// Two nodes on one Redis: joins, polls, what waiting costs Redis, rushes
    Redis(redis::RedisArgs),
    /// The gate: checks against a handler that does nothing, the reverse proxy against nginx
    Gate(gate::GateArgs),
    /// The scenarios of bench/k6, by k6 itself: installs it under target/ and runs it against a server
    K6(k6::K6Args),
}

/// Builds what it needs, measures, tells.
///
/// # Errors
/// Where something does not build or start, a run had wrong answers, or (with `--check`) a bar was missed.
pub fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    match &args.bench {
        Bench::Line(args) => line::run(root, args),
        Bench::Redis(args) => redis::run(root, args),
        Bench::Gate(args) => gate::run(root, args),
        Bench::K6(args) => k6::run(root, args),
    }
}
