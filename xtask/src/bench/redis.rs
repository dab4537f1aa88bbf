//! `cargo xtask bench redis`: two nodes on one Redis, on this machine. Each part starts a Redis and nodes of its own; here
//! is which are wanted.

mod joins;
mod polls;
mod rushes;
mod server;
mod site;
mod waiting;

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::parts::Measured;
use super::run::{self, Named, RunArgs};
use super::setting::Setting;
use crate::test::tools;

const REDIS: Named =
    Named { name: "redis", overview: ("redis_reach", "Two nodes on Redis: every bar") };

#[derive(Args, Debug)]
pub(super) struct RedisArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Only this part; may be given several times
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Joins that travel together against the same nodes with a script call for each
    Joins,
    /// Polls against handlers that do nothing, and what they ask of Redis
    Polls,
    /// What people who wait and poll cost Redis, few and many
    Waiting,
    /// Register, subscribe, allow over both nodes, and its stress forms
    Rushes,
}

impl Part {
    const ALL: [Part; 4] = [Part::Joins, Part::Polls, Part::Waiting, Part::Rushes];

    fn measure(self, setting: &Setting) -> Result<Measured> {
        match self {
            Part::Joins => joins::measure(setting),
            Part::Polls => polls::measure(setting),
            Part::Waiting => waiting::measure(setting),
            Part::Rushes => rushes::measure(setting),
        }
    }
}

/// Measures all that is wanted and tells it.
pub(super) fn run(root: &Path, args: &RedisArgs) -> Result<()> {
    tools::servers(root)?;
    let setting = args.run.setting(root)?;
    let found = run::measure(&Part::ALL, &args.only, &setting, Part::measure);
    args.run.tell(root, REDIS, found)
}
