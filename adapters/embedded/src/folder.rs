//! The data folder: where the store's files lie, and the lock that keeps a second process out.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::OpenError;

const LOCK: &str = "jari.lock";
const JOURNAL: &str = "journal.db";
const CHECKPOINTS: &str = "checkpoints.db";

pub(crate) fn journal_file(dir: &Path) -> PathBuf {
    dir.join(JOURNAL)
}

pub(crate) fn checkpoints_file(dir: &Path) -> PathBuf {
    dir.join(CHECKPOINTS)
}

/// The folder's lock; the system releases it with the process, however that ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Makes the folder where it is missing, and locks it.
    pub(crate) fn take(dir: &Path) -> Result<FolderLock, OpenError> {
        let fail = |source| OpenError::Folder { dir: dir.to_owned(), source };
        std::fs::create_dir_all(dir).map_err(fail)?;
        // Not truncated on opening: until the lock is ours, the number in it is another process's.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(LOCK))
            .map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { dir: dir.to_owned(), pid: owner(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(fail(source)),
        }
        note_owner(&mut file).map_err(fail)?;
        Ok(FolderLock { _file: file })
    }
}

fn owner(file: &mut File) -> String {
    let mut pid = String::new();
    let read = file.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
    if read { pid.trim().to_owned() } else { "unknown".to_owned() }
}

fn note_owner(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    file.flush()
}
