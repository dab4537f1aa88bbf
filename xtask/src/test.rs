//! `cargo xtask test`: every check in order, each with its time, and a summary. What a check looks at is in its own
//! file or in the tests themselves.

mod browser;
mod checks;
mod report;
mod rules;
mod server;
pub(crate) mod tools;

use std::path::Path;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::web;
use report::{Report, Tally};

#[derive(Args, Debug)]
pub struct TestArgs {
    /// Leave out what takes minutes: the kill -9 run, the faults and the browser
    #[arg(long)]
    fast: bool,
    /// Run this step alone; may be given several times
    #[arg(long, value_enum, value_name = "STEP")]
    only: Vec<Step>,
}

/// In the order in which they run: what fails soonest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Install what the other steps need and this machine lacks
    Tools,
    /// Build the operator's page, where there is Node.js
    Web,
    /// `cargo xtask tidy`
    Tidy,
    /// Formatting
    Fmt,
    /// Lints; warnings are errors in CI only
    Clippy,
    /// All tests but the long ones
    Tests,
    /// Examples in the documentation
    Doctests,
    /// The committed OpenAPI document is what the handlers say
    Openapi,
    /// The committed list of clauses and stores is what the suite has
    Conformance,
    /// Prometheus rules with their tests, and the dashboard's queries, by promtool
    Rules,
    /// Licences and sources of the dependencies, where cargo-deny is installed
    Deny,
    /// Fifty kill -9 under load
    Kill9,
    /// Faults on real servers and nodes, one of each family, with few people
    Faults,
    /// The visitor's page in a real browser, against a real server
    Browser,
}

impl Step {
    const ALL: [Self; 14] = [
        Self::Tools,
        Self::Web,
        Self::Tidy,
        Self::Fmt,
        Self::Clippy,
        Self::Tests,
        Self::Doctests,
        Self::Openapi,
        Self::Conformance,
        Self::Rules,
        Self::Deny,
        Self::Kill9,
        Self::Faults,
        Self::Browser,
    ];

    fn takes_minutes(self) -> bool {
        matches!(self, Self::Kill9 | Self::Faults | Self::Browser)
    }

    /// What ran, also where a part of it failed.
    fn run(self, root: &Path, args: &TestArgs) -> (Tally, Result<()>) {
        let nothing_counted = |result| (Tally::default(), result);
        match self {
            Self::Tools => nothing_counted(tools::install(root, args.wants(Self::Browser))),
            Self::Web => nothing_counted(web_step(root, args)),
            Self::Tidy => nothing_counted(crate::tidy::run(root)),
            Self::Fmt => nothing_counted(checks::fmt(root)),
            Self::Clippy => nothing_counted(checks::clippy(root)),
            Self::Tests => checks::tests(root),
            Self::Doctests => nothing_counted(checks::doctests(root)),
            Self::Openapi => nothing_counted(crate::openapi::check(root)),
            Self::Conformance => nothing_counted(crate::conformance::check(root)),
            Self::Rules => nothing_counted(rules::check(root)),
            Self::Deny => nothing_counted(checks::deny(root)),
            Self::Kill9 => checks::kill9(root),
            Self::Faults => nothing_counted(crate::faults::quick(root)),
            Self::Browser => browser::run_tests(root),
        }
    }
}

/// The browser tests need the page; all others hold without it.
fn web_step(root: &Path, args: &TestArgs) -> Result<()> {
    if args.wants(Step::Browser) {
        return web::build(root);
    }
    web::build_where_possible(root);
    Ok(())
}

impl TestArgs {
    fn wants(&self, step: Step) -> bool {
        if self.only.is_empty() {
            !(self.fast && step.takes_minutes())
        } else {
            self.only.contains(&step)
        }
    }
}

/// Runs the wanted steps, stops at the first that fails, and prints the summary in either case.
///
/// # Errors
/// Where a step fails.
pub fn run(root: &Path, args: &TestArgs) -> Result<()> {
    let mut report = Report::default();
    for step in Step::ALL.into_iter().filter(|step| args.wants(*step)) {
        let name = step.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        if !report.step(&name, || step.run(root, args)) {
            break;
        }
    }
    println!("\n{report}");
    match report.failed_step() {
        Some(step) => {
            bail!("step `{step}` failed; run it alone with `cargo xtask test --only {step}`")
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(fast: bool, only: &[Step]) -> Vec<Step> {
        let args = TestArgs { fast, only: only.to_vec() };
        Step::ALL.into_iter().filter(|step| args.wants(*step)).collect()
    }

    #[test]
    fn fast_leaves_out_minutes_and_only_leaves_the_named() {
        assert_eq!(wanted(false, &[]), Step::ALL);
        assert!(!wanted(true, &[]).contains(&Step::Browser));
        assert!(wanted(true, &[]).contains(&Step::Tests));
        assert_eq!(wanted(false, &[Step::Fmt, Step::Tidy]), [Step::Tidy, Step::Fmt]);
        assert_eq!(wanted(true, &[Step::Kill9]), [Step::Kill9]);
    }
}
