//! Opening a SQLite file: who may read it, how SQLite is to treat it, and its schema.

use std::fs;
use std::path::Path;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Row};

use crate::Records;
use crate::cause::Cause;
use crate::failure::OpenError;
use crate::open::{ACQUIRE_TIMEOUT, CONNECTIONS_MAX};
use crate::pool::Calls;
use crate::schema::{self, Dialect};

/// How long a write waits for another's to end, in ms: far above any write here, far below an operator's patience.
const BUSY_TIMEOUT_MS: u32 = 5_000;

/// Tables whose pages are read through at the start, so that damage shows before anybody depends on it.
const CHECKS: [&str; 5] = [
    "PRAGMA quick_check('limit_groups')",
    "PRAGMA quick_check('rooms')",
    "PRAGMA quick_check('api_keys')",
    "PRAGMA quick_check('signing_keys')",
    "PRAGMA quick_check('site_keys')",
];

/// How connections are made; differs from the default only in this crate's tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connecting {
    pub(crate) connections: u32,
    pub(crate) busy_timeout_ms: u32,
}

impl Default for Connecting {
    fn default() -> Self {
        Connecting { connections: CONNECTIONS_MAX, busy_timeout_ms: BUSY_TIMEOUT_MS }
    }
}

impl Records {
    /// Opens the file, makes it where it is missing, and brings its schema up to date. It and its companions (`-wal`,
    /// `-shm`) hold signing keys: only their owner may read them.
    pub(crate) async fn open_file(
        path: &Path,
        connecting: Connecting,
    ) -> Result<Records, OpenError> {
        make_private(path)?;
        // The first connection stands alone, so that its errors are told and not retried by the pool.
        let mut first = connect(path, connecting).await?;
        refuse_foreign(&mut first, path).await?;
        let migrated = schema::migrate(&mut first, Dialect::Sqlite, schema::NEWEST).await;
        migrated.map_err(|error| OpenError::migration(&path.display(), &error, schema::NEWEST))?;
        check_pages(&mut first, path).await?;
        let pool = pool(path, connecting);
        first.close().await.map_err(|error| OpenError::database(&path.display(), &error))?;
        Ok(Records { pool, place: path.display().to_string(), calls: Calls::default() })
    }
}

/// Makes the file where it is missing, for its owner only, and tightens one that others may read. SQLite gives the
/// companions the file's permissions.
fn make_private(path: &Path) -> Result<(), OpenError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        return Err(OpenError::FolderMissing(folder.to_owned()));
    }
    match create_private(path) {
        Ok(()) => Ok(()),
        Err(OpenError::FileExists(_)) => tighten(path),
        Err(error) => Err(error),
    }
}

/// Makes a new file that only its owner may read.
pub(crate) fn create_private(path: &Path) -> Result<(), OpenError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| OpenError::file(path, error))?;
    Ok(())
}

fn tighten(path: &Path) -> Result<(), OpenError> {
    #[cfg(unix)]
    for end in ["", "-wal", "-shm"] {
        use std::os::unix::fs::PermissionsExt;
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        let file = Path::new(&file);
        let Ok(found) = fs::metadata(file) else { continue };
        if found.is_file() && found.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600))
                .map_err(|error| OpenError::file(file, error))?;
        }
    }
    Ok(())
}

/// One connection, with SQLite set to keep what it acknowledged through a power cut.
pub(crate) async fn connect(
    path: &Path,
    connecting: Connecting,
) -> Result<AnyConnection, OpenError> {
    let told = |error: sqlx::Error| OpenError::database(&path.display(), &error);
    let mut conn = options(path).connect().await.map_err(told)?;
    prepare(&mut conn, connecting).await.map_err(told)?;
    Ok(conn)
}

/// One connection that changes nothing, not even how the file is kept: to look at a copy that is evidence.
pub(crate) async fn connect_to_read(path: &Path) -> Result<AnyConnection, OpenError> {
    let told = |error: sqlx::Error| OpenError::database(&path.display(), &error);
    if !path.is_file() {
        return Err(OpenError::FileMissing(path.to_owned()));
    }
    let mut conn = options_with(path, "?mode=ro").connect().await.map_err(told)?;
    let patient = format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(patient)).execute(&mut conn).await.map_err(told)?;
    refuse_foreign(&mut conn, path).await?;
    Ok(conn)
}

async fn prepare(conn: &mut AnyConnection, connecting: Connecting) -> Result<(), sqlx::Error> {
    let busy = format!("PRAGMA busy_timeout = {}", connecting.busy_timeout_ms);
    sqlx::raw_sql(sqlx::AssertSqlSafe(busy)).execute(&mut *conn).await?;
    let durable = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";
    sqlx::raw_sql(durable).execute(&mut *conn).await?;
    Ok(())
}

fn pool(path: &Path, connecting: Connecting) -> AnyPool {
    AnyPoolOptions::new()
        .max_connections(connecting.connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(move |conn, _| Box::pin(prepare(conn, connecting)))
        .connect_lazy_with(options(path))
}

fn options(path: &Path) -> AnyConnectOptions {
    options_with(path, "")
}

fn options_with(path: &Path, parameters: &str) -> AnyConnectOptions {
    sqlx::any::install_default_drivers();
    // A path is no URL: every byte that could mean something in one is written as %XX.
    let mut url = String::from("sqlite:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                url.push(char::from(*byte));
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url.push_str(parameters);
    url.parse().expect("an escaped path after a scheme is a URL")
}

async fn refuse_foreign(conn: &mut AnyConnection, path: &Path) -> Result<(), OpenError> {
    let count = "SELECT COUNT(*) AS tables, \
                 COALESCE(SUM(CASE WHEN name = '_sqlx_migrations' THEN 1 ELSE 0 END), 0) AS ours \
                 FROM sqlite_master WHERE type = 'table'";
    let told = |error: sqlx::Error| OpenError::database(&path.display(), &error);
    let row = sqlx::query(count).fetch_one(conn).await.map_err(told)?;
    let tables: i64 = row.try_get("tables").map_err(told)?;
    let ours: i64 = row.try_get("ours").map_err(told)?;
    if tables > 0 && ours == 0 {
        return Err(OpenError::Foreign(path.display().to_string()));
    }
    Ok(())
}

async fn check_pages(conn: &mut AnyConnection, path: &Path) -> Result<(), OpenError> {
    let told = |error: sqlx::Error| OpenError::database(&path.display(), &error);
    for check in CHECKS {
        let row = sqlx::query(check).fetch_one(&mut *conn).await.map_err(told)?;
        let found: String = row.try_get(0).map_err(told)?;
        if found != "ok" {
            let cause = Cause::Corrupt(found);
            return Err(OpenError::Database { place: path.display().to_string(), cause });
        }
    }
    Ok(())
}
