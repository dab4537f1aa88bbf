//! The trail opened to be checked, beside a running server or without one: reads, and changes nothing. What is right and
//! wrong with it is decided in `core/audit`.

use std::path::Path;
use std::time::Duration;

use jari_audit::{Break, ChainCheck, ChainedEntry, Head};
use sqlx::{AnyConnection, Connection, Row};
use thiserror::Error;

use crate::audit::chained;
use crate::cause::Cause;
use crate::column::signed;
use crate::failure::OpenError;
use crate::schema::{CHAINED, NEWEST};
use crate::server_address::ServerAddress;
use crate::{postgres, sqlite};

/// Entries read at once: a few megabytes at most, and soon enough the next word about how far it is.
const PAGE: i64 = 1_000;

const STEP: &str = "SELECT COALESCE(MAX(version), 0) AS step FROM _sqlx_migrations";

const COUNTED: &str = "SELECT value FROM counters WHERE name = 'audit'";

const NEXT: &str = "SELECT no, at, actor, action, target, was, is_now, form, prev_hash, hash \
                    FROM audit WHERE no >= $1 ORDER BY no LIMIT $2";

const NEWEST_BELOW: &str = "SELECT no, at, actor, action, target, was, is_now, form, prev_hash, hash \
                            FROM audit WHERE no < $1 ORDER BY no DESC LIMIT 1";

/// Why a trail was not found whole.
#[derive(Debug, Error)]
pub enum TrailError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{place}: {broken}")]
    Broken { place: String, broken: Break },
}

/// What a check found to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    pub entries: u64,
    /// The newest entry: the one right before where the check began where nothing is new. `None`: the trail is empty.
    pub head: Option<Head>,
}

/// An audit trail, to be checked.
#[derive(Debug)]
pub struct Trail {
    conn: AnyConnection,
    place: String,
}

impl Trail {
    /// Opens the trail in a file of records.
    ///
    /// # Errors
    /// The file is missing, is no database or not Jari's, or of a version whose entries are not chained.
    pub async fn in_file(path: &Path) -> Result<Trail, OpenError> {
        let conn = sqlite::connect_to_read(path).await?;
        Trail { conn, place: path.display().to_string() }.known().await
    }

    /// Opens the trail on a server, which is waited for at most `wait`.
    ///
    /// # Errors
    /// As [`Trail::in_file`], and where the server does not answer or refuses.
    pub async fn on_server(address: &str, wait: Duration) -> Result<Trail, OpenError> {
        let address = ServerAddress::parse(address)?;
        let conn = postgres::connect_to_read(&address, wait).await?;
        Trail { conn, place: address.place().to_owned() }.known().await
    }

    async fn known(mut self) -> Result<Trail, OpenError> {
        let row = sqlx::query(STEP).fetch_one(&mut self.conn).await;
        let found = match row.and_then(|row| row.try_get::<i64, _>("step")) {
            Ok(found) => found,
            // No such table: nobody made records there yet.
            Err(error) if matches!(Cause::from(&error), Cause::Other(_)) => {
                return Err(OpenError::Foreign(self.place));
            }
            Err(error) => return Err(self.told(&error)),
        };
        match found {
            CHAINED..=NEWEST => Ok(self),
            ..CHAINED => Err(OpenError::Older { place: self.place, found }),
            _ => Err(OpenError::Newer { place: self.place, found, known: NEWEST }),
        }
    }

    /// Hands every entry from where `check` begins to it, in order; `say` is told the number of each page's last entry and
    /// how many there are.
    ///
    /// # Errors
    /// The first thing that is wrong, or why the trail could not be read.
    pub async fn check(
        mut self,
        mut check: ChainCheck,
        mut say: impl FnMut(u64, u64),
    ) -> Result<Checked, TrailError> {
        // Before the entries: those that come meanwhile are then more than were counted, never fewer.
        let counted = self.counted().await?;
        let first = check.next_no();
        // No entry is below the first: one that somebody put there is met before it.
        let mut from = if first == 1 { i64::MIN } else { signed(first) };
        loop {
            let page = self.page(from).await?;
            let Some(last) = page.last() else { break };
            let last = last.entry.no;
            if let Err(broken) = page.iter().try_for_each(|entry| check.take(entry)) {
                return Err(self.broken(broken));
            }
            say(last, counted);
            from = signed(check.next_no());
        }
        let entries = check.next_no() - first;
        let before = if entries == 0 { self.newest_below(first).await? } else { None };
        let head = check.end(counted, before).map_err(|broken| self.broken(broken))?;
        // It only reads: a goodbye that fails is no matter.
        let _ = self.conn.close().await;
        Ok(Checked { entries, head })
    }

    async fn counted(&mut self) -> Result<u64, OpenError> {
        let row = sqlx::query(COUNTED).fetch_optional(&mut self.conn).await;
        let value = row.and_then(|row| row.map_or(Ok(0), |row| row.try_get::<i64, _>("value")));
        // A count below 0 is somebody's hand; no entry is below it either.
        value.map(|value| u64::try_from(value).unwrap_or(0)).map_err(|error| self.told(&error))
    }

    async fn page(&mut self, from: i64) -> Result<Vec<ChainedEntry>, OpenError> {
        let rows = sqlx::query(NEXT).bind(from).bind(PAGE).fetch_all(&mut self.conn).await;
        let page = rows.and_then(|rows| rows.iter().map(chained).collect());
        page.map_err(|error| self.told(&error))
    }

    /// Where a trail ends that has no entry from `no` on: of those that come meanwhile nothing was checked.
    async fn newest_below(&mut self, no: u64) -> Result<Option<Head>, OpenError> {
        let row = sqlx::query(NEWEST_BELOW).bind(signed(no)).fetch_optional(&mut self.conn).await;
        let newest = row.and_then(|row| row.as_ref().map(chained).transpose());
        let newest = newest.map_err(|error| self.told(&error))?;
        Ok(newest.map(|last| Head { no: last.entry.no, hash: last.link.hash }))
    }

    fn told(&self, error: &sqlx::Error) -> OpenError {
        OpenError::database(&self.place, error)
    }

    fn broken(&self, broken: Break) -> TrailError {
        TrailError::Broken { place: self.place.clone(), broken }
    }
}
