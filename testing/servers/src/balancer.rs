//! Balancers and proxies for tests: a real nginx, Envoy, Caddy or Traefik, with whatever configuration a test writes into its folder.
//! Knows nothing of what they stand before.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Heard, as_ordinary_until, give, is_root, open_folder, sign_itself};

/// Where Debian puts it.
const NGINX: &str = "/usr/sbin/nginx";
/// Relative to the root; below it the folder of the Python version, and `envoy/_bin`.
const ENVOY: &str = "target/tools/envoy/lib";
const CADDY: &str = "target/tools/caddy/bin/caddy";
const TRAEFIK: &str = "target/tools/traefik/bin/traefik";

/// Which balancer a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancerKind {
    Nginx,
    Envoy,
    Caddy,
    Traefik,
}

impl BalancerKind {
    /// The file that it begins with, in its folder.
    #[must_use]
    pub fn main_file(self) -> &'static str {
        match self {
            BalancerKind::Nginx => "nginx.conf",
            BalancerKind::Envoy => "envoy.yaml",
            BalancerKind::Caddy => "Caddyfile",
            BalancerKind::Traefik => "traefik.yaml",
        }
    }

    fn program(self) -> PathBuf {
        let found = match self {
            BalancerKind::Nginx => Some(PathBuf::from(NGINX)).filter(|program| program.exists()),
            BalancerKind::Envoy => envoy(),
            BalancerKind::Caddy => tool(CADDY),
            BalancerKind::Traefik => tool(TRAEFIK),
        };
        found.unwrap_or_else(|| {
            panic!("{self:?} is not installed: `cargo xtask test --only tools` installs it")
        })
    }

    fn command(self, folder: &Path, root: bool) -> Command {
        let (program, main) = (self.program(), folder.join(self.main_file()));
        // nginx ends its workers where it is told to end, not where it is killed.
        let mut command = as_ordinary_until(&program, root, "TERM");
        match self {
            BalancerKind::Nginx => command.arg("-p").arg(folder).arg("-c").arg(main).args([
                "-e",
                "stderr",
                "-g",
                "daemon off;",
            ]),
            BalancerKind::Envoy => command
                .arg("-c")
                .arg(main)
                // Several at once must not share memory; two threads are as many as nginx's workers here.
                .args(["--disable-hot-restart", "--concurrency", "2", "--log-level", "warning"]),
            // It keeps what it had last in the folder that it takes for its user's.
            BalancerKind::Caddy => command
                .args(["run", "--adapter", "caddyfile", "--config"])
                .arg(main)
                .env("HOME", folder),
            BalancerKind::Traefik => {
                command.arg(format!("--configfile={}", main.display())).env("HOME", folder)
            }
        };
        command
    }
}

fn envoy() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let versions = std::fs::read_dir(root.join(ENVOY)).ok()?;
    let within = "site-packages/envoy/_bin/envoy";
    versions.flatten().map(|version| version.path().join(within)).find(|program| program.exists())
}

/// A program that is in a wheel by itself.
fn tool(within: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    Some(root.join(within)).filter(|program| program.exists())
}

/// A balancer at work; ended when it is dropped.
#[derive(Debug)]
pub struct Balancer {
    running: Heard,
    folder: TempDir,
}

impl Balancer {
    /// Starts one in a folder that `write` puts its configuration into, and waits until it listens on `port`. The folder has
    /// a certificate for 127.0.0.1 as `tls/fullchain.pem` and `tls/privkey.pem`.
    ///
    /// # Panics
    /// Where it cannot be started, with what it said.
    #[must_use]
    pub fn start(kind: BalancerKind, port: u16, write: impl FnOnce(&Path)) -> Balancer {
        let folder = open_folder();
        let root = is_root(folder.path());
        let tls = folder.path().join("tls");
        std::fs::create_dir(&tls).expect("the folder is ours");
        give(&tls);
        sign_itself(&tls.join("privkey.pem"), &tls.join("fullchain.pem"), root);
        write(folder.path());
        give_all(folder.path());
        let mut running = Heard::start(kind.command(folder.path(), root));
        assert!(running.listens(port), "{kind:?} does not start:\n{}", running.log());
        Balancer { running, folder }
    }

    /// The folder with its configuration.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it wrote to its error output so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.running.end("TERM");
    }
}

/// Gives a folder and everything in it to the ordinary user.
fn give_all(folder: &Path) {
    give(folder);
    for entry in std::fs::read_dir(folder).expect("the folder can be read").flatten() {
        if entry.path().is_dir() {
            give_all(&entry.path());
        } else {
            give(&entry.path());
        }
    }
}
