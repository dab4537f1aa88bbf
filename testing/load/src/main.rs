//! `jari-load`: parses the command line and runs one load or the baseline server. Measures nothing itself.

mod aim;
mod asking;
mod back;
mod baseline;
mod burst;
mod closed;
mod connection;
mod cookies;
mod dial;
mod empty;
mod found;
mod grow;
mod heard;
mod held;
mod open;
mod passes;
mod pool;
mod prepare;
mod probe;
mod process;
mod processes;
mod report;
mod rush;
mod schedule;
mod start_signal;
mod stream_reader;
mod streams;
mod target;
mod wait;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// As in `jari`: the baseline must not differ from it by its allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    Joins(closed::ClosedArgs),
    /// Closed loop of polls over keep-alive connections, by people who have joined, in turn
    Polls(closed::ClosedArgs),
    /// Let people into a room, and write their passes for `gate` and `site`
    Passes(passes::PassesArgs),
    /// Closed loop of checks at the gate, by people with a pass, in turn
    Gate(closed::ClosedArgs),
    /// Closed loop of pages of a protected site, by people with a pass, in turn
    Site(closed::ClosedArgs),
    /// Open loop of joins or polls: requests are due by the clock, and their latency counts from then
    Open(open::OpenArgs),
    /// Event streams, each of a place of its own: connects, the server's memory, how long a line takes to reach all
    Streams(streams::StreamsArgs),
    /// Let a room grow, with a probe that looks for stalls; some of the places are kept for later runs
    Grow(grow::GrowArgs),
    /// People who wait as they are told: each asks again when its answer said, while newcomers join
    Wait(wait::WaitArgs),
    /// Register, subscribe, allow: arrivals by a schedule, a stream each, and a tenant who admits once a second
    Rush(rush::RushArgs),
    /// Everybody at once at a quiet protected site: who walks in, who queues, and what reaches the site
    Burst(burst::BurstArgs),
    /// Wait until a server that was started again answers for old places as it did
    Back(back::BackArgs),
    /// Serve the baseline: handlers that do nothing, behind Jari's own layers
    Baseline(baseline::BaselineArgs),
}

fn main() -> Result<()> {
    match Cli::parse().load {
        Load::Joins(args) => closed::run(asking::What::Joins, &args),
        Load::Polls(args) => closed::run(asking::What::Polls, &args),
        Load::Passes(args) => passes::run(&args),
        Load::Gate(args) => closed::run(asking::What::Gate, &args),
        Load::Site(args) => closed::run(asking::What::Site, &args),
        Load::Open(args) => open::run(&args),
        Load::Streams(args) => streams::run(&args),
        Load::Grow(args) => grow::run(&args),
        Load::Wait(args) => wait::run(&args),
        Load::Rush(args) => rush::run(&args),
        Load::Burst(args) => burst::run(&args),
        Load::Back(args) => back::run(&args),
        Load::Baseline(args) => baseline::run(&args),
    }
}
