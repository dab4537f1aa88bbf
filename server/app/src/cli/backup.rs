//! `jari backup`: a consistent copy of a data folder.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, print, small_runtime};
use crate::backup;

const EXAMPLES: &str = "\
Examples:
  jari backup --data /var/lib/jari --to /var/backups/jari-2027-01-31
  jari serve --data /var/backups/jari-2027-01-31     # a copy is a data folder

The copy holds the signing keys: keep it as safe as the data folder itself.
Records on a database server are not copied: back them up there, with pg_dump.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BackupArgs {
    /// The data folder of a running or stopped server.
    #[arg(long, value_name = "DIR", default_value = "jari-data")]
    data: PathBuf,
    /// The folder to make. It must not exist, so that no older copy is lost.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Copies the records alone, where the lines are on Redis (`store.url`): those are backed up there.
    #[arg(long)]
    records_only: bool,
}

pub(super) fn run(args: &BackupArgs) -> Result<(), Failure> {
    let say = |step: &str| print(&format!("{step}\n"));
    small_runtime()?.block_on(backup::copy(&args.data, &args.to, args.records_only, say))
}
