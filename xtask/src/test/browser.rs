//! The browser step: builds the server, starts it, runs testing/browser against it. The tests themselves are there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::report::Tally;
use super::server::Server;
use crate::command::{build, command, run};
use crate::web;

const TESTS: &str = "testing/browser";

/// Lines of the server's log that a failing run shows.
const LOG_TAIL: usize = 40;

pub(super) fn run_tests(root: &Path) -> (Tally, Result<()>) {
    let tap = root.join("target/browser.tap");
    // An older run's report must not stand in for this one's.
    let _absent_is_fine = fs::remove_file(&tap);
    let result = against_a_server(root, &tap);
    let tally = fs::read_to_string(&tap).map_or_else(|_| Tally::default(), |tap| counts(&tap));
    let result = match result {
        Ok(()) if tally.passed == 0 => Err(anyhow!("no browser test ran")),
        result => result,
    };
    (tally, result)
}

fn against_a_server(root: &Path, tap: &Path) -> Result<()> {
    web::build(root)?;
    let program = build(root, &["jari"], false)?.join("jari");
    let log = root.join("target/browser-server.log");
    let shots = root.join("target/screenshots");
    fs::create_dir_all(&shots).context("no folder for the screenshots")?;
    let server = Server::start(root, &program, &log);
    let result = server.and_then(|server| {
        let destination = format!("--test-reporter-destination={}", tap.display());
        let reporters = [
            "--test",
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
            "--test-reporter=tap",
            &destination,
        ];
        run(command(&root.join(TESTS), "node", &reporters)
            .env("JARI_URL", &server.url)
            .env("JARI_ADMIN_KEY", &server.admin_key)
            .env("JARI_PROGRAM", &server.program)
            .env("BROWSER_SHOTS", &shots))
    });
    if result.is_err() {
        show_tail(&log);
    }
    result
}

fn show_tail(log: &Path) {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    println!("--- the end of {}", log.display());
    for line in &lines[lines.len().saturating_sub(LOG_TAIL)..] {
        println!("{line}");
    }
}

/// The closing lines of a TAP report: `# pass 9`, `# fail 1`, `# cancelled 0`.
fn counts(tap: &str) -> Tally {
    let number = |name: &str| {
        let prefix = format!("# {name} ");
        tap.lines()
            .rev()
            .find_map(|line| line.strip_prefix(&prefix)?.trim().parse().ok())
            .unwrap_or(0)
    };
    Tally { passed: number("pass"), failed: number("fail") + number("cancelled") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tap_report_s_end_is_counted() {
        let tap = "TAP version 13\nok 1 - a\n1..1\n# tests 4\n# pass 2\n# fail 1\n# cancelled 1\n";
        assert_eq!(counts(tap), Tally { passed: 2, failed: 2 });
        assert_eq!(counts("TAP version 13\n"), Tally::default());
    }
}
