//! The checkpoint file: whole rooms, in parts, each room's newest one. Apart from the journal, so that writing a large
//! room never holds the lock that the writer needs.

use std::io::Write;
use std::path::Path;

use jari_line::{Descent, Flow, Landing, Room};
use jari_units::{EventNo, Incarnation, RoomId, Seq};
use rusqlite::{Connection, OptionalExtension, params};

use crate::OpenError;
use crate::database::{Database, Layout, crc, sql};
use crate::folder::checkpoints_file;
use crate::limits::PART_BYTES;

pub(crate) const LAYOUT: Layout = Layout {
    version: 1,
    schema: "
    CREATE TABLE checkpoint (
        room TEXT PRIMARY KEY,
        incarnation INTEGER NOT NULL,
        event_no INTEGER NOT NULL,
        format INTEGER NOT NULL,
        parts INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE part (
        room TEXT NOT NULL,
        incarnation INTEGER NOT NULL,
        event_no INTEGER NOT NULL,
        no INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (room, incarnation, event_no, no)
    ) STRICT;
    ",
};

/// Version of the bodies: postcard of `Room`.
const FORMAT: i64 = 1;

/// The same with the room's `Descent` behind it. Only a room that has one is written so: an older Jari still opens the
/// others, and names the version where it cannot.
const DESCENT_FORMAT: i64 = 2;

/// The same with the room's `Flow` and the redeemed tokens of its passes behind both: of a room that has any, or a mode.
const FLOW_FORMAT: i64 = 3;

type Landings = Vec<(Seq, Landing)>;

/// The oldest version that holds a room with these redeemed tokens.
fn format_of(room: &Room, landings: &Landings) -> i64 {
    let ledger = room.ledger();
    let flows = *ledger.flow() != Flow::default() || ledger.settings().use_modes();
    if flows || !landings.is_empty() {
        FLOW_FORMAT
    } else if *ledger.descent() != Descent::default() {
        DESCENT_FORMAT
    } else {
        FORMAT
    }
}

/// A room's checkpoint without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) incarnation: Incarnation,
    pub(crate) event_no: EventNo,
    pub(crate) bytes: u64,
    format: i64,
    parts: i64,
}

#[derive(Debug)]
pub(crate) struct Checkpoints {
    database: Database,
}

impl Checkpoints {
    pub(crate) fn open(dir: &Path) -> Result<Checkpoints, OpenError> {
        Ok(Checkpoints { database: Database::open(checkpoints_file(dir), LAYOUT)? })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.database.file
    }

    /// Writes a room in parts, then makes it the newest in one commit; answers its bytes. A crash on the way leaves the
    /// older one in force and parts that the next write clears.
    pub(crate) fn write(&self, id: &RoomId, room: &Room) -> Result<u64, OpenError> {
        let fail = |error| self.database.error(error);
        let mark = room.mark();
        self.clear_unused(id).map_err(fail)?;
        let mut parts = PartWriter {
            sqlite: &self.database.sqlite,
            id,
            incarnation: mark.incarnation,
            event_no: mark.event_no,
            parts: 0,
            bytes: 0,
            buffer: Vec::with_capacity(PART_BYTES),
            failed: None,
        };
        let (descent, flow) = (room.ledger().descent(), room.ledger().flow());
        let landings = room.landings();
        let format = format_of(room, &landings);
        let encoded = match format {
            FORMAT => postcard::to_io(room, &mut parts).map(drop),
            DESCENT_FORMAT => postcard::to_io(&(room, descent), &mut parts).map(drop),
            _ => postcard::to_io(&(room, descent, flow, landings), &mut parts).map(drop),
        };
        let flushed = parts.flush();
        if let Some(error) = parts.failed.take() {
            return Err(fail(error));
        }
        encoded.expect("a room has no value that postcard refuses");
        flushed.expect("a flush that fails notes why");
        let (count, bytes) = (parts.parts, parts.bytes);
        let mut put = self
            .database
            .sqlite
            .prepare_cached(
                "INSERT OR REPLACE INTO checkpoint (room, incarnation, event_no, format, parts, bytes)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .map_err(fail)?;
        let numbers = (sql(mark.incarnation), sql(mark.event_no), sql(bytes));
        put.execute(params![id.as_str(), numbers.0, numbers.1, format, count, numbers.2])
            .map_err(fail)?;
        self.clear_unused(id).map_err(fail)?;
        Ok(bytes)
    }

    /// Removes a room's checkpoint if it is of `incarnation` or an older one.
    pub(crate) fn forget(&self, id: &RoomId, incarnation: Incarnation) -> Result<(), OpenError> {
        let forget = || -> rusqlite::Result<()> {
            let delete = "DELETE FROM checkpoint WHERE room = ?1 AND incarnation <= ?2";
            self.database.sqlite.execute(delete, params![id.as_str(), sql(incarnation)])?;
            self.clear_unused(id)
        };
        forget().map_err(|error| self.database.error(error))
    }

    /// Rooms that have a checkpoint.
    pub(crate) fn heads(&self) -> Result<Vec<(String, Head)>, OpenError> {
        heads(&self.database.sqlite).map_err(|error| self.database.error(error))
    }

    /// The room that a head stands for.
    pub(crate) fn read(&self, id: &RoomId, head: &Head) -> Result<Room, OpenError> {
        let file = &self.database.file;
        if !(FORMAT..=FLOW_FORMAT).contains(&head.format) {
            let file = file.clone();
            return Err(OpenError::Version { file, found: head.format, known: FLOW_FORMAT });
        }
        let mut body = Vec::with_capacity(usize::try_from(head.bytes).unwrap_or(0));
        for no in 0..head.parts {
            body.extend(self.read_part(id, head, no)?);
        }
        let corrupt = |problem: String| {
            OpenError::corrupt(file, format!("table checkpoint, room {id}"), problem)
        };
        if body.len() as u64 != head.bytes {
            return Err(corrupt(format!("{} bytes instead of {}", body.len(), head.bytes)));
        }
        let read = match head.format {
            FORMAT => postcard::from_bytes::<Room>(&body),
            DESCENT_FORMAT => postcard::from_bytes::<(Room, Descent)>(&body)
                .map(|(room, descent)| room.descend(descent)),
            _ => postcard::from_bytes::<(Room, Descent, Flow, Landings)>(&body).map(
                |(room, descent, flow, landings)| {
                    room.descend(descent).flowing(flow).land(landings)
                },
            ),
        };
        let room = read.map_err(|error| corrupt(error.to_string()))?;
        let mark = room.mark();
        if (mark.incarnation, mark.event_no) != (head.incarnation, head.event_no) {
            return Err(corrupt(format!("it holds {mark:?}")));
        }
        Ok(room)
    }

    fn read_part(&self, id: &RoomId, head: &Head, no: i64) -> Result<Vec<u8>, OpenError> {
        let query = "SELECT crc, body FROM part WHERE room = ?1 AND incarnation = ?2 AND event_no = ?3 AND no = ?4";
        let key = params![id.as_str(), sql(head.incarnation), sql(head.event_no), no];
        let part: Option<(i64, Vec<u8>)> = self
            .database
            .sqlite
            .prepare_cached(query)
            .and_then(|mut part| {
                part.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|error| self.database.error(error))?;
        let place = format!("table part, room {id}, event {}, part {no}", head.event_no);
        let problem = match part {
            Some((sum, body)) if i64::from(crc(id.as_str(), &body)) == sum => return Ok(body),
            Some(_) => "the check sum does not match",
            None => "the part is missing",
        };
        Err(OpenError::corrupt(&self.database.file, place, problem))
    }

    fn clear_unused(&self, id: &RoomId) -> rusqlite::Result<()> {
        let delete = "DELETE FROM part WHERE room = ?1 AND NOT EXISTS (
            SELECT 1 FROM checkpoint c WHERE c.room = part.room AND c.incarnation = part.incarnation AND c.event_no = part.event_no)";
        self.database.sqlite.prepare_cached(delete)?.execute([id.as_str()]).map(drop)
    }
}

fn heads(sqlite: &Connection) -> rusqlite::Result<Vec<(String, Head)>> {
    let query = "SELECT room, incarnation, event_no, bytes, format, parts FROM checkpoint";
    let number = |row: &rusqlite::Row<'_>, column| -> rusqlite::Result<u64> {
        let value: i64 = row.get(column)?;
        u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
    };
    let mut statement = sqlite.prepare(query)?;
    let rows = statement.query_map([], |row| {
        let head = Head {
            incarnation: number(row, 1)?,
            event_no: number(row, 2)?,
            bytes: number(row, 3)?,
            format: row.get(4)?,
            parts: row.get(5)?,
        };
        Ok((row.get(0)?, head))
    })?;
    rows.collect()
}

/// Cuts what is written into parts, each its own commit.
struct PartWriter<'a> {
    sqlite: &'a Connection,
    id: &'a RoomId,
    incarnation: Incarnation,
    event_no: EventNo,
    parts: i64,
    bytes: u64,
    buffer: Vec<u8>,
    failed: Option<rusqlite::Error>,
}

impl PartWriter<'_> {
    fn store(&mut self) -> rusqlite::Result<()> {
        let mut insert = self.sqlite.prepare_cached(
            "INSERT INTO part (room, incarnation, event_no, no, crc, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let numbers = (sql(self.incarnation), sql(self.event_no));
        let sum = crc(self.id.as_str(), &self.buffer);
        insert.execute(params![
            self.id.as_str(),
            numbers.0,
            numbers.1,
            self.parts,
            sum,
            self.buffer
        ])?;
        self.parts += 1;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(PART_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == PART_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.buffer.is_empty() || self.failed.is_some() {
            return Ok(());
        }
        self.store().map_err(|error| {
            let told = std::io::Error::other(error.to_string());
            self.failed = Some(error);
            told
        })
    }
}
