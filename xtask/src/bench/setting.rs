//! Where a bench works: the programs, a folder that goes away, and how its parts start loads and say what they do.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::size::Size;
use super::started::{Started, Waiting};
use crate::command::{build, command};

/// The room that most parts use.
pub(super) const ROOM: &str = "bench";

#[derive(Debug)]
pub(super) struct Setting {
    pub(super) root: PathBuf,
    pub(super) size: Size,
    pub(super) jari: PathBuf,
    load: PathBuf,
    folder: TempDir,
    started: Instant,
}

impl Setting {
    /// Builds the programs. `optimised` is what measures; without it all runs, and the numbers mean nothing.
    pub(super) fn build(root: &Path, size: Size, optimised: bool) -> Result<Setting> {
        let binaries = build(root, &["jari", "jari-load"], optimised)?;
        Ok(Setting {
            root: root.to_owned(),
            size,
            jari: binaries.join("jari"),
            load: binaries.join("jari-load"),
            folder: tempfile::tempdir().context("no temporary folder")?,
            started: now(),
        })
    }

    /// A folder of this run, made anew.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    pub(super) fn server(&self, name: &str, more: &[(&str, &str)]) -> Result<Started> {
        Started::jari(&self.jari, &self.folder(name)?, more)
    }

    pub(super) fn baseline(&self, flags: &[&str]) -> Result<Started> {
        Started::baseline(&self.load, flags)
    }

    /// A room where nobody is admitted by itself, with places for all, polled at the shortest interval.
    pub(super) fn room(&self, server: &Started, room: &str) -> Result<()> {
        self.roomy(server, room, &["--poll-near", "250ms", "--poll-far", "250ms"])
    }

    /// A room where nobody is admitted by itself, with places for all.
    pub(super) fn roomy(&self, server: &Started, room: &str, more: &[&str]) -> Result<()> {
        let limits = ["--max-waiting", "4000000", "--capacity", "1000000", "--claim-window", "30m"];
        let mut args = vec!["create", room, "--pacer", "manual"];
        args.extend(limits.iter().chain(more));
        self.operate(server, &args)
    }

    /// Runs an operator's command on rooms: `create shop ...`.
    pub(super) fn operate(&self, server: &Started, args: &[&str]) -> Result<()> {
        let mut room = Command::new(&self.jari);
        room.arg("room").args(args).args(["--server", &server.url]);
        let output = room.env("JARI_ADMIN_KEY", &server.admin_key).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`jari room {}` failed: {told}", args.join(" "));
        Ok(())
    }

    /// A load against servers that share their keys; of one, against it alone.
    fn load_command(&self, servers: &[&Started], what: &[&str], report: &Path) -> Command {
        let mut load = Command::new(&self.load);
        load.args(what);
        for server in servers {
            load.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
            load.env("JARI_ADMIN_KEY", &server.admin_key);
        }
        load.arg("--json").arg(report);
        load
    }

    /// Runs a load to its end; its report. Wrong answers are an error: such numbers mean nothing.
    pub(super) fn load<S: AsRef<OsStr>>(
        &self,
        server: &Started,
        what: &[&str],
        more: &[S],
    ) -> Result<Value> {
        self.load_on(&[server], what, more)
    }

    /// Runs a load to its end against an address, with the use of these processes; its report.
    pub(super) fn load_at<S: AsRef<OsStr>>(
        &self,
        (url, pids): (&str, &[u32]),
        what: &[&str],
        more: &[S],
    ) -> Result<Value> {
        let report = self.folder.path().join("report.json");
        let mut load = Command::new(&self.load);
        load.args(what).args(["--url", url]);
        for pid in pids {
            load.args(["--pid", &pid.to_string()]);
        }
        Setting::ended(load.arg("--json").arg(&report).args(more), what, &report)
    }

    fn ended(load: &mut Command, what: &[&str], report: &Path) -> Result<Value> {
        let status = load.stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.context("the load generator cannot be started")?;
        ensure!(status.success(), "jari-load {} ended with {status}", what.join(" "));
        good(serde_json::from_slice(&std::fs::read(report)?)?)
    }

    /// The same, spread over several servers.
    pub(super) fn load_on<S: AsRef<OsStr>>(
        &self,
        servers: &[&Started],
        what: &[&str],
        more: &[S],
    ) -> Result<Value> {
        let report = self.folder.path().join("report.json");
        let mut load = self.load_command(servers, what, &report);
        Setting::ended(load.args(more), what, &report)
    }

    /// Starts a load that waits until all are ready.
    pub(super) fn waiting(
        &self,
        server: &Started,
        what: &[&str],
        more: &[String],
        name: &str,
    ) -> Result<Waiting> {
        self.waiting_on(&[server], what, more, name)
    }

    /// The same, spread over several servers.
    pub(super) fn waiting_on(
        &self,
        servers: &[&Started],
        what: &[&str],
        more: &[String],
        name: &str,
    ) -> Result<Waiting> {
        let report = self.folder.path().join(format!("{name}.json"));
        let mut load = self.load_command(servers, what, &report);
        load.arg("--wait").args(more);
        Waiting::start(load, report)
    }

    /// A command of the product; what it printed.
    pub(super) fn ask_jari(&self, args: &[&str]) -> Result<String> {
        crate::command::output(&mut command(&self.root, &self.jari.to_string_lossy(), args))
    }

    /// Progress, for who waits: on the error output, apart from the results.
    pub(super) fn say(&self, what: &str) {
        let seconds = (now() - self.started).as_secs();
        // Nobody is left to tell where the error output is closed.
        let _closed = writeln!(std::io::stderr(), "[{seconds:>4} s] {what}");
    }

    /// What else this machine does: figures that were taken beside it are to be read with it.
    pub(super) fn say_load(&self) {
        // Known only where /proc is.
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        if let Some(minute) = load.split_ascii_whitespace().next() {
            self.say(&format!("the load average of the last minute is {minute}"));
        }
    }

    pub(super) fn since(started: Instant) -> Duration {
        now() - started
    }

    pub(super) fn now() -> Instant {
        now()
    }
}

/// A report without wrong answers.
pub(super) fn good(report: Value) -> Result<Value> {
    let errors = report["errors"].as_object().map_or(0, serde_json::Map::len);
    ensure!(errors == 0, "wrong answers, so the numbers mean nothing: {}", report["errors"]);
    Ok(report)
}

#[expect(clippy::disallowed_methods, reason = "this module owns the bench's stopwatch")]
fn now() -> Instant {
    Instant::now()
}
