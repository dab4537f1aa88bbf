//! `cargo xtask faults`: faults on real servers and nodes under a crowd. What makes and checks them is testing/faults's;
//! here are the building, the reduced run of `cargo xtask test`, and the page.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{build, command, run as run_command};
use crate::marks::between_marks;
use crate::test::tools;

/// Where the results go, below the repository's root.
const FOLDER: &str = "target/faults";
const TABLES: &str = "faults.md";
const PAGE: &str = "docs/reference/faults.md";
const MARKS: &str = "faults";

/// Runs of the reduced form that go on at once: each mostly waits for a window to pass.
const AT_ONCE_IN_TEST: &str = "6";

#[derive(Args, Debug)]
pub struct FaultsArgs {
    /// Only this fault; may be given several times. A name that there is not is answered with all names
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// People at the start of each run
    #[arg(long, value_name = "N")]
    people: Option<u32>,
    /// How many runs go on at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    at_once: usize,
    /// Write the tables into docs/reference/faults.md as well
    #[arg(long, conflicts_with_all = ["only", "people"])]
    write_docs: bool,
    /// Use the development build: slower, and built sooner
    #[arg(long)]
    unoptimised: bool,
}

/// Builds, runs what is wanted, tells, and writes the page where that is asked for.
///
/// # Errors
/// Where something does not build or start, or did not hold.
pub fn run(root: &Path, args: &FaultsArgs) -> Result<()> {
    tools::servers(root)?;
    let mut arguments: Vec<String> = vec![format!("--at-once={}", args.at_once)];
    arguments.extend(args.only.iter().map(|name| format!("--only={name}")));
    arguments.extend(args.people.map(|people| format!("--people={people}")));
    let held = start(root, !args.unoptimised, &arguments);
    if args.write_docs {
        write_page(root)?;
    }
    held
}

/// The most telling faults with few people: a step of `cargo xtask test`.
pub(crate) fn quick(root: &Path) -> Result<()> {
    start(root, false, &["--quick".to_owned(), format!("--at-once={AT_ONCE_IN_TEST}")])
}

fn start(root: &Path, optimised: bool, arguments: &[String]) -> Result<()> {
    let binaries = build(root, &["jari", "jari-faults"], optimised)?;
    let program = binaries.join("jari-faults");
    let mut faults = command(root, &program.to_string_lossy(), &[]);
    faults.arg("--jari").arg(binaries.join("jari")).arg("--out").arg(root.join(FOLDER));
    run_command(faults.args(arguments))
}

fn write_page(root: &Path) -> Result<()> {
    let (page, tables) = (root.join(PAGE), root.join(FOLDER).join(TABLES));
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {PAGE}"))?;
    let tables = fs::read_to_string(&tables).context("no run has written its tables")?;
    fs::write(&page, between_marks(&text, MARKS, &tables)?)
        .with_context(|| format!("cannot write {PAGE}"))?;
    println!("written into {PAGE}");
    Ok(())
}
