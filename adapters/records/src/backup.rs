//! A consistent copy of the database, taken while it is in use or not.

use std::path::Path;

use sqlx::Connection;

use crate::Records;
use crate::failure::OpenError;
use crate::sqlite::{Connecting, connect, create_private};

impl Records {
    /// Copies the database at `path` to the new file `to`: everything that was committed before, nothing half. Another
    /// process may go on writing meanwhile. The copy is on the disk when this answers, and only its owner may read it.
    ///
    /// # Errors
    /// `to` exists or cannot be written (what was begun is removed), or `path` is no readable database.
    pub async fn backup(path: &Path, to: &Path) -> Result<(), OpenError> {
        if !path.is_file() {
            return Err(OpenError::FileMissing(path.to_owned()));
        }
        create_private(to)?;
        let copied = copy(path, to).await;
        if copied.is_err() {
            // The copy is worthless; that it stays behind matters less than why it failed.
            let _ = std::fs::remove_file(to);
        }
        copied
    }
}

async fn copy(path: &Path, to: &Path) -> Result<(), OpenError> {
    let mut conn = connect(path, Connecting::default()).await?;
    // SQLite writes into a file that exists as long as it is empty.
    let vacuum = sqlx::query("VACUUM INTO $1").bind(to.display().to_string());
    let done = vacuum.execute(&mut conn).await;
    done.map_err(|error| OpenError::database(&to.display(), &error))?;
    conn.close().await.map_err(|error| OpenError::database(&path.display(), &error))?;
    // SQLite does not sync what VACUUM INTO writes.
    let file = std::fs::File::open(to).map_err(|error| OpenError::file(to, error))?;
    file.sync_all().map_err(|error| OpenError::file(to, error))
}
