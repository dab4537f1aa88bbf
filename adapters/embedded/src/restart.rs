//! Reading a store from its files: each room's checkpoint, then the later rows of its journal. Changes no file.

use std::collections::{BTreeMap, BTreeSet};

use jari_line::{Event, Room, RoomEvent};
use jari_units::{EventNo, Incarnation, RoomId};

use crate::OpenError;
use crate::checkpoints::{Checkpoints, Head};
use crate::database::crc;
use crate::feed::Feed;
use crate::groups::MemberedGroup;
use crate::journal::{EVENT_FORMAT, EventRow, FORMAT, Garbage, Journal, RoomRow};
use crate::lines::{Line, Stored, learn};

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
        let mut covered_by = None;
        if *alive {
            let history = History { journal, checkpoints, id, head };
            let line = history.load(*incarnation)?;
            covered_by = head.filter(|head| {
                head.incarnation == *incarnation || line.ancestors.contains(&head.incarnation)
            });
            loaded.stored.rooms.insert(id.clone(), line);
        } else {
            loaded.stored.buried.insert(id.clone(), *incarnation);
        }
        if let Some(head) = head.filter(|_| covered_by.is_none()) {
            loaded.forgotten.push((id.clone(), head.incarnation));
        }
    }
    for (id, mut group) in journal.groups()? {
        // A backup's rooms may be newer than its groups.
        learn(&mut group.group, &group.members, &loaded.stored.rooms);
        loaded.stored.groups.insert(id, MemberedGroup::from_stored(group));
    }
    loaded.garbage = garbage(journal, &loaded.stored, &heads)?;
    Ok(loaded)
}

/// Where a room's history lies.
struct History<'a> {
    journal: &'a Journal,
    checkpoints: &'a Checkpoints,
    id: &'a RoomId,
    head: Option<&'a Head>,
}

impl History<'_> {
    /// The room at the end of `incarnation`: from its checkpoint, or from the history it goes on from, by its rows.
    fn load(&self, incarnation: Incarnation) -> Result<Line, OpenError> {
        let head = self.head.filter(|head| head.incarnation == incarnation);
        let mut line = head.map(|head| self.checkpointed(head)).transpose()?;
        let covered = head.map_or(0, |head| head.event_no);
        let mut next = covered + 1;
        self.journal.replay(self.id, incarnation, covered, |row| {
            if row.event_no != next {
                return Err(self.corrupt(row.event_no, missing(next, covered, self.checkpoints)));
            }
            next += 1;
            let event = decode(self.journal, self.id, incarnation, &row)?;
            let line = match &mut line {
                Some(line) => {
                    let applied = line.room.apply(&event);
                    applied.map_err(|error| self.corrupt(row.event_no, error.to_string()))?;
                    line
                }
                None => line.insert(self.begun_by(&event)?),
            };
            line.since.events += 1;
            line.since.bytes += row.body.len() as u64;
            Ok(())
        })?;
        let line = line.ok_or_else(|| self.corrupt(1, missing(1, covered, self.checkpoints)))?;
        let mark = line.room.mark();
        Ok(Line { feed: Feed::new(mark.incarnation, mark.event_no), ..line })
    }

    fn checkpointed(&self, head: &Head) -> Result<Line, OpenError> {
        let room = self.checkpoints.read(self.id, head)?;
        Ok(Line { checkpoint_bytes: head.bytes, ..Line::new(room) })
    }

    /// The room at a history's first event: it begins it from nothing, or after a loss from an earlier history.
    fn begun_by(&self, first: &RoomEvent) -> Result<Line, OpenError> {
        if let Some(room) = Room::from_created(first) {
            return Ok(Line::new(room));
        }
        let corrupt = |problem: String| self.corrupt(first.event_no, problem);
        let earlier = match &first.event {
            Event::Recovering(recovering) => recovering.after.map(|(incarnation, _)| incarnation),
            _ => None,
        };
        let earlier = earlier.filter(|earlier| *earlier < first.incarnation);
        let earlier = earlier.ok_or_else(|| corrupt("it does not begin a room".into()))?;
        let mut line = self.load(earlier)?;
        line.room.apply(first).map_err(|error| corrupt(error.to_string()))?;
        line.ancestors.push(earlier);
        Ok(line)
    }

    fn corrupt(&self, event_no: EventNo, problem: impl Into<String>) -> OpenError {
        let place = format!("table journal, room {}, event {event_no}", self.id);
        OpenError::corrupt(&self.journal.database.file, place, problem.into())
    }
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
    if !(FORMAT..=EVENT_FORMAT).contains(&row.format) {
        let (file, found) = (file.clone(), row.format);
        return Err(OpenError::Version { file, found, known: EVENT_FORMAT });
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

/// Rows that a checkpoint covers, and those of histories that no room stands on.
fn garbage(
    journal: &Journal,
    stored: &Stored,
    heads: &BTreeMap<String, Head>,
) -> Result<Vec<Garbage>, OpenError> {
    let histories = |(id, line): (&RoomId, &Line)| {
        let own = line.room.mark().incarnation;
        let all = line.ancestors.iter().copied().chain([own]);
        all.map(|incarnation| (id.to_string(), incarnation)).collect::<Vec<_>>()
    };
    let live: BTreeSet<(String, Incarnation)> = stored.rooms.iter().flat_map(histories).collect();
    let mut garbage = Vec::new();
    for (room, incarnation, lowest, _) in journal.histories()? {
        let head = heads.get(&room).filter(|head| head.incarnation == incarnation);
        let below = match (live.contains(&(room.clone(), incarnation)), head) {
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
