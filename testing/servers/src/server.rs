//! One server process.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::Kind;
use crate::binaries::fake_clock;
use crate::output::Output;
use crate::process::signal;

/// Somebody else may take a port between looking and starting.
const STARTS_MAX: usize = 5;

/// How often, and how many times, a replica is asked how far it is: 60 s.
const OFFSET_EVERY: Duration = Duration::from_millis(20);
const OFFSETS_MAX: u32 = 3_000;

/// Debian's `nobody`: what a test that runs as root starts servers as.
const NOBODY: u32 = 65_534;

/// A running server. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    role: Role,
    folder: TempDir,
    arguments: Vec<String>,
    port: u16,
    process: Child,
    output: Output,
}

/// A port that nobody has now.
///
/// # Panics
/// Where loopback has none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    listener.local_addr().expect("it is bound").port()
}

impl Server {
    /// Starts a server that keeps nothing on disk.
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start(kind: Kind) -> Server {
        Server::start_with(kind, &["--appendonly", "no"])
    }

    /// A Sentinel that watches `primary` under the name `master`, and replaces it once it is silent for half a second.
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start_sentinel(kind: Kind, master: &str, primary: &Server) -> Server {
        let monitor = format!(
            "sentinel monitor {master} 127.0.0.1 {} 1\nsentinel down-after-milliseconds {master} 500\n\
             sentinel failover-timeout {master} 5000\n",
            primary.port
        );
        Server::start_in(kind, Role::Sentinel(monitor), &[])
    }

    /// Starts a server with these arguments besides.
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start_with(kind: Kind, arguments: &[&str]) -> Server {
        Server::start_in(kind, Role::Store, arguments)
    }

    /// Starts a Redis that keeps nothing on disk and whose clock [can be set](Server::set_clock).
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start_with_own_clock() -> Server {
        Server::start_in(Kind::Redis, Role::OwnClock, &["--appendonly", "no"])
    }

    fn start_in(kind: Kind, role: Role, arguments: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder for the server");
        let is_root = folder.path().metadata().expect("it was just made").uid() == 0;
        if is_root {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root may give a folder away");
        }
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        let mut said = String::new();
        for _ in 0..STARTS_MAX {
            let port = free_port();
            role.prepare(folder.path(), is_root);
            let (mut process, output) = spawn(kind, &role, folder.path(), port, &arguments);
            match output.wait_for(role.ready()) {
                Ok(()) => return Server { kind, role, folder, arguments, port, process, output },
                Err(lines) => said = lines,
            }
            end(&mut process);
        }
        panic!("{kind:?} did not start: {said}");
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills the process as a power cut would, and starts it on the same port and folder.
    ///
    /// # Panics
    /// Where it does not come back, with what it said.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Kills the process as a power cut would.
    pub fn kill(&mut self) {
        end(&mut self.process);
    }

    /// Stops the process where it stands, as a machine that hangs: its connections stay open, nothing answers.
    pub fn pause(&self) {
        signal("STOP", &[self.process.id().to_string()]);
    }

    /// Lets a stopped process go on.
    pub fn resume(&self) {
        signal("CONT", &[self.process.id().to_string()]);
    }

    /// Waits until a replica has everything that this primary has now.
    ///
    /// # Panics
    /// Where it does not come to that.
    pub fn wait_for_replica(&self, replica: &Server) {
        // WAIT would ask only for what its own connection wrote.
        let has = self.replication_offset();
        for _ in 0..OFFSETS_MAX {
            if replica.replication_offset() >= has {
                return;
            }
            std::thread::sleep(OFFSET_EVERY);
        }
        panic!("the replica stays at {} of {has}", replica.replication_offset());
    }

    fn replication_offset(&self) -> u64 {
        let info = self.ask("INFO replication");
        let offset = |line: &str| line.strip_prefix("master_repl_offset:")?.trim().parse().ok();
        info.lines().find_map(offset).expect("every server has one")
    }

    /// Cuts a replica off this primary for good: what comes from now on never reaches it.
    ///
    /// # Panics
    /// Where the primary does not say that it had one.
    pub fn leave_behind(&self, replica: &Server) {
        // Stopped, it cannot connect anew.
        replica.pause();
        assert_eq!(self.ask("CLIENT KILL TYPE replica"), ":1", "one replica is cut off");
    }

    /// Sets the clock of a server that has its own, so many seconds before or after the machine's.
    ///
    /// # Panics
    /// Where the server has the machine's clock.
    pub fn set_clock(&self, offset_s: i64) {
        assert!(matches!(self.role, Role::OwnClock), "it has the machine's clock");
        // In one step: half a text would be another time.
        let (new, file) = (self.folder.path().join("clock.new"), self.folder.path().join(CLOCK));
        std::fs::write(&new, format!("{offset_s:+}")).expect("the folder takes a file");
        std::fs::rename(new, file).expect("the folder takes a file");
    }

    /// Where the server keeps its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a killed process on the same port and folder.
    ///
    /// # Panics
    /// Where it does not come back, with what it said.
    pub fn start_again(&mut self) {
        let arguments = &self.arguments;
        (self.process, self.output) =
            spawn(self.kind, &self.role, self.folder.path(), self.port, arguments);
        if let Err(said) = self.output.wait_for(self.role.ready()) {
            panic!("{:?} did not come back: {said}", self.kind);
        }
    }

    /// Waits until the server writes a line that holds `line`.
    ///
    /// # Panics
    /// Where it does not, with what it said.
    pub fn wait_for(&self, line: &str) {
        if let Err(said) = self.output.wait_for(line) {
            panic!("{:?} never said {line:?}: {said}", self.kind);
        }
    }

    /// Sends one command and returns the answer, as it came but for a text's length.
    ///
    /// # Panics
    /// Where the server does not answer.
    pub fn ask(&self, command: &str) -> String {
        text(&mut self.asked(command))
    }

    /// Sends one command whose answer is a list of texts.
    ///
    /// # Panics
    /// Where the server does not answer with one.
    pub fn ask_list(&self, command: &str) -> Vec<String> {
        let mut answer = self.asked(command);
        let head = text(&mut answer);
        let count: usize = head.trim_start_matches('*').parse().expect("the answer is a list");
        (0..count).map(|_| text(&mut answer)).collect()
    }

    fn asked(&self, command: &str) -> BufReader<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        let mut reader = BufReader::new(stream);
        write!(reader.get_mut(), "{command}\r\n").expect("it takes a command");
        reader
    }
}

/// The next line or text of an answer.
fn text(answer: &mut impl BufRead) -> String {
    let mut line = String::new();
    answer.read_line(&mut line).expect("it answers");
    let line = line.trim_end();
    let Some(length) = line.strip_prefix('$').and_then(|length| length.parse::<usize>().ok())
    else {
        return line.to_owned();
    };
    let mut bytes = vec![0; length + 2];
    answer.read_exact(&mut bytes).expect("the whole answer comes");
    bytes.truncate(length);
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// What a process is for.
#[derive(Debug)]
enum Role {
    Store,
    /// Its clock is what a file says.
    OwnClock,
    /// With its configuration, which it rewrites.
    Sentinel(String),
}

/// How far a server's own clock is from the machine's, as libfaketime reads it.
const CLOCK: &str = "clock";

const SENTINEL_FILE: &str = "sentinel.conf";

impl Role {
    fn prepare(&self, folder: &Path, is_root: bool) {
        if matches!(self, Role::OwnClock) {
            std::fs::write(folder.join(CLOCK), "+0").expect("the folder takes a file");
        }
        if let Role::Sentinel(configuration) = self {
            let file = folder.join(SENTINEL_FILE);
            std::fs::write(&file, configuration).expect("the folder takes a file");
            if is_root {
                chown(&file, Some(NOBODY), Some(NOBODY)).expect("root may give a file away");
            }
        }
    }

    fn ready(&self) -> &'static str {
        match self {
            Role::Store | Role::OwnClock => "Ready to accept connections",
            Role::Sentinel(_) => "+monitor master",
        }
    }
}

fn spawn(
    kind: Kind,
    role: &Role,
    folder: &Path,
    port: u16,
    arguments: &[String],
) -> (Child, Output) {
    let mut command = Command::new(kind.program());
    if matches!(role, Role::OwnClock) {
        command
            .env("LD_PRELOAD", fake_clock())
            .env("FAKETIME_TIMESTAMP_FILE", folder.join(CLOCK))
            .env("FAKETIME_NO_CACHE", "1")
            // Its timers run on: a clock that is set does not hurry a server.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
    match role {
        Role::Store | Role::OwnClock => command.args(["--save", ""]),
        Role::Sentinel(_) => command.arg(folder.join(SENTINEL_FILE)).arg("--sentinel"),
    };
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"])
        .arg(folder)
        .args(["--daemonize", "no"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if folder.metadata().expect("the folder is there").uid() == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut process = command.spawn().unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let output = Output::of(process.stdout.take().expect("it is piped"));
    (process, output)
}

/// Ends this very process; one that has ended already is fine.
fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}
