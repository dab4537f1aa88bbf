//! A real `jari serve` for the browser: free ports, a folder of its own, an ordinary user. Ended by its own pid.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::machine;

/// A debug build opens its stores in well under a second; a loaded CI machine may take many.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What the server prints when it is ready.
const URL_MARK: &str = "http://";
const KEY_MARK: &str = "jari_";

#[derive(Debug)]
pub(super) struct Server {
    process: Child,
    pub(super) url: String,
    pub(super) admin_key: String,
    /// The program where an ordinary user can start another.
    pub(super) program: PathBuf,
    /// Removed with the server.
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // By its own handle: nothing else on the machine is touched. It may have ended already.
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}

impl Server {
    /// Starts `binary` and waits until it has printed where it listens and its first admin key. Everything it prints
    /// goes to `log` too.
    pub(super) fn start(root: &Path, binary: &Path, log: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        open_to_all(folder.path())?;
        // The repository may lie where an ordinary user cannot go: the binary comes along.
        let program = folder.path().join("jari");
        fs::copy(binary, &program).with_context(|| format!("cannot copy {}", binary.display()))?;
        let data = folder.path().join("data");
        fs::create_dir(&data).context("no data folder")?;
        open_to_all(&data)?;
        let log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut process = machine::as_ordinary_user(root, &program)?
            .arg("serve")
            .current_dir(folder.path())
            .env("JARI__HTTP__LISTEN", "127.0.0.1:0")
            .env("JARI__OPS__LISTEN", "127.0.0.1:0")
            .env("JARI__STORE__DATA_DIR", &data)
            // The log is shown when a test fails: only what went wrong belongs there.
            .env("JARI__LOG__LEVEL", "warn")
            .stdout(Stdio::piped())
            .stderr(log.try_clone().context("the log cannot be shared")?)
            .spawn()
            .context("cannot start the server")?;
        let output = process.stdout.take().expect("stdout was piped");
        let mut server = Self {
            process,
            url: String::new(),
            admin_key: String::new(),
            program,
            _folder: folder,
        };
        (server.url, server.admin_key) = greeting(output, log)?;
        Ok(server)
    }
}

/// Others may write into it: it is a folder of ours, removed after the run.
fn open_to_all(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o777))
        .with_context(|| format!("cannot open {} to other users", folder.display()))
}

/// Address and key from what the server prints; copies everything to the log for as long as the server lives.
fn greeting(output: ChildStdout, mut log: File) -> Result<(String, String)> {
    let (found, wait) = mpsc::channel();
    thread::spawn(move || {
        let (mut url, mut key) = (None, None);
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // A full disk must not end the server by a closed pipe.
            let _full_disk_is_fine = writeln!(log, "{line}");
            url = url.or_else(|| word(&line, URL_MARK));
            key = key.or_else(|| word(&line, KEY_MARK));
            if let (Some(url), Some(key)) = (&url, &key) {
                // Nobody listens after the first.
                let _first_one_counts = found.send((url.clone(), key.clone()));
            }
        }
    });
    match wait.recv_timeout(READY_WITHIN) {
        Ok(greeting) => Ok(greeting),
        Err(_) => bail!("the server printed no address and admin key within {READY_WITHIN:?}"),
    }
}

/// The word of a line that starts with `mark`, without punctuation around it.
fn word(line: &str, mark: &str) -> Option<String> {
    let rest = &line[line.find(mark)?..];
    let end = rest.find(|c: char| c.is_whitespace() || "\"',;)".contains(c)).unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(['/', '.']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_key_are_found_in_a_line() {
        assert_eq!(
            word("listening on http://127.0.0.1:81/, ops", URL_MARK).as_deref(),
            Some("http://127.0.0.1:81")
        );
        assert_eq!(
            word("admin key: jari_ab_cd (kept nowhere)", KEY_MARK).as_deref(),
            Some("jari_ab_cd")
        );
        assert_eq!(word("nothing here", URL_MARK), None);
    }
}
