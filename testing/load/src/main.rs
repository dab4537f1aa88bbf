//! `jari-load`: parses the command line and runs one load or the baseline server. Measures nothing itself.

mod baseline;
mod connection;
mod heard;
mod joins;
mod prepare;
mod process;
mod report;
mod streams;
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
    /// Event streams, each of a place of its own: connects, the server's memory, how long a line takes to reach all
    Streams(streams::StreamsArgs),
    /// Serve the baseline: the same routes as plain axum handlers that answer fixed bytes
    Baseline(baseline::BaselineArgs),
}

fn main() -> Result<()> {
    match Cli::parse().load {
        Load::Joins(args) => joins::run(args),
        Load::Streams(args) => streams::run(&args),
        Load::Baseline(args) => baseline::run(&args),
    }
}
