//! A consistent copy of a store's files, running or stopped, and the proof that it can be read. Copies no control data.

use std::path::{Path, PathBuf};

use rusqlite::params;
use thiserror::Error;

use crate::checkpoints::Checkpoints;
use crate::database::{Database, Layout};
use crate::folder::{checkpoints_file, journal_file};
use crate::journal::Journal;
use crate::limits::Tuning;
use crate::restart::load;
use crate::{OpenError, checkpoints, journal};

/// Copies made at most: only a room made again, or recovered, between the two files' copies asks for another.
const TRIES: u32 = 3;

#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{} already holds a store; choose an empty folder", to.display())]
    Occupied { to: PathBuf },
    #[error("there is no store in {}; name the data folder", dir.display())]
    NoStore { dir: PathBuf },
    #[error("the backup folder {} cannot be written: {source}", to.display())]
    Target { to: PathBuf, source: std::io::Error },
    #[error("the store cannot be read: {0}")]
    Source(OpenError),
    #[error("the copy cannot be read back, so it is no backup: {0}")]
    Copy(OpenError),
}

/// Copies the store in `dir` to the folder `to`, which is made where it is missing, and reads the copy back.
///
/// The journal is copied before the checkpoints. The writer deletes journal rows only after the checkpoint that covers
/// them is durable, so a checkpoint copied later covers every row that the earlier copy of the journal lacks; rows that
/// it covers and the copy still has are skipped when it is opened. The other way round, rows could go between an old
/// checkpoint and a later journal.
///
/// # Errors
/// [`BackupError`]; what was copied so far is removed.
pub fn backup(dir: &Path, to: &Path) -> Result<(), BackupError> {
    let fail = |source| BackupError::Target { to: to.to_owned(), source };
    if !journal_file(dir).is_file() {
        return Err(BackupError::NoStore { dir: dir.to_owned() });
    }
    if journal_file(to).exists() || checkpoints_file(to).exists() {
        return Err(BackupError::Occupied { to: to.to_owned() });
    }
    std::fs::create_dir_all(to).map_err(fail)?;
    let mut outcome = copy_and_check(dir, to);
    for _ in 1..TRIES {
        if !matches!(outcome, Err(BackupError::Copy(_))) {
            break;
        }
        remove(to);
        outcome = copy_and_check(dir, to);
    }
    if outcome.is_err() {
        remove(to);
    }
    outcome?;
    // The names are durable only with their folder.
    std::fs::File::open(to).and_then(|folder| folder.sync_all()).map_err(fail)
}

fn copy_and_check(dir: &Path, to: &Path) -> Result<(), BackupError> {
    copy(journal_file(dir), &journal_file(to), journal::LAYOUT)?;
    copy(checkpoints_file(dir), &checkpoints_file(to), checkpoints::LAYOUT)?;
    let readable = || -> Result<(), OpenError> {
        let journal = Journal::open(to, &Tuning::default())?;
        journal.mark_copy().map_err(|error| journal.database.error(error))?;
        load(&journal, &Checkpoints::open(to)?).map(drop)
    };
    readable().map_err(BackupError::Copy)
}

fn copy(from: PathBuf, to: &Path, layout: Layout) -> Result<(), BackupError> {
    let source = Database::open_to_read(from, layout).map_err(BackupError::Source)?;
    // One read transaction: a copy of one moment, beside which the writer goes on.
    source
        .sqlite
        .execute("VACUUM INTO ?1", params![to.to_string_lossy()])
        .map_err(|error| BackupError::Source(source.error(error)))?;
    let sync = std::fs::File::open(to).and_then(|file| file.sync_all());
    sync.map_err(|source| BackupError::Target { to: to.to_owned(), source })
}

/// Takes back what was copied; a file that will not go is in the operator's way next time, and named then.
fn remove(to: &Path) {
    for file in [journal_file(to), checkpoints_file(to)] {
        for suffix in ["", "-wal", "-shm"] {
            let mut name = file.clone().into_os_string();
            name.push(suffix);
            let _ = std::fs::remove_file(name);
        }
    }
}
