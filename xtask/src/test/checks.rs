//! The steps that are one cargo command: formatting, lints, tests. Where nextest cannot be had, `cargo test` runs the
//! same tests.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::report::Tally;
use super::tools;
use crate::command::{command, run, succeeds};
use crate::{machine, tidy};

/// The test binary that takes minutes and wants the machine to itself.
const KILL9: &str = "kill9";

pub(super) fn fmt(root: &Path) -> Result<()> {
    run(&mut command(root, "cargo", &["fmt", "--all", "--check"]))
}

/// Warnings are errors in CI only: at the desk they should not stand between a person and a test.
pub(super) fn clippy(root: &Path) -> Result<()> {
    let mut clippy =
        command(root, "cargo", &["clippy", "--workspace", "--all-targets", "--locked"]);
    if machine::is_ci() {
        clippy.args(["--", "--deny", "warnings"]);
    }
    run(&mut clippy)
}

/// Everything but the long run, which .config/nextest.toml leaves out.
pub(super) fn tests(root: &Path) -> (Tally, Result<()>) {
    if tools::has_nextest(root) {
        return nextest(root, &["--workspace"]);
    }
    println!(
        "cargo-nextest cannot be had here: `cargo test` runs the same tests, the long ones too"
    );
    let result = run(&mut command(
        root,
        "cargo",
        &["test", "--workspace", "--locked", "--lib", "--bins", "--tests"],
    ));
    (Tally::default(), result)
}

pub(super) fn kill9(root: &Path) -> (Tally, Result<()>) {
    if tools::has_nextest(root) {
        let filter = format!("binary(/^{KILL9}$/)");
        return nextest(root, &["--workspace", "--ignore-default-filter", "-E", &filter]);
    }
    let arguments = ["test", "--package", "jari", "--locked", "--test", KILL9, "--", "--nocapture"];
    (Tally::default(), run(&mut command(root, "cargo", &arguments)))
}

fn nextest(root: &Path, what: &[&str]) -> (Tally, Result<()>) {
    let profile = if machine::is_ci() { "ci" } else { "default" };
    let report = root.join("target/nextest").join(profile).join("junit.xml");
    // An older run's report must not stand in for one that never got as far.
    let _absent_is_fine = fs::remove_file(&report);
    let mut nextest = command(root, "cargo", &["nextest", "run", "--locked", "--profile", profile]);
    let result = run(nextest.args(what));
    let tally =
        fs::read_to_string(&report).ok().and_then(|junit| counts(&junit)).unwrap_or_default();
    let nothing_ran = result.is_ok() && tally == Tally::default();
    let result = if nothing_ran {
        Err(anyhow!("no test ran, or {} was not written", report.display()))
    } else {
        result
    };
    (tally, result)
}

/// Reads the head of a JUnit report: `<testsuites ... tests="9" failures="1" errors="0">`.
fn counts(junit: &str) -> Option<Tally> {
    let head = junit.split_once("<testsuites")?.1.split_once('>')?.0;
    let number = |name: &str| -> Option<usize> {
        let (_, rest) = head.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let failed = number("failures")? + number("errors")?;
    Some(Tally { passed: number("tests")?.saturating_sub(failed), failed })
}

/// rustdoc takes seconds a crate even for nothing, so only crates with examples run.
pub(super) fn doctests(root: &Path) -> Result<()> {
    let packages = tidy::crates_with(root, |source| holds_example(&source.text))?;
    if packages.is_empty() {
        println!("no examples in the documentation");
        return Ok(());
    }
    let mut cargo = command(root, "cargo", &["test", "--doc", "--locked"]);
    for package in &packages {
        cargo.args(["--package", package]);
    }
    run(&mut cargo)
}

/// A fence in a doc comment that names no other language is Rust, and rustdoc runs it.
fn holds_example(text: &str) -> bool {
    let mut fenced = false;
    text.lines().any(|line| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(language) = comment.and_then(|comment| comment.trim_start().strip_prefix("```"))
        else {
            return false;
        };
        fenced = !fenced;
        fenced
            && matches!(language.trim(), "" | "rust" | "no_run" | "should_panic" | "compile_fail")
    })
}

/// Not installed by us: it takes minutes to build. The public CI always runs it, with the advisory database.
pub(super) fn deny(root: &Path) -> Result<()> {
    if !succeeds(&mut command(root, "cargo", &["deny", "--version"])) {
        println!(
            "skipped: cargo-deny is not installed here (`cargo install --locked cargo-deny`); the public CI runs it"
        );
        return Ok(());
    }
    run(&mut command(
        root,
        "cargo",
        &["deny", "--locked", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"],
    ))
    .context("deny.toml says what is allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_junit_head_is_counted() {
        let junit = r#"<?xml version="1.0"?><testsuites name="nextest-run" tests="9" failures="1" errors="1" uuid="x"><testsuite/>"#;
        assert_eq!(counts(junit), Some(Tally { passed: 7, failed: 2 }));
        assert_eq!(counts("<nothing/>"), None);
    }

    #[test]
    fn only_rust_examples_are_run() {
        assert!(holds_example("/// ```\n/// let a = 1;\n/// ```\n"));
        assert!(!holds_example("/// ```text\n/// a\n/// ```\n"));
        assert!(!holds_example("// ```\n// a\n"));
    }
}
