//! `jari verify`: whether what was written is still what is there.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use jari_audit::{ChainCheck, EntryHash, Start};
use jari_records::{Checked, OpenError, Trail};

use super::config_args::ConfigArgs;
use super::progress::Progress;
use super::{Failure, print, small_runtime};
use crate::records::{RECORDS_FILE, elsewhere};

const EXAMPLES: &str = "\
Examples:
  jari verify audit --data /var/lib/jari
  jari verify audit --file /var/backups/jari-2027-01-31/records.db
  jari verify audit --expect 5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef
  jari verify audit --from 12001     # goes on where the last check ended

Reads the records themselves, beside a running server or without one, and changes nothing.
An entry that was changed, removed, moved or put in is found by itself. That the newest entries were cut
off, or the whole trail written anew, shows only by a head that was kept elsewhere: note the one that is
printed where whoever runs the database cannot write, and hand it to the next check with --expect.";

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    #[command(subcommand)]
    command: VerifyCommand,
}

#[derive(Debug, Subcommand)]
enum VerifyCommand {
    /// Check the audit trail's chain of hashes; exit code 1 names the first entry that does not hold.
    Audit(Box<VerifyAuditArgs>),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct VerifyAuditArgs {
    /// A file of records by itself, such as one in a backup.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "records"])]
    file: Option<PathBuf>,
    /// Begin at this entry; what is before it is believed. With nothing new, the entry right before it has to be there.
    #[arg(long, value_name = "NO", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    from: u64,
    /// A head's hash that was kept elsewhere: the entry must still be there. The trail may have grown since.
    #[arg(long, value_name = "HEAD_HASH")]
    expect: Option<EntryHash>,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: VerifyArgs) -> Result<(), Failure> {
    let VerifyCommand::Audit(args) = args.command;
    let place = place(&args)?;
    let progress = Progress::new();
    let checked = small_runtime()?.block_on(async {
        let trail = place.open().await.map_err(|error| Failure::failed(error.to_string()))?;
        let check = ChainCheck::new(Start::At(args.from), args.expect);
        let told = |at: u64, of: u64| progress.show(|| format!("checked entry {at} of {of}"));
        trail.check(check, told).await.map_err(|error| Failure::failed(error.to_string()))
    });
    progress.clear();
    print(&answer(&args, checked?))
}

/// Where the trail is.
enum Place {
    File(PathBuf),
    Server { url: String, wait: Duration },
}

impl Place {
    async fn open(&self) -> Result<Trail, OpenError> {
        match self {
            Place::File(file) => Trail::in_file(file).await,
            Place::Server { url, wait } => Trail::on_server(url, *wait).await,
        }
    }
}

fn place(args: &VerifyAuditArgs) -> Result<Place, Failure> {
    if let Some(file) = &args.file {
        return Ok(Place::File(file.clone()));
    }
    let config = args.config.load().map_err(|errors| Failure::failed(errors.to_string()))?;
    if let Some(url) = &config.records.url {
        let wait = Duration::from_millis(config.records.start_wait.0);
        return Ok(Place::Server { url: url.with_password().to_owned(), wait });
    }
    let folder = &config.store.data_dir;
    match elsewhere(folder).map_err(|error| Failure::failed(error.to_string()))? {
        None => Ok(Place::File(folder.join(RECORDS_FILE))),
        Some(place) => Err(Failure::failed(format!(
            "the records of {} are on {place}: name it with --records",
            folder.display()
        ))),
    }
}

fn answer(args: &VerifyAuditArgs, checked: Checked) -> String {
    let Some(head) = checked.head else { return "the trail is empty\n".to_owned() };
    let first = args.from;
    let mut text = match checked.entries {
        0 => format!("nothing new: the trail ends at entry {}, right before {first}\n", head.no),
        _ => format!("entries {first} to {} are whole and in order\n", head.no),
    };
    if args.expect.is_some() {
        text.push_str(match checked.entries {
            0 => "the expected head is that entry\n",
            _ => "the expected head is among them, or right before them\n",
        });
    }
    text.push_str(&format!("head {} {}\n", head.no, head.hash));
    if args.expect.is_none() {
        let kept = "keep it elsewhere: only --expect with it shows a cut-off end or a trail written anew\n";
        text.push_str(kept);
    }
    text
}
