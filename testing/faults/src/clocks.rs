//! Clocks that are wrong, for one process: Debian's libfaketime, loaded before the program. Steady clocks stay as they are,
//! as on a machine whose time of day is set.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Below it a folder for each processor architecture.
const LIBRARIES: &str = "/usr/lib";
const WITHIN: &str = "faketime/libfaketime.so.1";
/// The file that says by how many seconds a clock is off.
const FILE: &str = "clock";

fn library() -> Result<PathBuf> {
    let folders = std::fs::read_dir(LIBRARIES).context("there are no libraries")?;
    let mut found = folders.flatten().map(|folder| folder.path().join(WITHIN));
    found
        .find(|library| library.exists())
        .context("libfaketime is not installed: `cargo xtask faults` installs it")
}

/// A clock that can be set while its process runs.
#[derive(Clone, Debug)]
pub(crate) struct WrongClock {
    file: PathBuf,
    library: PathBuf,
}

impl WrongClock {
    /// Off by so many seconds, for a process that may read `folder`.
    ///
    /// # Errors
    /// Where libfaketime is not installed, or the folder cannot be written.
    pub(crate) fn off_by(folder: &Path, seconds: i64) -> Result<WrongClock> {
        let clock = WrongClock { file: folder.join(FILE), library: library()? };
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
        let text = |path: &Path| path.display().to_string();
        let pairs = [
            ("LD_PRELOAD", text(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", text(&self.file)),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            // Nothing is shared with other processes of the machine.
            ("FAKETIME_DISABLE_SHM", "1".to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}
