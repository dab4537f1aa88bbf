//! The servers that are measured: each on a free port, ended by its own handle.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A server at work.
#[derive(Debug)]
pub(super) struct Started {
    process: Child,
    pub(super) url: String,
    /// Empty for the baseline.
    pub(super) admin_key: String,
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}

impl Started {
    /// A durable `jari serve` on a folder of its own, without a join limit: all joins come from one address.
    pub(super) fn jari(binary: &Path, folder: &Path) -> Result<Self> {
        let mut serve = Command::new(binary);
        serve
            .arg("serve")
            .current_dir(folder)
            .env("JARI__HTTP__LISTEN", "127.0.0.1:0")
            .env("JARI__OPS__LISTEN", "127.0.0.1:0")
            .env("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "0")
            .env("JARI__STORE__DATA_DIR", folder.join("data"))
            // A line for each of a hundred thousand calls would measure the log.
            .env("JARI__LOG__LEVEL", "warn");
        Started::wait(serve, &["http://", "jari_"])
    }

    pub(super) fn baseline(binary: &Path) -> Result<Self> {
        let mut serve = Command::new(binary);
        serve.arg("baseline");
        Started::wait(serve, &["http://"])
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Starts and reads until words beginning with all `marks` were printed, the address first. A server that ends
    /// without them closes its output, so this ends too.
    fn wait(mut serve: Command, marks: &[&str]) -> Result<Self> {
        let mut process = serve
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", serve.get_program().display()))?;
        let output = process.stdout.take().expect("stdout was piped");
        let mut started = Started { process, url: String::new(), admin_key: String::new() };
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
        started.url = found.next().unwrap_or_default();
        started.admin_key = found.next().unwrap_or_default();
        Ok(started)
    }
}

/// The first word of a line that begins with `mark`.
fn word(line: &str, mark: &str) -> Option<String> {
    line.split_ascii_whitespace().find(|word| word.starts_with(mark)).map(str::to_owned)
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
}
