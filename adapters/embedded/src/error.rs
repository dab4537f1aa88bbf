//! Why a data folder cannot be opened, with what an operator should do. Errors of single calls are `StoreError`.

use std::path::{Path, PathBuf};

use thiserror::Error;

const RESTORE: &str = "restore a backup, or move the file away and keep it for inspection";

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the data folder {} cannot be used: {source}; check that it exists, its owner and its permissions", dir.display())]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error("the data folder {} is in use by process {pid}; stop it, or give this one its own folder", dir.display())]
    InUse { dir: PathBuf, pid: String },
    #[error("{} is not a file of Jari's: {problem}; move it away or choose another data folder", file.display())]
    Foreign { file: PathBuf, problem: String },
    #[error("{} has format version {found}, this build knows {known}; use the build that wrote it", file.display())]
    Version { file: PathBuf, found: i64, known: i64 },
    #[error("{} is missing, though {beside} was written beside it; put it back or restore a backup. To begin anew, move {beside} away too", file.display())]
    Missing { file: PathBuf, beside: String },
    #[error("{} was removed or replaced while it was in use; stop Jari, then put it back or restore a backup", file.display())]
    Gone { file: PathBuf },
    #[error("{} is damaged at {place}: {problem}; {RESTORE}", file.display())]
    Corrupt { file: PathBuf, place: String, problem: String },
    #[error("{} cannot be read or written: {source}; check the disk, its free space and the file's permissions", file.display())]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("the store's threads cannot be started: {source}")]
    Threads { source: std::io::Error },
}

impl OpenError {
    /// What SQLite said of `file`: a damaged or foreign file is told apart from a disk that refuses.
    pub(crate) fn database(file: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let file = file.to_owned();
        match source.sqlite_error_code() {
            Some(NotADatabase) => {
                OpenError::Foreign { file, problem: "it does not begin as an SQLite file".into() }
            }
            Some(DatabaseCorrupt) => OpenError::Corrupt {
                file,
                place: "an SQLite page".into(),
                problem: source.to_string(),
            },
            _ => OpenError::Database { file, source },
        }
    }

    pub(crate) fn corrupt(file: &Path, place: String, problem: impl Into<String>) -> Self {
        OpenError::Corrupt { file: file.to_owned(), place, problem: problem.into() }
    }
}
