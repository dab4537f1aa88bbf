//! `cargo xtask bench gate`: what a pass costs to check, and what it costs to stand before a site, and how it holds when
//! everybody comes at once. Each part starts what it needs; here is which are wanted.

mod auto;
mod checks;
mod connections;
mod nginx;
mod numbers;
mod pages;
mod site;

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::parts::Measured;
use super::run::{self, Named, RunArgs};
use super::setting::Setting;
use crate::test::tools;

const GATE: Named = Named { name: "gate", overview: ("gate_reach", "The gate: every bar") };

#[derive(Args, Debug)]
pub(super) struct GateArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Only this part; may be given several times
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
}

/// A part that is added stands here, in `ALL` and in `measure`, and has a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Forward auth with a good pass against a handler that does nothing, and what it asks of the store
    Checks,
    /// Pages of a site through the reverse proxy against the same through nginx
    Pages,
    /// What 10,000 requests leave of connections to the site
    Connections,
    /// 5,000 people at once at a quiet site whose room queues by itself
    Auto,
}

impl Part {
    const ALL: [Part; 4] = [Part::Checks, Part::Pages, Part::Connections, Part::Auto];

    fn measure(self, setting: &Setting) -> Result<Measured> {
        match self {
            Part::Checks => checks::measure(setting),
            Part::Pages => pages::measure(setting),
            Part::Connections => connections::measure(setting),
            Part::Auto => auto::measure(setting),
        }
    }
}

/// Measures all that is wanted and tells it.
pub(super) fn run(root: &Path, args: &GateArgs) -> Result<()> {
    tools::servers(root)?;
    let setting = args.run.setting(root)?;
    let found = run::measure(&Part::ALL, &args.only, &setting, Part::measure);
    args.run.tell(root, GATE, found)
}
