//! `jari rehearse`: a crowd before a copy of a room's settings, in virtual time. Changes no room and lets nobody in.

mod arrivals_file;
mod as_json;
mod case;
mod crowd_args;
mod drawing;
mod site_args;
mod wording;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use jari_rehearsal::{Plan, rehearse};
use jari_units::Millis;

use self::case::Case;
use self::crowd_args::CrowdArgs;
use self::site_args::SiteArgs;
use super::admin_client::ServerArgs;
use super::progress::Progress;
use super::room_fields::{LimitFields, ModeFields, SpanFields};
use super::span::span_ms;
use super::{Failure, print};

/// The longest rehearsal: a week. Whatever takes longer is a mistyped number.
const HORIZON_MAX: Millis = Millis::from_mins(7 * 24 * 60);

const EXAMPLES: &str = "\
Examples:
  jari rehearse --people 20000 --rate 50 --capacity 3000
  jari rehearse --room shop                                   # as the room is set now
  jari rehearse --room shop --rate 80 --svg faster.svg        # what if it were 80/s?
  jari rehearse --room shop --curve stadium --window 1h --dwell 2m30s --no-shows 8%
  jari rehearse --room shop --mode auto --curve waves --window 2h
  jari rehearse --pacer signal --site-busy-at 800 --site-overloaded-at 1000
  jari rehearse --arrivals last-year.csv --json

A file of arrivals begins with the line `second,people_per_second`. Between its rows the rate is a straight line; the
first row is second 0, the last one ends the crowd.

The rehearsed room opens at once, and only its settings are copied: nobody who waits there now, and no times of the day.
A room in mode off or shadow is rehearsed as if it were on, as a note says: a rehearsal shows the line.";

/// A field left out is as the copied room has it, or the default.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RehearseArgs {
    /// Copy this room's settings from the running server. Needs a key; without a room, no server is asked.
    #[arg(long, value_name = "ID")]
    room: Option<String>,
    /// Stop after this much virtual time, whoever still waits; at most 7d.
    #[arg(long, value_name = "SPAN", value_parser = horizon, default_value = "12h")]
    horizon: Millis,
    /// Draw waiting, inside and admissions into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace the SVG file where there is one.
    #[arg(long, requires = "svg")]
    force: bool,
    #[command(flatten)]
    crowd: CrowdArgs,
    #[command(flatten)]
    mode: ModeFields,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    limits: LimitFields,
    #[command(flatten)]
    spans: SpanFields,
    #[command(flatten)]
    server: ServerArgs,
}

fn horizon(text: &str) -> Result<Millis, String> {
    let span = Millis(span_ms(text)?);
    let good = (Millis::from_secs(1)..=HORIZON_MAX).contains(&span);
    good.then_some(span).ok_or_else(|| "from 1s to 7d".to_owned())
}

pub(super) fn run(args: &RehearseArgs) -> Result<(), Failure> {
    if let Some(path) = &args.svg {
        // Before the work, not after it.
        refuse_to_replace(path, args.force)?;
    }
    let case = Case::of(args)?;
    let progress = Progress::new();
    let plan = Plan {
        settings: case.settings.clone(),
        crowd: case.crowd.clone(),
        site: case.site,
        horizon: args.horizon,
    };
    let people = || wording::count(u64::from(case.crowd.people()));
    progress.show(|| format!("{} people get ready", people()));
    let (span, horizon) = (wording::span, args.horizon);
    let report = rehearse(&plan, &mut |at| {
        progress.show(|| format!("virtual time {} of at most {}", span(at), span(horizon)));
    });
    progress.clear();
    if let Some(path) = &args.svg {
        write_new(path, &drawing::draw(&case, &report)?, args.force)?;
    }
    if args.server.json {
        return print(&as_json::write(&case, &report, args.horizon));
    }
    let mut text = wording::describe(&case, &report);
    if let Some(path) = &args.svg {
        text.push_str(&format!("\nDrawn: {}\n", path.display()));
    }
    print(&text)
}

fn refuse_to_replace(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.exists() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::failed(format!("{path} exists; name another file, or say --force to replace it")))
}

/// Writes the file; another one that appeared meanwhile is not replaced either.
fn write_new(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    if force {
        options.write(true).create(true).truncate(true);
    } else {
        options.write(true).create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => refuse_to_replace(path, force),
        _ => Err(Failure::failed(format!("cannot write {}: {error}", path.display()))),
    })
}
