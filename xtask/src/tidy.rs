//! `cargo xtask tidy`: what neither the compiler nor clippy checks. Each finding names a place and how to mend it;
//! nothing is mended by itself. Function length is clippy's `too_many_lines`.

mod attacks;
mod layers;
mod messages;
mod pages;
mod shape;
mod sources;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

pub use sources::Source;

/// Something to mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the repository's root.
    pub file: String,
    /// From 1.
    pub line: usize,
    pub problem: String,
    pub fix: &'static str,
}

impl Finding {
    fn new(file: &str, line: usize, problem: impl Into<String>, fix: &'static str) -> Self {
        Self { file: file.to_owned(), line, problem: problem.into(), fix }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n    {}", self.file, self.line, self.problem, self.fix)
    }
}

/// All findings, by file and line.
///
/// # Errors
/// Where the tree or cargo's metadata cannot be read.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let sources = sources::read(root)?;
    let crates = layers::crates(root)?;
    let mut findings = layers::check(&crates);
    for source in &sources {
        findings.extend(shape::check(source));
        findings.extend(words::check(source));
    }
    findings.extend(pages::check(root, &sources, &crates));
    findings.extend(attacks::check(&sources));
    findings.extend(messages::check(&sources));
    findings.sort();
    Ok(findings)
}

/// Names of the crates with a source file below `src/` that `wanted` accepts.
pub(crate) fn crates_with(root: &Path, wanted: impl Fn(&Source) -> bool) -> Result<Vec<String>> {
    let sources = sources::read(root)?;
    let mut crates = layers::crates(root)?;
    crates.retain(|package| {
        let below = format!("{}/src/", package.folder);
        sources.iter().any(|source| source.path.starts_with(&below) && wanted(source))
    });
    Ok(crates.into_iter().map(|package| package.name).collect())
}

/// Prints what [`check`] found.
///
/// # Errors
/// Where there is anything to mend.
pub fn run(root: &Path) -> Result<()> {
    let findings = check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing to mend"),
        count => bail!("tidy: {count} to mend"),
    }
    Ok(())
}
