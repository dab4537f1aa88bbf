//! The processes of a bench: servers on free ports, generators that wait for each other. Each is ended by its own handle.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A process that ends with its handle.
#[derive(Debug)]
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended_already = self.0.kill();
        let _ended_already = self.0.wait();
    }
}

/// A server at work.
#[derive(Debug)]
pub(super) struct Started {
    process: Running,
    pub(super) url: String,
    /// Empty for the baseline, and for a server that has been started before.
    pub(super) admin_key: String,
}

impl Started {
    /// A durable `jari serve` on its own folder, without a join limit: all joins come from one address.
    pub(super) fn jari(binary: &Path, folder: &Path, more: &[(&str, &str)]) -> Result<Self> {
        Started::wait(serve(binary, folder, "127.0.0.1:0", more), &["http://", "jari_"])
    }

    /// Another one on the folder of `first` and with its keys. Several share a folder where the line is elsewhere.
    pub(super) fn beside(
        first: &Started,
        binary: &Path,
        folder: &Path,
        more: &[(&str, &str)],
    ) -> Result<Self> {
        let started = Started::wait(serve(binary, folder, "127.0.0.1:0", more), &["http://"])?;
        Ok(Started { admin_key: first.admin_key.clone(), ..started })
    }

    /// Kills it and starts it again on the same folder and address, at once.
    pub(super) fn kill_and_restart(self, binary: &Path, folder: &Path) -> Result<Self> {
        let Started { process, url, admin_key } = self;
        drop(process);
        let address = url.trim_start_matches("http://").to_owned();
        let started = Started::spawn(serve(binary, folder, &address, &[]))?;
        Ok(Started { url, admin_key, ..started })
    }

    /// The baseline: empty handlers behind Jari's layers, or on axum alone.
    pub(super) fn baseline(binary: &Path, flags: &[&str]) -> Result<Self> {
        let mut serve = Command::new(binary);
        serve.arg("baseline").args(flags);
        Started::wait(serve, &["http://"])
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// Without waiting for it; what it prints is dropped.
    fn spawn(mut serve: Command) -> Result<Self> {
        let process = serve.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process =
            process.with_context(|| format!("cannot start {}", serve.get_program().display()))?;
        Ok(Started { process: Running(process), url: String::new(), admin_key: String::new() })
    }

    /// Starts and reads until words beginning with all `marks` were printed, the address first. A server that ends
    /// without them closes its output, so this ends too.
    fn wait(mut serve: Command, marks: &[&str]) -> Result<Self> {
        let process = serve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = Running(
            process.with_context(|| format!("cannot start {}", serve.get_program().display()))?,
        );
        let output = process.0.stdout.take().expect("stdout was piped");
        let mut found: Vec<String> = Vec::new();
        let mut lines = BufReader::new(output).lines();
        while found.len() < marks.len() {
            let Some(line) = lines.next() else { bail!("the server ended before it was ready") };
            let line = line.context("the server's output cannot be read")?;
            found.extend(word(&line, marks[found.len()]));
        }
        // The rest is dropped as it comes, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let mut found = found.into_iter();
        let url = found.next().unwrap_or_default();
        Ok(Started { process, url, admin_key: found.next().unwrap_or_default() })
    }
}

fn serve(binary: &Path, folder: &Path, listen: &str, more: &[(&str, &str)]) -> Command {
    let mut serve = Command::new(binary);
    serve
        .arg("serve")
        .current_dir(folder)
        .env("JARI__HTTP__LISTEN", listen)
        .env("JARI__OPS__LISTEN", "127.0.0.1:0")
        .env("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "0")
        // A few passes stand for a crowd.
        .env("JARI__HTTP__PASS_LIMIT_PER_S", "0")
        .env("JARI__STORE__DATA_DIR", folder.join("data"))
        // A line for each of a hundred thousand calls would measure the log.
        .env("JARI__LOG__LEVEL", "warn")
        .envs(more.iter().copied());
    serve
}

/// The first word of a line that begins with `mark`.
fn word(line: &str, mark: &str) -> Option<String> {
    line.split_ascii_whitespace().find(|word| word.starts_with(mark)).map(str::to_owned)
}

/// A generator that has been started with `--wait`.
#[derive(Debug)]
pub(super) struct Waiting {
    process: Running,
    output: BufReader<std::process::ChildStdout>,
    report: PathBuf,
}

impl Waiting {
    /// Starts it; it prepares by itself.
    pub(super) fn start(mut load: Command, report: PathBuf) -> Result<Waiting> {
        let started = load.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = Running(started.context("a generator cannot be started")?);
        let output = BufReader::new(process.0.stdout.take().expect("stdout was piped"));
        Ok(Waiting { process, output, report })
    }

    /// Until it has prepared everything.
    pub(super) fn ready(&mut self) -> Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.trim() == "ready", "a generator ended before it was ready");
        Ok(())
    }

    pub(super) fn go(&mut self) -> Result<()> {
        let told = self.process.0.stdin.as_mut().expect("stdin was piped");
        writeln!(told, "go").context("a generator is gone")
    }

    /// Until it has ended; its report.
    pub(super) fn end(mut self) -> Result<serde_json::Value> {
        // Read to its end, so that it never waits for a reader.
        std::io::copy(&mut self.output, &mut std::io::sink())?;
        let status = self.process.0.wait()?;
        ensure!(status.success(), "a generator ended with {status}");
        Ok(serde_json::from_slice(&std::fs::read(&self.report)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn the_address_and_key_are_read_and_the_process_is_ended() {
        let script =
            "echo 'jari listens on http://127.0.0.1:7 (more)'; echo '  jari_k_s'; exec sleep 60";
        let started =
            Started::wait(shell(script), &["http://", "jari_"]).expect("both are printed");
        assert_eq!(
            (started.url.as_str(), started.admin_key.as_str()),
            ("http://127.0.0.1:7", "jari_k_s")
        );
        assert_ne!(started.pid(), 0);
    }

    #[test]
    fn a_server_that_ends_early_is_an_error() {
        assert!(Started::wait(shell("echo http://x; exit 1"), &["http://", "jari_"]).is_err());
    }

    #[test]
    fn a_generator_is_ready_told_and_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = folder.path().join("r.json");
        let script =
            format!("echo ready; read told; echo \"\\\"$told\\\"\" > {}", report.display());
        let mut waiting = Waiting::start(shell(&script), report.clone()).expect("a shell");
        waiting.ready().expect("it says so");
        waiting.go().expect("it listens");
        assert_eq!(waiting.end().expect("it ends"), serde_json::json!("go"));
        let mut early = Waiting::start(shell("exit 1"), report).expect("a shell");
        assert!(early.ready().is_err());
    }
}
