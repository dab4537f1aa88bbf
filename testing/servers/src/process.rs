//! Processes of servers: started as an ordinary user, heard until they are ready, ended by number. Knows no server.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

/// `nobody` and `nogroup` on Debian: some servers refuse root.
const ORDINARY: u32 = 65_534;

/// Longest that a server may take until it says that it is ready.
const READY_MAX: Duration = Duration::from_secs(60);

/// How often a port is tried until somebody listens.
const DIAL_EVERY: Duration = Duration::from_millis(50);

/// Ports below those that connections take theirs from (Linux: 32,768 and above), and above what usually listens.
const LASTING_PORTS: std::ops::Range<u32> = 12_000..30_000;

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
    as_ordinary_until(program, root, "KILL")
}

/// The same for a program that ends its own children only where it is told to end in this way.
pub(crate) fn as_ordinary_until(program: &Path, root: bool, death_signal: &str) -> Command {
    let mut command = Command::new("setpriv");
    if root {
        let user = format!("--reuid={ORDINARY}");
        command.args([&user, &format!("--regid={ORDINARY}"), "--clear-groups"]);
    }
    command.args(["--pdeathsig", death_signal, "--"]).arg(program).env_clear().env("LC_ALL", "C");
    command.stdin(Stdio::null());
    command
}

/// A port that was free a moment ago. Whoever loses the race for it takes another.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address has free ports");
    listener.local_addr().expect("it is bound").port()
}

/// A port that stays free while its server is ended and started again: no connection takes it meanwhile.
///
/// # Panics
/// Where all are taken.
#[must_use]
pub fn lasting_port() -> u16 {
    /// Tests in other processes begin elsewhere.
    const APART: u32 = 61;
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let count = LASTING_PORTS.end - LASTING_PORTS.start;
    let first = std::process::id().wrapping_mul(APART);
    for _ in 0..count {
        let nth = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % count;
        let port = u16::try_from(LASTING_PORTS.start + nth).expect("the range is of ports");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no port of {LASTING_PORTS:?} is free");
}

/// A temporary folder that an ordinary user may pass through.
pub(crate) fn open_folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().expect("a temporary folder can be made");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("the folder is ours");
    folder
}

/// Makes a key and a certificate for 127.0.0.1 that it signed itself, in folders of the ordinary user. On a curve: an RSA
/// key takes a second to find.
pub(crate) fn sign_itself(key: &Path, certificate: &Path, root: bool) {
    let mut openssl = as_ordinary(Path::new("openssl"), root);
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=a test", "-addext", "subjectAltName=IP:127.0.0.1"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(key).arg("-out").arg(certificate).env("PATH", "/usr/bin:/bin");
    finish(&mut openssl);
}

/// Runs a command to its end, and gives its output.
pub(crate) fn finish(command: &mut Command) -> String {
    let output = command.output().expect("setpriv (util-linux) and the program are there");
    let (out, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{out}{error}");
    out.trim_end().to_owned()
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

    /// Waits until somebody listens on this port; `false` where the process ends before.
    pub(crate) fn listens(&mut self, port: u16) -> bool {
        let tries = READY_MAX.as_millis() / DIAL_EVERY.as_millis();
        for _ in 0..tries {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return false;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return true;
            }
            std::thread::sleep(DIAL_EVERY);
        }
        panic!("nobody listens on port {port} within {READY_MAX:?}:\n{}", self.log());
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
