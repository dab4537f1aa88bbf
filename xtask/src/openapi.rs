//! `cargo xtask openapi`: the committed OpenAPI document. What stands in it comes from the handlers, through
//! `jari openapi`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build, command, output};

const DOCUMENT: &str = "docs/reference/openapi.json";

#[derive(Args, Debug)]
pub struct OpenapiArgs {
    /// Fail where the committed document is not what the handlers say, and write nothing
    #[arg(long)]
    check: bool,
}

/// Writes the document, or only compares it.
///
/// # Errors
/// Where the server does not build, or with `--check` where the document has drifted.
pub fn run(root: &Path, args: &OpenapiArgs) -> Result<()> {
    if args.check { check(root) } else { write(root) }
}

fn from_handlers(root: &Path) -> Result<String> {
    let program = build(root, &["jari"], false)?.join("jari");
    output(&mut command(root, &program.to_string_lossy(), &["openapi"]))
}

fn write(root: &Path) -> Result<()> {
    fs::write(root.join(DOCUMENT), from_handlers(root)?)
        .with_context(|| format!("cannot write {DOCUMENT}"))?;
    println!("wrote {DOCUMENT}");
    Ok(())
}

pub(crate) fn check(root: &Path) -> Result<()> {
    let now = from_handlers(root)?;
    let committed = fs::read_to_string(root.join(DOCUMENT)).unwrap_or_default();
    if committed != now {
        let same = committed.lines().zip(now.lines()).take_while(|(old, new)| old == new);
        let line = same.count() + 1;
        bail!(
            "{DOCUMENT}:{line}: not what the handlers say; `cargo xtask openapi` writes it again"
        );
    }
    println!("{DOCUMENT} is what the handlers say");
    Ok(())
}
