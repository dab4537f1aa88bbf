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

impl RunArgs {
    /// Builds what is measured.
    pub(super) fn setting(&self, root: &Path) -> Result<Setting> {
        let size = if self.quick { Size::quick() } else { Size::full() };
        Setting::build(root, size, !self.unoptimised)
    }

    /// Tells what was found, and judges it where that is asked for.
    pub(super) fn tell(&self, root: &Path, bench: Named, found: Measured) -> Result<()> {
        let Measured { entries, pictures: mut drawn } = found;
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
        if self.write_docs {
            page::write(root, &folder, bench.name, &entries, &drawn)?;
        }
        let missed = missed(&entries);
        if !missed.is_empty() {
            println!("short of the bar: {}", missed.join(", "));
        }
        ensure!(!self.check || missed.is_empty(), "{} numbers fall short", missed.len());
        Ok(())
    }
}

/// Measures the wanted ones of all parts, in their order.
pub(super) fn measure<Part: Copy + Debug + PartialEq>(
    all: &[Part],
    only: &[Part],
    setting: &Setting,
    measure: impl Fn(Part, &Setting) -> Result<Measured>,
) -> Result<Measured> {
    let mut found = Measured::default();
    for part in all.iter().filter(|part| only.is_empty() || only.contains(part)) {
        setting.say_load();
        let measured = measure(*part, setting).with_context(|| format!("{part:?} failed"))?;
        found.entries.extend(measured.entries);
        found.pictures.extend(measured.pictures);
    }
    Ok(found)
}

fn write_results(path: &Path, entries: &[Entry]) -> Result<()> {
    fs::write(path, serde_json::to_vec_pretty(&json!(entries))?)
        .with_context(|| format!("cannot write {}", path.display()))
}
