//! What can go wrong with the database, told so that an operator knows which file and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use jari_ports::ControlError;
use sqlx::migrate::MigrateError;
use sqlx::sqlite::SqliteError;
use thiserror::Error;

/// Why the records could not be opened or copied. Nothing was changed, but for migrations that had already committed.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{0:?} is no address of records: use sqlite:PATH")]
    Address(String),
    #[error("the folder {} is missing: make it, or name another data folder", .0.display())]
    FolderMissing(PathBuf),
    #[error("{} is missing", .0.display())]
    FileMissing(PathBuf),
    #[error("{} is there already: nothing is overwritten, choose another name", .0.display())]
    FileExists(PathBuf),
    #[error("{} is a database, but not Jari's records", .0.display())]
    Foreign(PathBuf),
    #[error(
        "{} was written by a newer Jari (schema {found}, this one knows {known}): upgrade Jari, or restore an older backup",
        .path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "schema step {step} of {} is not the one this Jari was built with: restore a backup",
        .path.display()
    )]
    Altered { path: PathBuf, step: i64 },
    #[error("{}: {cause}", .path.display())]
    Database { path: PathBuf, cause: Cause },
    #[error("{}: {cause}", .path.display())]
    File { path: PathBuf, cause: std::io::Error },
}

/// What a database refused, in an operator's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    NotADatabase,
    Corrupt(String),
    Locked,
    Full,
    ReadOnly,
    CannotOpen,
    Other(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::NotADatabase => {
                f.write_str("the file is not a database: restore a backup, or move it away")
            }
            Cause::Corrupt(what) => {
                write!(f, "the file is damaged ({what}): stop Jari and restore a backup")
            }
            Cause::Locked => f.write_str("another process holds the file locked: stop it"),
            Cause::Full => f.write_str("the disk is full: free some space"),
            Cause::ReadOnly => f.write_str("the file or its folder is read-only: allow writing"),
            Cause::CannotOpen => {
                f.write_str("the file cannot be opened: check its folder, permissions and disk")
            }
            Cause::Other(text) => f.write_str(text),
        }
    }
}

/// SQLite's primary result codes (sqlite.org/rescode.html); an extended code has the primary one in its low byte.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
}

impl From<&sqlx::Error> for Cause {
    fn from(error: &sqlx::Error) -> Cause {
        let Some(sqlite) = sqlite_code(error) else {
            return match error {
                sqlx::Error::Decode(what) => Cause::Corrupt(what.to_string()),
                other => Cause::Other(other.to_string()),
            };
        };
        match sqlite & 0xff {
            code::BUSY | code::LOCKED => Cause::Locked,
            code::READONLY => Cause::ReadOnly,
            code::CORRUPT => Cause::Corrupt("a page cannot be read".to_owned()),
            code::FULL => Cause::Full,
            code::CANTOPEN => Cause::CannotOpen,
            code::NOTADB => Cause::NotADatabase,
            _ => Cause::Other(error.to_string()),
        }
    }
}

fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let error = error.as_database_error()?;
    error.try_downcast_ref::<SqliteError>()?;
    error.code()?.parse().ok()
}

pub(crate) fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
}

/// An error of the database while it is in use.
pub(crate) fn unavailable(place: &str, error: &sqlx::Error) -> ControlError {
    ControlError::Unavailable(format!("{place}: {}", Cause::from(error)))
}

impl OpenError {
    pub(crate) fn database(path: &Path, error: &sqlx::Error) -> OpenError {
        OpenError::Database { path: path.to_owned(), cause: error.into() }
    }

    pub(crate) fn migration(path: &Path, error: &MigrateError, known: i64) -> OpenError {
        let path = path.to_owned();
        match error {
            MigrateError::VersionMissing(found) => OpenError::Newer { path, found: *found, known },
            MigrateError::VersionMismatch(step) => OpenError::Altered { path, step: *step },
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                OpenError::Database { path, cause: error.into() }
            }
            other => OpenError::Database { path, cause: Cause::Other(other.to_string()) },
        }
    }

    /// A file operation's error, told as the database would.
    pub(crate) fn file(path: &Path, cause: std::io::Error) -> OpenError {
        use std::io::ErrorKind;
        let path = path.to_owned();
        let told = match cause.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Cause::ReadOnly,
            ErrorKind::StorageFull => Cause::Full,
            ErrorKind::AlreadyExists => return OpenError::FileExists(path),
            _ => return OpenError::File { path, cause },
        };
        OpenError::Database { path, cause: told }
    }
}
