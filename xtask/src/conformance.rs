//! `cargo xtask conformance`: the page that lists which clauses hold on which stores. What stands in it comes from the suite,
//! through `jari-conformance`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build, command, output};
use crate::marks::between_marks;

const PAGE: &str = "docs/reference/conformance.md";
const MARKS: &str = "conformance";

#[derive(Args, Debug)]
pub struct ConformanceArgs {
    /// Fail where the committed page is not what the suite has, and write nothing
    #[arg(long)]
    check: bool,
}

/// Writes the page, or only compares it.
///
/// # Errors
/// Where the suite does not build, or with `--check` where the page has drifted.
pub fn run(root: &Path, args: &ConformanceArgs) -> Result<()> {
    if args.check { check(root) } else { write(root) }
}

/// The page as it is, and as the suite has it.
fn pages(root: &Path) -> Result<(String, String)> {
    let program = build(root, &["jari-conformance"], false)?.join("jari-conformance");
    let list = output(&mut command(root, &program.to_string_lossy(), &[]))?;
    let page = root.join(PAGE);
    let now = fs::read_to_string(page).with_context(|| format!("cannot read {PAGE}"))?;
    let wanted = between_marks(&now, MARKS, &list)?;
    Ok((now, wanted))
}

fn write(root: &Path) -> Result<()> {
    let (_, wanted) = pages(root)?;
    fs::write(root.join(PAGE), wanted).with_context(|| format!("cannot write {PAGE}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<()> {
    let (now, wanted) = pages(root)?;
    if now != wanted {
        let line = now.lines().zip(wanted.lines()).take_while(|(old, new)| old == new).count() + 1;
        bail!("{PAGE}:{line}: not what the suite has; `cargo xtask conformance` writes it again");
    }
    println!("{PAGE} is what the suite has");
    Ok(())
}
