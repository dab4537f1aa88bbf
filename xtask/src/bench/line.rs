//! `cargo xtask bench line`: every number that the line is held to, in one run. Each part measures; here are their order
//! and where the results go.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;

use super::entry::{Entry, missed, table};
use super::parts::Part;
use super::setting::Setting;
use super::size::Size;
use super::{drawing, page, pictures};

/// Where CI and people look for the numbers and pictures, below the repository's root.
const FOLDER: &str = "target/bench";
const RESULTS: &str = "line.json";

#[derive(Args, Debug)]
pub(super) struct LineArgs {
    /// A rough answer in under a minute, once it is built: smaller crowds, one round
    #[arg(long)]
    quick: bool,
    /// End with 1 where a number falls short of its bar
    #[arg(long)]
    check: bool,
    /// Only this part; may be given several times
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Write the table and the pictures into docs/reference/benchmarks.md as well
    #[arg(long, conflicts_with_all = ["quick", "only", "unoptimised"])]
    write_docs: bool,
    /// Use the development build: everything runs, the numbers mean nothing
    #[arg(long)]
    unoptimised: bool,
}

/// Measures all that is wanted, tells it, and judges it where that is asked for.
pub(super) fn run(root: &Path, args: &LineArgs) -> Result<()> {
    let size = if args.quick { Size::quick() } else { Size::full() };
    let setting = Setting::build(root, size, !args.unoptimised)?;
    let (mut entries, mut drawn, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for part in Part::ALL.into_iter().filter(|part| args.wants(*part)) {
        match part.measure(&setting) {
            Ok(measured) => {
                entries.extend(measured.entries);
                drawn.extend(measured.pictures);
            }
            // Minutes of measuring are not thrown away for it.
            Err(error) => {
                setting.say(&format!("{part:?} failed: {error:#}"));
                failed.push(format!("{part:?}"));
            }
        }
    }
    drawn.push(pictures::reach(&entries));
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    write_results(&folder.join(RESULTS), &entries)?;
    for picture in &drawn {
        fs::write(folder.join(picture.file()), drawing::draw(picture)?)?;
    }
    print!("{}", table(&entries));
    println!("written to {FOLDER}/{RESULTS}, with {} pictures beside it", drawn.len());
    if args.write_docs && failed.is_empty() {
        page::write(root, &folder, &entries, &drawn)?;
    }
    let missed = missed(&entries);
    if !missed.is_empty() {
        println!("short of the bar: {}", missed.join(", "));
    }
    ensure!(failed.is_empty(), "without numbers: {}", failed.join(", "));
    ensure!(!args.check || missed.is_empty(), "{} numbers fall short", missed.len());
    Ok(())
}

impl LineArgs {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

fn write_results(path: &Path, entries: &[Entry]) -> Result<()> {
    fs::write(path, serde_json::to_vec_pretty(&json!(entries))?)
        .with_context(|| format!("cannot write {}", path.display()))
}
