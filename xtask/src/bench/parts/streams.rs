//! As many event streams as one process can have: memory, connects, and how long a line takes to reach all of them while
//! people go on joining by the clock.

use anyhow::Result;
use serde_json::Value;

use super::Measured;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};

/// Joins a second beside the streams: as many as the replaced service's scenario rises to.
const JOINS_PER_S: u32 = 2_000;

/// What a server needs for as many streams as its files allow.
pub(in crate::bench) const FOR_STREAMS: [(&str, &str); 4] = [
    ("JARI__HTTP__STREAM_MAX", "19700"),
    ("JARI__HTTP__MAX_CONNECTIONS", "0"),
    ("JARI__HTTP__STREAM_SMALL_ROOM", "1000000"),
    ("JARI__HTTP__STREAM_NEAR_FRONT", "1000000"),
];

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let size = &setting.size;
    setting.say(&format!("{} streams on one server", size.streams));
    let server = setting.server("streams", &FOR_STREAMS)?;
    setting.room(&server, ROOM)?;
    let more = [
        ("--streams", size.streams),
        ("--seconds", size.listen_s),
        ("--settle-ms", size.settle_ms),
    ];
    let more: Vec<String> =
        more.into_iter().flat_map(|(flag, n)| [flag.to_owned(), n.to_string()]).collect();
    let mut streams = setting.waiting(&server, &["streams", "--room", ROOM], &more, "streams")?;
    let stage = format!("{JOINS_PER_S}:{}", size.listen_s);
    let more = ["--stage", &stage, "--net", "1"].map(str::to_owned);
    streams.ready()?;
    let mut joins = setting.waiting(&server, &["open", "joins", "--room", ROOM], &more, "joins")?;
    joins.ready()?;
    setting.say("all are open; people join beside them");
    streams.go()?;
    joins.go()?;
    let (streams, joins) = (streams.end()?, joins.end()?);
    let entries = entries(size.streams, &streams, &joins)?;
    Ok(Measured { entries, pictures: vec![pictures::receipts(&streams)] })
}

fn entries(wanted: u32, streams: &Value, joins: &Value) -> Result<Vec<Entry>> {
    let mut entries = vec![
        Entry::held(
            "streams.open",
            value(streams, "/streams")?,
            "streams",
            Bar::AtLeast(wanted.into()),
        ),
        Entry::held(
            "streams.connects",
            value(streams, "/connects_per_s")?,
            "1/s",
            Bar::AtLeast(8_000.0),
        ),
        Entry::held(
            "streams.line_to_all_p99",
            value(streams, "/all_p99_ms")?,
            "ms",
            Bar::Below(400.0),
        ),
        Entry::stated("streams.line_to_each_p99", value(streams, "/each_p99_ms")?, "ms"),
        Entry::stated("streams.lines_heard_by_all", value(streams, "/whole_lines")?, "lines"),
        Entry::held("streams.ended_early", value(streams, "/ended")?, "streams", Bar::AtMost(0.0)),
        Entry::stated("streams.joins_beside", value(joins, "/per_s")?, "1/s"),
        Entry::stated("streams.joins_beside_p99", value(joins, "/p99_ms")?, "ms"),
    ];
    // Known only where /proc is.
    if let Ok(bytes) = value(streams, "/bytes_per_stream") {
        let bar = Bar::Below(1_536.0);
        entries.insert(1, Entry::held("streams.memory_each", bytes, "bytes", bar));
    }
    Ok(entries)
}
