//! One server process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::Kind;
use crate::output::Output;

/// Somebody else may take a port between looking and starting.
const STARTS_MAX: usize = 5;

/// Debian's `nobody`: what a test that runs as root starts servers as.
const NOBODY: u32 = 65_534;

const READY: &str = "Ready to accept connections";

/// A running server. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    folder: TempDir,
    arguments: Vec<String>,
    port: u16,
    process: Child,
    output: Output,
}

/// A port that nobody has now.
pub(crate) fn free_port() -> u16 {
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

    /// Starts a server with these arguments besides.
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start_with(kind: Kind, arguments: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder for the server");
        let is_root = folder.path().metadata().expect("it was just made").uid() == 0;
        if is_root {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("root may give a folder away");
        }
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        let mut said = String::new();
        for _ in 0..STARTS_MAX {
            let port = free_port();
            let (mut process, output) = spawn(kind, folder.path(), port, &arguments, is_root);
            match output.wait_for(READY) {
                Ok(()) => return Server { kind, folder, arguments, port, process, output },
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

    /// Starts a killed process on the same port and folder.
    ///
    /// # Panics
    /// Where it does not come back, with what it said.
    pub fn start_again(&mut self) {
        let is_root = self.folder.path().metadata().expect("the folder is there").uid() == NOBODY;
        let arguments = &self.arguments;
        (self.process, self.output) =
            spawn(self.kind, self.folder.path(), self.port, arguments, is_root);
        if let Err(said) = self.output.wait_for(READY) {
            panic!("{:?} did not come back: {said}", self.kind);
        }
    }

    pub(crate) fn wait_for(&self, line: &str) {
        if let Err(said) = self.output.wait_for(line) {
            panic!("{:?} never said {line:?}: {said}", self.kind);
        }
    }

    /// Sends one command and returns the answer as it came.
    ///
    /// # Panics
    /// Where the server does not answer.
    pub fn ask(&self, command: &str) -> String {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        let mut reader = BufReader::new(stream);
        write!(reader.get_mut(), "{command}\r\n").expect("it takes a command");
        let mut answer = String::new();
        reader.read_line(&mut answer).expect("it answers");
        if let Some(length) = answer.strip_prefix('$').and_then(|rest| rest.trim().parse().ok()) {
            let mut bytes = vec![0; length];
            reader.read_exact(&mut bytes).expect("the whole answer comes");
            answer = String::from_utf8_lossy(&bytes).into_owned();
        }
        answer.trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn spawn(
    kind: Kind,
    folder: &Path,
    port: u16,
    arguments: &[String],
    as_nobody: bool,
) -> (Child, Output) {
    let mut command = Command::new(kind.program());
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(folder)
        .args(["--daemonize", "no"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if as_nobody {
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
