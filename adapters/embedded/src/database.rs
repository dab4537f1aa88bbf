//! Opening an SQLite file of Jari's: its marks, its schema and how it syncs. Knows no table.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::OpenError;
use crate::limits::{BUSY, WAL_KEEP_BYTES};

/// SQLite's application id of all of Jari's files: "Jari".
const APPLICATION_ID: i64 = 0x4a61_7269;

/// One of the store's two files: its schema and the version of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) version: i64,
    pub(crate) schema: &'static str,
}

/// An open file and where it lies, for messages.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) sqlite: Connection,
    pub(crate) file: PathBuf,
}

impl Database {
    /// Opens the file to write, making it where it is missing.
    pub(crate) fn open(file: PathBuf, layout: Layout) -> Result<Database, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = Connection::open_with_flags(&file, flags)
            .map_err(|error| OpenError::database(&file, error))?;
        let database = Database { sqlite, file };
        if database.is_new().map_err(|error| database.error(error))? {
            database.create(layout).map_err(|error| database.error(error))?;
        }
        database.check(layout)?;
        database.set_up().map_err(|error| database.error(error))?;
        Ok(database)
    }

    /// Opens an existing file to read it, beside a process that may be writing it.
    pub(crate) fn open_to_read(file: PathBuf, layout: Layout) -> Result<Database, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = Connection::open_with_flags(&file, flags)
            .map_err(|error| OpenError::database(&file, error))?;
        let database = Database { sqlite, file };
        database.sqlite.busy_timeout(BUSY).map_err(|error| database.error(error))?;
        database.check(layout)?;
        Ok(database)
    }

    pub(crate) fn error(&self, error: rusqlite::Error) -> OpenError {
        OpenError::database(&self.file, error)
    }

    fn pragma(&self, name: &str) -> rusqlite::Result<i64> {
        self.sqlite.pragma_query_value(None, name, |row| row.get(0))
    }

    fn is_new(&self) -> rusqlite::Result<bool> {
        let tables: i64 =
            self.sqlite.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok(tables == 0 && self.pragma("application_id")? == 0)
    }

    fn create(&self, layout: Layout) -> rusqlite::Result<()> {
        self.sqlite.pragma_update(None, "journal_mode", "WAL")?;
        let Layout { version, schema } = layout;
        // One transaction, marks included: a crash in between leaves a file that is still new.
        self.sqlite.execute_batch(&format!(
            "BEGIN IMMEDIATE; {schema} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}; COMMIT;"
        ))
    }

    fn check(&self, layout: Layout) -> Result<(), OpenError> {
        let application = self.pragma("application_id").map_err(|error| self.error(error))?;
        if application != APPLICATION_ID {
            let problem = format!("its application id is {application:#x}");
            return Err(OpenError::Foreign { file: self.file.clone(), problem });
        }
        let found = self.pragma("user_version").map_err(|error| self.error(error))?;
        if found != layout.version {
            let file = self.file.clone();
            return Err(OpenError::Version { file, found, known: layout.version });
        }
        Ok(())
    }

    fn set_up(&self) -> rusqlite::Result<()> {
        self.sqlite.busy_timeout(BUSY)?;
        self.sqlite.pragma_update(None, "journal_mode", "WAL")?;
        // FULL syncs the log at every commit: an answer is on the disk before it is given (A2).
        self.sqlite.pragma_update(None, "synchronous", "FULL")?;
        self.sqlite.pragma_update(None, "journal_size_limit", WAL_KEEP_BYTES)?;
        self.sqlite.pragma_update(None, "temp_store", "MEMORY")
    }
}

/// SQLite's integers are signed; the line's numbers stay below 2^53 and times below 2^63.
pub(crate) fn sql(number: u64) -> i64 {
    i64::try_from(number).expect("numbers of the line are below 2^63")
}

/// The check sum of a stored body. The name is part of it, so that a row under another name is found out.
pub(crate) fn crc(name: &str, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(name.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// The folder a file lies in, for messages about free space.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(file)
}
