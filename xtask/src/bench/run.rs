//! What a bench of several parts is told, and where its results go. Measures nothing.

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;

use super::entry::{Entry, missed, table};
use super::parts::Measured;
use super::setting::Setting;
use super::size::Size;
use super::{drawing, page, pictures};

/// Where CI and people look for the numbers and pictures, below the repository's root.
const FOLDER: &str = "target/bench";

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// A rough answer in under a minute, once it is built: smaller crowds, one round
    #[arg(long)]
    quick: bool,
    /// End with 1 where a number falls short of its bar
    #[arg(long)]
    check: bool,
    /// Write the table and the pictures into docs/reference/benchmarks.md as well
    #[arg(long, conflicts_with_all = ["quick", "only", "unoptimised"])]
    write_docs: bool,
    /// Use the development build: everything runs, the numbers mean nothing
    #[arg(long)]
    unoptimised: bool,
}

/// A bench as its results name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    /// Of its file of results, and between which marks of the page they stand.
    pub(super) name: &'static str,
    /// Of the picture of all its bars: name and title.
    pub(super) overview: (&'static str, &'static str),
}

/// What all wanted parts have found, and the parts that have failed.
#[derive(Debug, Default)]
pub(super) struct Found {
    measured: Measured,
    failed: Vec<String>,
}

impl RunArgs {
    /// Builds what is measured.
    pub(super) fn setting(&self, root: &Path) -> Result<Setting> {
        let size = if self.quick { Size::quick() } else { Size::full() };
        Setting::build(root, size, !self.unoptimised)
    }

    /// Tells what was found, and judges it where that is asked for.
    pub(super) fn tell(&self, root: &Path, bench: Named, found: Found) -> Result<()> {
        let Found { measured: Measured { entries, pictures: mut drawn }, failed } = found;
        let (name, title) = bench.overview;
        drawn.push(pictures::reach(name, title, &entries));
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let results = format!("{}.json", bench.name);
        write_results(&folder.join(&results), &entries)?;
        for picture in &drawn {
            fs::write(folder.join(picture.file()), drawing::draw(picture)?)?;
        }
        print!("{}", table(&entries));
        println!("written to {FOLDER}/{results}, with {} pictures beside it", drawn.len());
        if self.write_docs && failed.is_empty() {
            page::write(root, &folder, bench.name, &entries, &drawn)?;
        }
        let missed = missed(&entries);
        if !missed.is_empty() {
            println!("short of the bar: {}", missed.join(", "));
        }
        ensure!(failed.is_empty(), "without numbers: {}", failed.join(", "));
        ensure!(!self.check || missed.is_empty(), "{} numbers fall short", missed.len());
        Ok(())
    }
}

/// Measures the wanted ones of all parts, in their order; one that fails does not end the others.
pub(super) fn measure<Part: Copy + Debug + PartialEq>(
    all: &[Part],
    only: &[Part],
    setting: &Setting,
    measure: impl Fn(Part, &Setting) -> Result<Measured>,
) -> Found {
    let mut found = Found::default();
    for part in all.iter().filter(|part| only.is_empty() || only.contains(part)) {
        setting.say_load();
        match measure(*part, setting) {
            Ok(measured) => {
                found.measured.entries.extend(measured.entries);
                found.measured.pictures.extend(measured.pictures);
            }
            // Minutes of measuring are not thrown away for it.
            Err(error) => {
                setting.say(&format!("{part:?} failed: {error:#}"));
                found.failed.push(format!("{part:?}"));
            }
        }
    }
    found
}

fn write_results(path: &Path, entries: &[Entry]) -> Result<()> {
    fs::write(path, serde_json::to_vec_pretty(&json!(entries))?)
        .with_context(|| format!("cannot write {}", path.display()))
}
