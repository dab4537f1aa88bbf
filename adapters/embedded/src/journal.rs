//! The journal file: one row an event, written in one commit a batch. Decides nothing and holds no room.

use std::path::Path;
use std::sync::Arc;

use jari_line::{Change, Event, Group, RoomEvent};
use jari_units::{EventNo, GroupId, Incarnation, RoomId};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::OpenError;
use crate::database::{Database, Layout, crc, sql};
use crate::file_mark::FileMark;
use crate::folder::journal_file;
use crate::limits::{PROBE_BYTES, Tuning};

pub(crate) const LAYOUT: Layout = Layout {
    version: 1,
    schema: "
    CREATE TABLE room (
        id TEXT PRIMARY KEY,
        -- The newest incarnation, kept after deletion so that a re-created room's is above it.
        incarnation INTEGER NOT NULL,
        alive INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE journal (
        room TEXT NOT NULL,
        incarnation INTEGER NOT NULL,
        event_no INTEGER NOT NULL,
        format INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (room, incarnation, event_no)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE limit_group (
        id TEXT PRIMARY KEY,
        format INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE probe (no INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
    ",
};

/// Version of the bodies: postcard of `RoomEvent` and [`StoredGroup`].
pub(crate) const FORMAT: i64 = 1;

/// With the events of a recovery as well. Each row has the oldest version that holds it, so that an older Jari still opens
/// what it can read, and names the version where it cannot.
const RECOVERY_FORMAT: i64 = 2;

/// The newest version of events: with modes, what a room sees of its traffic, and redeemed tokens.
pub(crate) const EVENT_FORMAT: i64 = 3;

/// The version that an event needs.
pub(crate) fn event_format(event: &Event) -> i64 {
    match event {
        Event::WalkedIn(_) | Event::Flowed(_) | Event::Signalled(_) | Event::Redeemed { .. } => {
            EVENT_FORMAT
        }
        Event::Created { settings, .. } if settings.use_modes() => EVENT_FORMAT,
        Event::Recovering(recovering)
            if recovering.settings.as_ref().is_some_and(|settings| settings.use_modes()) =>
        {
            EVENT_FORMAT
        }
        Event::Changed { change, .. } => match change.as_ref() {
            Change::Settings(settings) if settings.use_modes() => EVENT_FORMAT,
            _ => FORMAT,
        },
        Event::Recovering(_)
        | Event::Restored(_)
        | Event::Reattached(_)
        | Event::Settled(_)
        | Event::Attended { .. } => RECOVERY_FORMAT,
        _ => FORMAT,
    }
}

/// A table that only a backup's journal has: whoever opens it knows that these files are older than what people were told.
const COPY_MARK: &str = "backup_copy";

/// A room's line in the `room` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoomRow {
    pub(crate) id: RoomId,
    pub(crate) incarnation: Incarnation,
    pub(crate) alive: bool,
}

/// A limit group as stored: its state and its member rooms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredGroup {
    pub(crate) group: Group,
    pub(crate) members: Vec<RoomId>,
}

/// Rows of one history that nobody needs: those below `below`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Garbage {
    pub(crate) room: RoomId,
    pub(crate) incarnation: Incarnation,
    /// Rows below this number go; the one at a checkpoint stays, so that a missing or older checkpoint shows as a gap.
    pub(crate) below: EventNo,
}

/// What one commit writes.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) events: Vec<(RoomId, Arc<RoomEvent>)>,
    pub(crate) rooms: Vec<RoomRow>,
    pub(crate) groups: Vec<(GroupId, StoredGroup)>,
}

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.rooms.is_empty() && self.groups.is_empty()
    }
}

/// A row of the journal as read.
#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) event_no: EventNo,
    pub(crate) format: i64,
    pub(crate) crc: i64,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) database: Database,
    /// The file as it was opened.
    opened: Option<FileMark>,
}

impl Journal {
    pub(crate) fn open(dir: &Path, tuning: &Tuning) -> Result<Journal, OpenError> {
        let database = Database::open(journal_file(dir), LAYOUT)?;
        // 0xfffffffe is SQLite's own bound.
        let pages = tuning.pages_max().unwrap_or(0xffff_fffe);
        let set = database.sqlite.pragma_update(None, "max_page_count", pages);
        match set {
            // This pragma answers with the bound it set.
            Ok(()) | Err(rusqlite::Error::ExecuteReturnedResults) => {
                let opened = FileMark::of(&database.file);
                Ok(Journal { database, opened })
            }
            Err(error) => Err(database.error(error)),
        }
    }

    /// Opens it again after trouble. Makes none: where it is gone, an empty one would pass for it.
    pub(crate) fn open_again(dir: &Path, tuning: &Tuning) -> Result<Journal, OpenError> {
        let file = journal_file(dir);
        if FileMark::of(&file).is_none() {
            return Err(OpenError::Gone { file });
        }
        Journal::open(dir, tuning)
    }

    /// Whether the file is still where it was opened: SQLite would go on writing to one that was removed.
    ///
    /// # Errors
    /// [`OpenError::Gone`].
    pub(crate) fn check_place(&self) -> Result<(), OpenError> {
        let file = &self.database.file;
        if self.opened.is_some() && FileMark::of(file) == self.opened {
            return Ok(());
        }
        Err(OpenError::Gone { file: file.clone() })
    }

    /// Writes a batch and deletes up to `purge_rows` rows of `garbage`, in one commit. Answers the bytes of each event,
    /// in order, and whether garbage is left.
    pub(crate) fn commit(
        &mut self,
        draft: &Draft,
        garbage: Option<(&Garbage, u64)>,
    ) -> rusqlite::Result<(Vec<u64>, bool)> {
        let transaction = self
            .database
            .sqlite
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let sizes = write_events(&transaction, &draft.events)?;
        for row in &draft.rooms {
            write_room(&transaction, row)?;
        }
        for (id, group) in &draft.groups {
            write_group(&transaction, id, group)?;
        }
        let left = match garbage {
            Some((garbage, rows)) => purge(&transaction, garbage, rows)?,
            None => false,
        };
        transaction.commit()?;
        Ok((sizes, left))
    }

    /// Marks a backup's file, so that it is not taken for the store it was copied from.
    pub(crate) fn mark_copy(&self) -> rusqlite::Result<()> {
        self.database.sqlite.execute_batch(&format!("CREATE TABLE {COPY_MARK} (no INTEGER) STRICT"))
    }

    pub(crate) fn is_copy(&self) -> Result<bool, OpenError> {
        let query = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
        let marks = self.database.sqlite.query_row(query, [COPY_MARK], |row| row.get::<_, i64>(0));
        marks.map(|marks| marks > 0).map_err(|error| self.database.error(error))
    }

    /// Writes what a restored copy begins with, and takes its mark away, in one commit.
    pub(crate) fn commit_as_original(&mut self, draft: &Draft) -> Result<(), OpenError> {
        let sqlite = &mut self.database.sqlite;
        let written = sqlite.transaction().and_then(|transaction| {
            write_events(&transaction, &draft.events)?;
            for row in &draft.rooms {
                write_room(&transaction, row)?;
            }
            transaction.execute_batch(&format!("DROP TABLE {COPY_MARK}"))?;
            transaction.commit()
        });
        written.map_err(|error| self.database.error(error))
    }

    /// Whether the disk takes writes: writes and takes back some bytes, each durably.
    pub(crate) fn probe(&self) -> rusqlite::Result<()> {
        let sqlite = &self.database.sqlite;
        sqlite.execute("INSERT INTO probe (body) VALUES (zeroblob(?1))", [PROBE_BYTES])?;
        sqlite.execute("DELETE FROM probe", []).map(drop)
    }

    pub(crate) fn rooms(&self) -> Result<Vec<RoomRow>, OpenError> {
        let rows = self.rows("SELECT id, incarnation, alive FROM room ORDER BY id", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
        })?;
        let room = |(id, incarnation, alive): (String, i64, bool)| {
            let place = format!("table room, row {id}");
            let corrupt = |problem: &str| OpenError::corrupt(&self.database.file, place, problem);
            match (id.parse(), u64::try_from(incarnation)) {
                (Ok(id), Ok(incarnation)) => Ok(RoomRow { id, incarnation, alive }),
                (Err(error), _) => Err(corrupt(&error.to_string())),
                (_, Err(_)) => Err(corrupt("a negative incarnation")),
            }
        };
        rows.into_iter().map(room).collect()
    }

    pub(crate) fn groups(&self) -> Result<Vec<(GroupId, StoredGroup)>, OpenError> {
        let rows = self.rows("SELECT id, format, crc, body FROM limit_group", |row| {
            let head = (row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
            Ok((head, row.get::<_, Vec<u8>>(3)?))
        })?;
        let file = &self.database.file;
        let group = |((id, format, sum), body): ((String, i64, i64), Vec<u8>)| {
            if format != FORMAT {
                return Err(OpenError::Version {
                    file: file.clone(),
                    found: format,
                    known: FORMAT,
                });
            }
            let place = format!("table limit_group, row {id}");
            if i64::from(crc(&id, &body)) != sum {
                return Err(OpenError::corrupt(file, place, "the check sum does not match"));
            }
            match (id.parse::<GroupId>(), postcard::from_bytes::<StoredGroup>(&body)) {
                (Ok(id), Ok(group)) => Ok((id, group)),
                (Err(error), _) => Err(OpenError::corrupt(file, place, error.to_string())),
                (_, Err(error)) => Err(OpenError::corrupt(file, place, error.to_string())),
            }
        };
        rows.into_iter().map(group).collect()
    }

    /// The histories in the journal, each with its lowest and highest event number.
    pub(crate) fn histories(
        &self,
    ) -> Result<Vec<(String, Incarnation, EventNo, EventNo)>, OpenError> {
        let sql = "SELECT room, incarnation, min(event_no), max(event_no) FROM journal GROUP BY room, incarnation";
        self.rows(sql, |row| {
            Ok((row.get(0)?, unsigned(row, 1)?, unsigned(row, 2)?, unsigned(row, 3)?))
        })
    }

    /// Hands each event of a history above `after` to `each`, in order of number.
    pub(crate) fn replay(
        &self,
        room: &RoomId,
        incarnation: Incarnation,
        after: EventNo,
        mut each: impl FnMut(EventRow) -> Result<(), OpenError>,
    ) -> Result<(), OpenError> {
        let fail = |error| self.database.error(error);
        let query = "SELECT event_no, format, crc, body FROM journal
            WHERE room = ?1 AND incarnation = ?2 AND event_no > ?3 ORDER BY event_no";
        let mut statement = self.database.sqlite.prepare_cached(query).map_err(fail)?;
        let mut rows =
            statement.query(params![room.as_str(), sql(incarnation), sql(after)]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            each(read_event(row).map_err(fail)?)?;
        }
        Ok(())
    }

    fn rows<T>(
        &self,
        query: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, OpenError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.database.sqlite.prepare(query)?.query_map([], read)?.collect()
        };
        all().map_err(|error| self.database.error(error))
    }
}

fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn read_event(row: &rusqlite::Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        event_no: unsigned(row, 0)?,
        format: row.get(1)?,
        crc: row.get(2)?,
        body: row.get(3)?,
    })
}

fn write_events(
    sqlite: &Connection,
    events: &[(RoomId, Arc<RoomEvent>)],
) -> rusqlite::Result<Vec<u64>> {
    let mut insert = sqlite.prepare_cached(
        "INSERT INTO journal (room, incarnation, event_no, format, crc, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut write = |(room, event): &(RoomId, Arc<RoomEvent>)| {
        let body = encode(event.as_ref());
        let room = room.as_str();
        let number = sql(event.event_no);
        let sum = crc(room, &body);
        let format = event_format(&event.event);
        insert.execute(params![room, sql(event.incarnation), number, format, sum, body])?;
        Ok(body.len() as u64)
    };
    events.iter().map(&mut write).collect()
}

fn write_room(sqlite: &Connection, row: &RoomRow) -> rusqlite::Result<()> {
    let mut put = sqlite.prepare_cached(
        "INSERT INTO room (id, incarnation, alive) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, alive = excluded.alive",
    )?;
    put.execute(params![row.id.as_str(), sql(row.incarnation), row.alive]).map(drop)
}

fn write_group(sqlite: &Connection, id: &GroupId, group: &StoredGroup) -> rusqlite::Result<()> {
    let body = encode(group);
    let mut put = sqlite.prepare_cached(
        "INSERT INTO limit_group (id, format, crc, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET format = excluded.format, crc = excluded.crc, body = excluded.body",
    )?;
    put.execute(params![id.as_str(), FORMAT, crc(id.as_str(), &body), body]).map(drop)
}

/// Deletes the lowest `rows` rows of `garbage`; whether any are left.
fn purge(sqlite: &Connection, garbage: &Garbage, rows: u64) -> rusqlite::Result<bool> {
    let key = (garbage.room.as_str(), sql(garbage.incarnation));
    let lowest = "SELECT event_no FROM journal WHERE room = ?1 AND incarnation = ?2 ORDER BY event_no LIMIT 1";
    let first: Option<i64> = sqlite
        .prepare_cached(lowest)?
        .query_row(params![key.0, key.1], |row| row.get(0))
        .optional()?;
    let below = sql(garbage.below.min(jari_units::limits::SEQ_MAX));
    let Some(first) = first.filter(|first| *first < below) else {
        return Ok(false);
    };
    let end = first.saturating_add(sql(rows)).min(below);
    let delete = "DELETE FROM journal WHERE room = ?1 AND incarnation = ?2 AND event_no < ?3";
    sqlite.prepare_cached(delete)?.execute(params![key.0, key.1, end])?;
    Ok(end < below)
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("events and groups have no value that postcard refuses")
}
