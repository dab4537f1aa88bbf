//! One load in several processes: starts this program again for each part, lets all begin at once, and reads their
//! reports. Adds nothing up.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use crate::start_signal::{GO, READY};

/// A part at work; ended with its handle.
struct Part {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ended = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// Starts this command line once for each part and returns their reports.
///
/// # Errors
/// Where a part cannot be started or does not end well.
pub(crate) fn run<R: DeserializeOwned>(processes: u8) -> Result<Vec<R>> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let program = std::env::current_exe().context("this program is nowhere")?;
    let mut parts = Vec::new();
    for nth in 0..processes {
        let mut command = Command::new(&program);
        command.args(own_arguments(std::env::args().skip(1)));
        command.args(["--processes", "1", "--wait", "--part", &format!("{nth}/{processes}")]);
        command.args(["--net", &nth.to_string()]);
        command.arg("--json").arg(folder.path().join(format!("{nth}.json")));
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("a part cannot be started")?;
        let output = BufReader::new(process.stdout.take().expect("it was piped"));
        parts.push(Part { process, output });
    }
    for part in &mut parts {
        let mut line = String::new();
        part.output.read_line(&mut line)?;
        ensure!(line.trim() == READY, "a part ended before it was ready");
    }
    for part in &mut parts {
        let told = part.process.stdin.as_mut().expect("it was piped");
        writeln!(told, "{GO}").context("a part is gone")?;
    }
    let mut reports = Vec::new();
    for (nth, mut part) in parts.into_iter().enumerate() {
        // Read to its end, so that it never waits for a reader.
        std::io::copy(&mut part.output, &mut std::io::sink())?;
        ensure!(part.process.wait()?.success(), "part {nth} has failed");
        let report = std::fs::read(folder.path().join(format!("{nth}.json")))?;
        reports.push(serde_json::from_slice(&report)?);
    }
    Ok(reports)
}

/// The command line without what each part is given anew.
fn own_arguments(all: impl Iterator<Item = String>) -> Vec<String> {
    const ANEW: [&str; 4] = ["--processes", "--json", "--net", "--pid"];
    let (mut kept, mut all) = (Vec::new(), all);
    while let Some(argument) = all.next() {
        if ANEW.contains(&argument.as_str()) {
            // Its value goes too.
            all.next();
        } else if !ANEW.iter().any(|name| argument.starts_with(&format!("{name}="))) {
            kept.push(argument);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_get_everything_but_what_is_their_own() {
        let all = "open joins --url u --processes 4 --json=a --pid 7 --stage 1:2 --json b";
        let kept = own_arguments(all.split(' ').map(str::to_owned));
        assert_eq!(kept.join(" "), "open joins --url u --stage 1:2");
    }
}
