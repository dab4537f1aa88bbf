//! `cargo xtask bench`: durable joins over HTTP against an axum server that does nothing, on this machine. The load
//! itself is testing/load's; here are the order of runs, the medians and the table.

mod started;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use self::started::Started;
use crate::command::{command, run as run_command};

/// Where CI and people look for the numbers, below the repository's root.
const RESULTS: &str = "target/bench/line.json";

#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Keep-alive connections, one join in flight on each
    #[arg(long, default_value_t = 256)]
    connections: u16,
    /// Seconds of each run
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Runs of each kind, in turn; the table shows medians
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=15))]
    rounds: u8,
    /// People prepared for each run; a run that uses them up ends early
    #[arg(long, default_value_t = 400_000)]
    people: u32,
    /// Threads of the load generator, taken from the same machine
    #[arg(long, default_value_t = 1)]
    threads: u8,
}

/// One number of a bench, as it is written to the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    name: String,
    value: f64,
    unit: &'static str,
}

/// What is taken from a load's report, and its unit.
const MEASURES: [(&str, &str, &str); 8] = [
    ("per_s", "/per_s", "1/s"),
    ("p50", "/p50_ms", "ms"),
    ("p95", "/p95_ms", "ms"),
    ("p99", "/p99_ms", "ms"),
    ("max", "/max_ms", "ms"),
    ("cpu_per_answer", "/server/cpu_us_per_ok", "us"),
    ("cores", "/server/cores", "cores"),
    ("memory", "/server/rss_mb_after", "MB"),
];

/// Builds, measures, prints the table, writes the results.
///
/// # Errors
/// Where something does not build or start, or a run had wrong answers.
pub fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    let build = ["build", "--release", "--package", "jari", "--package", "jari-load"];
    run_command(&mut command(root, "cargo", &build))?;
    let binaries = root.join("target/release");
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let jari = Started::jari(&binaries.join("jari"), folder.path())?;
    let baseline = Started::baseline(&binaries.join("jari-load"))?;
    let load =
        Load { binary: binaries.join("jari-load"), args, report: folder.path().join("r.json") };
    let (mut joins, mut empties) = (Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        let room = format!("bench-{round}");
        make_room(root, &binaries.join("jari"), &jari, &room)?;
        joins.push(load.joins(root, &jari, &room)?);
        empties.push(load.joins(root, &baseline, &room)?);
    }
    let entries = entries(&joins, &empties)?;
    print!("{}", table(args, &entries));
    let results = root.join(RESULTS);
    fs::create_dir_all(results.parent().expect("it lies in a folder"))?;
    fs::write(&results, serde_json::to_vec_pretty(&entries)?)
        .with_context(|| format!("cannot write {}", results.display()))?;
    println!("written to {RESULTS}");
    Ok(())
}

/// A room where nobody is admitted: joins alone are measured.
fn make_room(root: &Path, binary: &Path, jari: &Started, room: &str) -> Result<()> {
    let binary = binary.to_string_lossy();
    let args = ["room", "create", room, "--pacer", "manual", "--server", &jari.url];
    run_command(command(root, &binary, &args).env("JARI_ADMIN_KEY", &jari.admin_key))
}

struct Load<'a> {
    binary: PathBuf,
    args: &'a BenchArgs,
    report: PathBuf,
}

impl Load<'_> {
    /// One run; its report.
    fn joins(&self, root: &Path, server: &Started, room: &str) -> Result<Value> {
        let BenchArgs { connections, seconds, people, threads, .. } = self.args;
        let mut load = command(root, &self.binary.to_string_lossy(), &["joins", "--room", room]);
        load.args(["--url", &server.url]);
        for (flag, number) in [
            ("--connections", u64::from(*connections)),
            ("--seconds", *seconds),
            ("--people", u64::from(*people)),
            ("--threads", u64::from(*threads)),
            ("--pid", u64::from(server.pid())),
        ] {
            load.args([flag, &number.to_string()]);
        }
        load.arg("--json").arg(&self.report);
        run_command(&mut load)?;
        let report: Value = serde_json::from_slice(&fs::read(&self.report)?)?;
        let errors = report["errors"].as_object().map_or(0, serde_json::Map::len);
        ensure!(errors == 0, "wrong answers, so the numbers mean nothing: {}", report["errors"]);
        Ok(report)
    }
}

/// Medians of both kinds and what one costs against the other.
fn entries(joins: &[Value], empties: &[Value]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (name, pointer, unit) in MEASURES {
        for (kind, reports) in [("joins", joins), ("baseline", empties)] {
            // The CPU and memory of a server are known only where /proc is.
            if let Some(value) = median(reports, pointer) {
                entries.push(Entry { name: format!("{kind}.{name}"), value, unit });
            }
        }
    }
    let per_s = |reports| median(reports, "/per_s").context("a report without a throughput");
    let value = per_s(joins)? / per_s(empties)?;
    entries.push(Entry { name: "joins.ratio_to_baseline".to_owned(), value, unit: "x" });
    Ok(entries)
}

fn median(reports: &[Value], pointer: &str) -> Option<f64> {
    let mut values: Vec<f64> =
        reports.iter().filter_map(|report| report.pointer(pointer)?.as_f64()).collect();
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some(f64::midpoint(values[below], values[above]))
}

fn table(args: &BenchArgs, entries: &[Entry]) -> String {
    let BenchArgs { connections, seconds, rounds, threads, .. } = args;
    let mut text = format!(
        "\nDurable joins over HTTP, {connections} keep-alive connections, median of {rounds} runs of up to {seconds} s,\n\
         load generator ({threads} thread) on the same machine. Baseline: axum handlers that answer fixed bytes.\n\n\
         {:<16}{:>14}{:>14}\n",
        "", "joins", "baseline"
    );
    let value = |name: String| {
        let found = entries.iter().find(|entry| entry.name == name);
        found.map_or("-".to_owned(), |entry| format!("{:.2}", entry.value))
    };
    for (name, _, unit) in MEASURES {
        let (joins, empty) = (value(format!("joins.{name}")), value(format!("baseline.{name}")));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<16}{joins:>14}{empty:>14}  {unit}");
    }
    let ratio = value("joins.ratio_to_baseline".to_owned());
    let _ = writeln!(text, "\njoins / baseline: {ratio} x");
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(per_s: f64) -> Value {
        json!({"per_s": per_s, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0, "errors": {}})
    }

    #[test]
    fn medians_and_the_ratio_are_taken() {
        let joins = [report(30.0), report(10.0), report(20.0)];
        let empties = [report(80.0), report(120.0)];
        let entries = entries(&joins, &empties).expect("both have throughputs");
        let value = |name: &str| entries.iter().find(|e| e.name == name).map(|e| e.value);
        assert_eq!(value("joins.per_s"), Some(20.0));
        assert_eq!(value("baseline.per_s"), Some(100.0));
        assert_eq!(value("joins.ratio_to_baseline"), Some(0.2));
        assert_eq!(value("joins.cores"), None, "unknown without /proc");
        assert_eq!(median(&[], "/per_s"), None);
    }
}
