//! `cargo xtask bench line`: every number that the line is held to, in one run. Each part measures; here is which are
//! wanted.

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::parts::Part;
use super::run::{self, Named, RunArgs};

const LINE: Named = Named { name: "line", overview: ("reach", "The line at scale: every bar") };

#[derive(Args, Debug)]
pub(super) struct LineArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Only this part; may be given several times
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
}

/// Measures all that is wanted and tells it.
pub(super) fn run(root: &Path, args: &LineArgs) -> Result<()> {
    let setting = args.run.setting(root)?;
    let found = run::measure(&Part::ALL, &args.only, &setting, Part::measure);
    args.run.tell(root, LINE, found)
}
