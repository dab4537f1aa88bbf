//! The real program as a process of its own: for what a test in the same process cannot show, such as being killed.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use crate::{Operator, Visitor, eventually};

/// Longest that a process may take to end once told.
const END_MAX: Duration = Duration::from_secs(60);

/// What a process is started with.
#[derive(Debug)]
pub struct ProcessBuilder {
    command: Command,
}

impl ProcessBuilder {
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it and waits until it says where it listens.
    ///
    /// # Panics
    /// Where it ends before, with all it said.
    pub async fn start(self) -> Process {
        let mut process = self.spawn();
        process.wait_for_addresses().await;
        process
    }

    /// Starts it and waits for nothing.
    ///
    /// # Panics
    /// Where the program cannot be started.
    #[must_use]
    pub fn spawn(mut self) -> Process {
        let mut child = self.command.spawn().expect("the program can be started");
        let (lines, changed) = (Arc::new(Mutex::new(Vec::new())), watch::Sender::new(0));
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let readers = vec![
            tokio::spawn(keep(stdout, Stream::Out, lines.clone(), changed.clone())),
            tokio::spawn(keep(stderr, Stream::Error, lines.clone(), changed.clone())),
        ];
        Process { child, lines, changed: changed.subscribe(), readers, public: None, ops: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Out,
    Error,
}

type Lines = Arc<Mutex<Vec<(Stream, String)>>>;

async fn keep(
    from: impl AsyncRead + Unpin + Send + 'static,
    stream: Stream,
    lines: Lines,
    changed: watch::Sender<usize>,
) {
    let mut from = BufReader::new(from).lines();
    while let Ok(Some(line)) = from.next_line().await {
        lines.lock().push((stream, line));
        changed.send_modify(|count| *count += 1);
    }
}

/// A process; killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Lines,
    changed: watch::Receiver<usize>,
    /// Until they have read everything.
    readers: Vec<JoinHandle<()>>,
    public: Option<SocketAddr>,
    ops: Option<SocketAddr>,
}

impl Process {
    /// A command of the program at `bin` (`env!("CARGO_BIN_EXE_jari")`), with an environment that sets nothing of Jari's.
    #[must_use]
    pub fn command(bin: &str, args: &[&str]) -> ProcessBuilder {
        let mut command = Command::new(bin);
        command
            .args(args)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        ProcessBuilder { command }
    }

    /// `jari serve` on free ports and this data folder.
    #[must_use]
    pub fn serve(bin: &str, data: &Path) -> ProcessBuilder {
        let (config, data) = (Path::new("/dev/null"), PathBuf::from(data));
        Process::command(bin, &["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"])
            .arg("--config")
            .arg(config)
            .arg("--data")
            .arg(data)
    }

    async fn wait_for_addresses(&mut self) {
        loop {
            self.changed.borrow_and_update();
            if let Some((public, ops)) = self.stdout().lines().find_map(addresses) {
                (self.public, self.ops) = (Some(public), Some(ops));
                return;
            }
            tokio::select! {
                changed = self.changed.changed() => {
                    assert!(changed.is_ok(), "it closed its output:\n{}", self.output());
                }
                ended = self.child.wait() => {
                    panic!("it ended with {ended:?}:\n{}", self.output());
                }
            }
        }
    }

    /// Where it serves.
    ///
    /// # Panics
    /// Where it was not waited for.
    #[must_use]
    pub fn url(&self) -> Url {
        http(self.public.expect("started with `start`"))
    }

    /// Where its health and metrics are.
    ///
    /// # Panics
    /// Where it was not waited for.
    #[must_use]
    pub fn ops_url(&self) -> Url {
        http(self.ops.expect("started with `start`"))
    }

    /// Where its health is while it does not serve yet, as its log says it.
    pub async fn ops_while_starting(&self) -> Url {
        eventually("it says where its health is", async || {
            let told = self.stderr();
            let (_, rest) = told.split_once("health and metrics on ")?;
            // As text or as JSON.
            rest.split(['"', ' ', '\n']).next()?.parse().ok()
        })
        .await
    }

    #[must_use]
    pub fn visitor(&self) -> Visitor {
        Visitor::new(self.url())
    }

    #[must_use]
    pub fn operator(&self, key: &str) -> Operator {
        Operator::new(self.url(), key)
    }

    /// The admin key it printed, if it did.
    #[must_use]
    pub fn printed_key(&self) -> Option<String> {
        let text = self.stdout();
        let word = text.split_whitespace().find(|word| word.starts_with("jari_"))?;
        Some(word.to_owned())
    }

    /// The admin key, once it is printed: it comes after the addresses.
    pub async fn wait_for_key(&self) -> String {
        eventually("the first start printed a key", async || self.printed_key()).await
    }

    /// What it wrote to its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.written(Some(Stream::Out))
    }

    /// What it wrote to its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.written(Some(Stream::Error))
    }

    /// What it wrote so far, in order.
    #[must_use]
    pub fn output(&self) -> String {
        self.written(None)
    }

    fn written(&self, stream: Option<Stream>) -> String {
        let lines = self.lines.lock();
        let wanted = lines.iter().filter(|(from, _)| stream.is_none_or(|stream| stream == *from));
        wanted.map(|(_, line)| format!("{line}\n")).collect()
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().expect("it has not ended")
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    ///
    /// # Panics
    /// Where it cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("a child can be killed");
    }

    /// Tells it to stop, as a service manager does.
    ///
    /// # Panics
    /// Where the signal cannot be sent.
    pub async fn terminate(&self) {
        self.signal("TERM").await;
    }

    /// Tells it to read its files again (SIGHUP).
    ///
    /// # Panics
    /// Where the signal cannot be sent.
    pub async fn hang_up(&self) {
        self.signal("HUP").await;
    }

    /// Stops it where it stands (SIGSTOP): it does nothing, and its connections stay open.
    ///
    /// # Panics
    /// Where the signal cannot be sent.
    pub async fn pause(&self) {
        self.signal("STOP").await;
    }

    /// Lets it go on (SIGCONT) as if nothing had been.
    ///
    /// # Panics
    /// Where the signal cannot be sent.
    pub async fn resume(&self) {
        self.signal("CONT").await;
    }

    async fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().await;
        assert!(sent.expect("there is a kill command").success());
    }

    /// Waits for its end, and for all that it wrote.
    ///
    /// # Panics
    /// Where it does not end within a minute.
    pub async fn wait(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(END_MAX, self.child.wait()).await;
        let Ok(status) = ended else {
            panic!("it did not end within {END_MAX:?}:\n{}", self.output());
        };
        for reader in self.readers.drain(..) {
            reader.await.expect("reading does not panic");
        }
        status.expect("a child can be waited for")
    }
}

/// Reads the line `jari listens on http://A (health and metrics on http://B)`.
fn addresses(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let rest = line.strip_prefix("jari listens on http://")?;
    let (public, rest) = rest.split_once(" (health and metrics on http://")?;
    Some((public.parse().ok()?, rest.strip_suffix(')')?.parse().ok()?))
}

fn http(addr: SocketAddr) -> Url {
    Url::parse(&format!("http://{addr}/")).expect("an address makes a URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_addresses_is_read() {
        let line = "jari listens on http://127.0.0.1:81 (health and metrics on http://[::1]:82)";
        let (public, ops) = addresses(line).expect("that is the line");
        assert_eq!((public.port(), ops.port()), (81, 82));
        assert_eq!(addresses("jari listens on a hill"), None);
    }
}
