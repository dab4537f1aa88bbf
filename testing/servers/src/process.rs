//! Processes of servers: started as an ordinary user, heard until they are ready, ended by number. Knows no server.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// `nobody` and `nogroup` on Debian: some servers refuse root.
const ORDINARY: u32 = 65_534;

/// Longest that a server may take until it says that it is ready.
const READY_MAX: Duration = Duration::from_secs(60);

/// Whether this test runs as root, by who owns a file that it made.
pub(crate) fn is_root(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(folder).expect("the folder is there").uid() == 0
}

/// Gives a folder to the user that [`as_ordinary`] starts processes as.
pub(crate) fn give(folder: &Path) {
    if is_root(folder) {
        std::os::unix::fs::chown(folder, Some(ORDINARY), Some(ORDINARY))
            .expect("root may give its own folder away");
    }
}

/// A command that runs as an ordinary user, in English, and ends with the test's thread however that ends.
pub(crate) fn as_ordinary(program: &Path, root: bool) -> Command {
    let mut command = Command::new("setpriv");
    if root {
        let user = format!("--reuid={ORDINARY}");
        command.args([&user, &format!("--regid={ORDINARY}"), "--clear-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).env_clear().env("LC_ALL", "C");
    command.stdin(Stdio::null());
    command
}

/// A port that was free a moment ago. Whoever loses the race for it takes another.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address has free ports");
    listener.local_addr().expect("it is bound").port()
}

/// A process whose error output is kept.
#[derive(Debug)]
pub(crate) struct Heard {
    child: Child,
    log: Arc<Mutex<String>>,
    lines: Mutex<Receiver<String>>,
}

impl Heard {
    pub(crate) fn start(mut command: Command) -> Heard {
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("setpriv (util-linux) and the server are there");
        let stderr = child.stderr.take().expect("it is piped");
        let (log, (told, lines)) = (Arc::new(Mutex::new(String::new())), channel());
        let kept = log.clone();
        std::thread::spawn(move || keep(stderr, &kept, |line| _ = told.send(line)));
        Heard { child, log, lines: Mutex::new(lines) }
    }

    /// Waits until it says `ready`; `false` where it ends before.
    pub(crate) fn says(&self, ready: &str) -> bool {
        let lines = self.lines.lock().expect("nobody panics with it");
        loop {
            match lines.recv_timeout(READY_MAX) {
                Ok(line) if line.contains(ready) => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("a server is not ready within {READY_MAX:?}:\n{}", self.log());
                }
            }
        }
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by `name`, and waits until it is gone.
    pub(crate) fn end(&mut self, name: &str) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(name, &[self.id().to_string()]);
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal to these processes; those that have ended are passed over.
pub(crate) fn signal(name: &str, ids: &[String]) {
    for id in ids {
        let _ = Command::new("kill").args([&format!("-{name}"), id]).stderr(Stdio::null()).status();
    }
}

fn keep(from: impl Read, log: &Mutex<String>, mut tell: impl FnMut(String)) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let mut log = log.lock().expect("nobody panics with it");
        log.push_str(&line);
        log.push('\n');
        drop(log);
        tell(line);
    }
}
