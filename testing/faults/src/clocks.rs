//! Clocks that are wrong, for one process: Debian's libfaketime, loaded before the program. Steady clocks stay as they are,
//! as on a machine whose time of day is set.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Below it a folder for each processor architecture.
const LIBRARIES: &str = "/usr/lib";
const WITHIN: &str = "faketime/libfaketime.so.1";
/// Beside that folder. Redis's allocator asks for the time before libfaketime is ready, and neither gets any further: with
/// the system's allocator before it, it is never asked for memory.
const ALLOCATOR: &str = "libc.so.6";
/// The file that says by how many seconds a clock is off.
const FILE: &str = "clock";

/// What is to be loaded before a program whose clock is wrong.
fn libraries() -> Result<String> {
    let folders = std::fs::read_dir(LIBRARIES).context("there are no libraries")?;
    let mut folders = folders.flatten().map(|folder| folder.path());
    let folder = folders
        .find(|folder| folder.join(WITHIN).exists())
        .context("libfaketime is not installed: `cargo xtask faults` installs it")?;
    Ok(format!("{}:{}", folder.join(WITHIN).display(), folder.join(ALLOCATOR).display()))
}

/// A clock that can be set while its process runs.
#[derive(Clone, Debug)]
pub(crate) struct WrongClock {
    file: PathBuf,
    libraries: String,
}

impl WrongClock {
    /// Off by so many seconds, for a process that may read `folder`.
    ///
    /// # Errors
    /// Where libfaketime is not installed, or the folder cannot be written.
    pub(crate) fn off_by(folder: &Path, seconds: i64) -> Result<WrongClock> {
        let clock = WrongClock { file: folder.join(FILE), libraries: libraries()? };
        clock.set(seconds)?;
        Ok(clock)
    }

    /// # Errors
    /// Where its file cannot be written.
    pub(crate) fn set(&self, seconds: i64) -> Result<()> {
        // Written beside and moved, so that nobody reads half of it.
        let beside = self.file.with_extension("new");
        std::fs::write(&beside, format!("{seconds:+}\n")).context("the clock cannot be set")?;
        std::fs::rename(&beside, &self.file).context("the clock cannot be set")
    }

    /// What its process is started with.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let pairs = [
            ("LD_PRELOAD", self.libraries.clone()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}
