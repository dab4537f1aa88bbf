//! The record of a run: which steps ran, how long, how many tests. Owns this tool's stopwatch; runs nothing by itself.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Tests that a step ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

#[derive(Debug)]
struct Line {
    step: String,
    ok: bool,
    took: Duration,
    tally: Tally,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    lines: Vec<Line>,
}

impl Report {
    /// Runs a step under its headline; `false` where it failed.
    pub(super) fn step(&mut self, name: &str, run: impl FnOnce() -> (Tally, Result<()>)) -> bool {
        println!("\n=== {name}");
        let started = now();
        let (tally, result) = run();
        let took = now() - started;
        if let Err(error) = &result {
            println!("{error:#}");
        }
        let ok = result.is_ok();
        println!("=== {name}: {} in {}", word(ok), seconds(took));
        self.lines.push(Line { step: name.to_owned(), ok, took, tally });
        ok
    }

    pub(super) fn failed_step(&self) -> Option<&str> {
        self.lines.iter().find(|line| !line.ok).map(|line| line.step.as_str())
    }
}

#[expect(clippy::disallowed_methods, reason = "this module owns the tasks' stopwatch")]
fn now() -> Instant {
    Instant::now()
}

fn word(ok: bool) -> &'static str {
    if ok { "ok" } else { "FAILED" }
}

fn seconds(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        return format!("{:.1} s", took.as_secs_f64());
    }
    format!("{} min {} s", seconds / 60, seconds % 60)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.step.len()).max().unwrap_or(0);
        let mut sum = Tally::default();
        for line in &self.lines {
            let Tally { passed, failed } = line.tally;
            sum = Tally { passed: sum.passed + passed, failed: sum.failed + failed };
            write!(f, "{:width$}  {:6}  {:>12}", line.step, word(line.ok), seconds(line.took))?;
            if line.tally != Tally::default() {
                write!(f, "  {passed} passed, {failed} failed")?;
            }
            writeln!(f)?;
        }
        let took = seconds(self.lines.iter().map(|line| line.took).sum());
        let steps = self.lines.iter().filter(|line| line.ok).count();
        write!(
            f,
            "{} passed, {} failed; {steps} of {} steps ok in {took}",
            sum.passed,
            sum.failed,
            self.lines.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_summary_counts_steps_and_tests() {
        let mut report = Report::default();
        assert!(report.step("tests", || (Tally { passed: 40, failed: 0 }, Ok(()))));
        assert_eq!(report.failed_step(), None);
        assert!(!report.step("browser", || (Tally { passed: 2, failed: 1 }, Err(anyhow!("x")))));
        assert_eq!(report.failed_step(), Some("browser"));
        let text = report.to_string();
        assert!(text.contains("40 passed, 0 failed\n"), "{text}");
        assert!(text.contains("42 passed, 1 failed; 1 of 2 steps ok"), "{text}");
    }

    #[test]
    fn times_read_well() {
        assert_eq!(seconds(Duration::from_millis(1_540)), "1.5 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
    }
}
