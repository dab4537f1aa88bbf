//! `jari-load`: parses the command line and runs one load or the baseline server. Measures nothing itself.

mod baseline;
mod connection;
mod joins;
mod process;
mod report;
mod target;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// A bounded load generator for a Jari on this machine. It refuses any address that is not loopback.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    load: Load,
}

#[derive(Subcommand)]
enum Load {
    /// Closed loop of joins over keep-alive connections, each by a person who has not joined before
    Joins(joins::JoinsArgs),
    /// Serve the baseline: the same routes as plain axum handlers that answer fixed bytes
    Baseline(baseline::BaselineArgs),
}

fn main() -> Result<()> {
    match Cli::parse().load {
        Load::Joins(args) => joins::run(args),
        Load::Baseline(args) => baseline::run(&args),
    }
}
