//! What can go wrong with the database, told so that an operator knows which one and what to do.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use jari_ports::ControlError;
use sqlx::migrate::MigrateError;
use thiserror::Error;

use crate::cause::Cause;

/// Why the records could not be opened or copied. Nothing was changed, but for migrations that had already committed. No
/// password is in it.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{0}: use postgres://USER@HOST/DATABASE, or sqlite:PATH")]
    Address(String),
    #[error("the folder {} is missing: make it, or name another data folder", .0.display())]
    FolderMissing(PathBuf),
    #[error("{} is missing", .0.display())]
    FileMissing(PathBuf),
    #[error("{} is there already: nothing is overwritten, choose another name", .0.display())]
    FileExists(PathBuf),
    #[error("{0} is a database, but not Jari's records: give Jari one of its own")]
    Foreign(String),
    #[error(
        "{place} was written by a newer Jari (schema {found}, this one knows {known}): upgrade Jari, or restore an older backup"
    )]
    Newer { place: String, found: i64, known: i64 },
    #[error(
        "{place} was written by an older Jari (schema {found}), whose entries are not chained yet: start this Jari on it once"
    )]
    Older { place: String, found: i64 },
    #[error(
        "schema step {step} of {place} is not the one this Jari was built with: restore a backup"
    )]
    Altered { place: String, step: i64 },
    #[error("{place} has the encoding {encoding}: make a database with UTF8")]
    Encoding { place: String, encoding: String },
    #[error("{place}: {cause}")]
    Database { place: String, cause: Cause },
    #[error("{}: {cause}", .path.display())]
    File { path: PathBuf, cause: std::io::Error },
}

pub(crate) fn is_foreign_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
}

/// An error of the database while it is in use.
pub(crate) fn unavailable(place: &str, error: &sqlx::Error) -> ControlError {
    ControlError::Unavailable(format!("{place}: {}", Cause::from(error)))
}

impl OpenError {
    pub(crate) fn database(place: &dyn Display, error: &sqlx::Error) -> OpenError {
        OpenError::Database { place: place.to_string(), cause: error.into() }
    }

    pub(crate) fn migration(place: &dyn Display, error: &MigrateError, known: i64) -> OpenError {
        let place = place.to_string();
        match error {
            MigrateError::VersionMissing(found) => OpenError::Newer { place, found: *found, known },
            MigrateError::VersionMismatch(step) => OpenError::Altered { place, step: *step },
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                OpenError::Database { place, cause: error.into() }
            }
            other => OpenError::Database { place, cause: Cause::Other(other.to_string()) },
        }
    }

    /// A file operation's error, told as the database would.
    pub(crate) fn file(path: &Path, cause: std::io::Error) -> OpenError {
        use std::io::ErrorKind;
        let told = match cause.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Cause::ReadOnly,
            ErrorKind::StorageFull => Cause::Full,
            ErrorKind::AlreadyExists => return OpenError::FileExists(path.to_owned()),
            _ => return OpenError::File { path: path.to_owned(), cause },
        };
        OpenError::Database { place: path.display().to_string(), cause: told }
    }
}
