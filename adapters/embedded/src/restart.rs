//! Reading a store from its files: each room's checkpoint, then the later rows of its journal. Changes no file.

use std::collections::{BTreeMap, BTreeSet};

use jari_line::{Room, RoomEvent};
use jari_units::{EventNo, Incarnation, RoomId};

use crate::OpenError;
use crate::checkpoints::{Checkpoints, Head};
use crate::database::crc;
use crate::groups::MemberedGroup;
use crate::journal::{EventRow, FORMAT, Garbage, Journal, RoomRow};
use crate::lines::{Growth, Line, Stored, learn};

/// What the files hold, and what in them is of no use any more.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) stored: Stored,
    pub(crate) garbage: Vec<Garbage>,
    /// Checkpoints of deleted rooms.
    pub(crate) forgotten: Vec<(RoomId, Incarnation)>,
}

/// Reads everything and checks all that was stored with it: check sums, formats, numbers without a gap.
pub(crate) fn load(journal: &Journal, checkpoints: &Checkpoints) -> Result<Loaded, OpenError> {
    let heads: BTreeMap<String, Head> = checkpoints.heads()?.into_iter().collect();
    let rows = journal.rooms()?;
    let mut loaded = Loaded::default();
    for RoomRow { id, incarnation, alive } in &rows {
        let head = heads.get(id.as_str());
        let usable = head.filter(|head| *alive && head.incarnation == *incarnation);
        if let Some(head) = head.filter(|_| usable.is_none()) {
            loaded.forgotten.push((id.clone(), head.incarnation));
        }
        if *alive {
            let line = load_room(journal, checkpoints, id, *incarnation, usable)?;
            loaded.stored.rooms.insert(id.clone(), line);
        } else {
            loaded.stored.buried.insert(id.clone(), *incarnation);
        }
    }
    for (id, mut group) in journal.groups()? {
        // A backup's rooms may be newer than its groups.
        learn(&mut group.group, &group.members, &loaded.stored.rooms);
        loaded.stored.groups.insert(id, MemberedGroup::from_stored(group));
    }
    loaded.garbage = garbage(journal, &rows, &heads)?;
    Ok(loaded)
}

fn load_room(
    journal: &Journal,
    checkpoints: &Checkpoints,
    id: &RoomId,
    incarnation: Incarnation,
    head: Option<&Head>,
) -> Result<Line, OpenError> {
    let mut room = head.map(|head| checkpoints.read(id, head)).transpose()?;
    let covered = head.map_or(0, |head| head.event_no);
    let mut since = Growth::default();
    let place = |event_no: EventNo| format!("table journal, room {id}, event {event_no}");
    let file = &journal.database.file;
    journal.replay(id, incarnation, covered, |row| {
        let expected = covered + since.events + 1;
        if row.event_no != expected {
            let problem = missing(expected, covered, checkpoints);
            return Err(OpenError::corrupt(file, place(row.event_no), problem));
        }
        since.events += 1;
        since.bytes += row.body.len() as u64;
        let event = decode(journal, id, incarnation, &row)?;
        match &mut room {
            Some(room) => room
                .apply(&event)
                .map_err(|error| OpenError::corrupt(file, place(row.event_no), error.to_string())),
            None => {
                room = Room::from_created(&event);
                let begun = room.is_some();
                begun.then_some(()).ok_or_else(|| {
                    OpenError::corrupt(file, place(row.event_no), "it does not begin a room")
                })
            }
        }
    })?;
    let Some(room) = room else {
        return Err(OpenError::corrupt(file, place(1), missing(1, covered, checkpoints)));
    };
    let checkpoint_bytes = head.map_or(0, |head| head.bytes);
    Ok(Line { since, checkpoint_bytes, ..Line::new(room) })
}

fn missing(expected: EventNo, covered: EventNo, checkpoints: &Checkpoints) -> String {
    let file = checkpoints.file().display();
    if covered > 0 {
        format!("event {expected} is missing ({file} reaches event {covered})")
    } else {
        format!("event {expected} is missing and {file} has no checkpoint of the room")
    }
}

fn decode(
    journal: &Journal,
    id: &RoomId,
    incarnation: Incarnation,
    row: &EventRow,
) -> Result<RoomEvent, OpenError> {
    let file = &journal.database.file;
    if row.format != FORMAT {
        return Err(OpenError::Version { file: file.clone(), found: row.format, known: FORMAT });
    }
    let corrupt = |problem: String| {
        OpenError::corrupt(
            file,
            format!("table journal, room {id}, event {}", row.event_no),
            problem,
        )
    };
    if i64::from(crc(id.as_str(), &row.body)) != row.crc {
        return Err(corrupt("the check sum does not match".into()));
    }
    let event: RoomEvent =
        postcard::from_bytes(&row.body).map_err(|error| corrupt(error.to_string()))?;
    if (event.incarnation, event.event_no) != (incarnation, row.event_no) {
        return Err(corrupt(format!("it holds event {}", event.event_no)));
    }
    Ok(event)
}

/// Rows that a checkpoint covers, and those of deleted rooms and older incarnations.
fn garbage(
    journal: &Journal,
    rows: &[RoomRow],
    heads: &BTreeMap<String, Head>,
) -> Result<Vec<Garbage>, OpenError> {
    let live: BTreeSet<(&str, Incarnation)> =
        rows.iter().filter(|row| row.alive).map(|row| (row.id.as_str(), row.incarnation)).collect();
    let mut garbage = Vec::new();
    for (room, incarnation, lowest, _) in journal.histories()? {
        let head = heads.get(&room).filter(|head| head.incarnation == incarnation);
        let below = match (live.contains(&(room.as_str(), incarnation)), head) {
            (false, _) => EventNo::MAX,
            (true, Some(head)) => head.event_no,
            (true, None) => 0,
        };
        if lowest < below {
            let place = format!("table journal, room {room}");
            let room = room.parse().map_err(|error: jari_units::IdError| {
                OpenError::corrupt(&journal.database.file, place, error.to_string())
            })?;
            garbage.push(Garbage { room, incarnation, below });
        }
    }
    Ok(garbage)
}
