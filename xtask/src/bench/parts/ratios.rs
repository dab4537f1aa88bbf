//! Joins and polls as fast as 256 connections can, in turn against Jari, against empty handlers behind Jari's own
//! layers, and against axum alone.

use anyhow::Result;
use serde_json::Value;

use super::Measured;
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};
use crate::bench::started::Started;

/// Keep-alive connections, one request in flight on each.
const CONNECTIONS: &str = "256";

/// Of one kind of request: the reports of all rounds, by server.
#[derive(Debug, Default)]
struct Runs {
    jari: Vec<Value>,
    empty: Vec<Value>,
    plain: Vec<Value>,
}

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let jari = setting.server("ratios", &[])?;
    let empty = setting.baseline(&["--room", ROOM])?;
    let plain = setting.baseline(&["--plain"])?;
    let (mut joins, mut polls) = (Runs::default(), Runs::default());
    for round in 1..=setting.size.rounds {
        let room = format!("{ROOM}-{round}");
        setting.room(&jari, &room)?;
        setting.room(&jari, &format!("{room}-polls"))?;
        for (runs, what, room) in
            [(&mut joins, "joins", room.clone()), (&mut polls, "polls", format!("{room}-polls"))]
        {
            setting.say(&format!("{what}, round {round} of {}", setting.size.rounds));
            runs.jari.push(closed(setting, &jari, what, &room)?);
            runs.empty.push(closed(setting, &empty, what, ROOM)?);
            runs.plain.push(closed(setting, &plain, what, ROOM)?);
        }
    }
    let mut entries = entries("joins", &joins, 0.6)?;
    let p99 = median(all(&joins.jari, "/p99_ms")?)?;
    entries.push(Entry::held("joins.p99", p99, "ms", Bar::Below(15.0)));
    entries.extend(self::entries("polls", &polls, 0.7)?);
    entries.push(Entry::stated("polls.p99", median(all(&polls.jari, "/p99_ms")?)?, "ms"));
    let latencies = pictures::latencies(
        "latencies",
        "Joins and polls on 256 connections, against handlers that do nothing",
        &[
            ("joins", &joins.jari),
            ("joins, empty handler", &joins.empty),
            ("polls", &polls.jari),
            ("polls, empty handler", &polls.empty),
        ],
    );
    Ok(Measured { entries, pictures: vec![latencies] })
}

fn closed(setting: &Setting, server: &Started, what: &str, room: &str) -> Result<Value> {
    let size = &setting.size;
    let people = if what == "joins" { size.joiners } else { size.pollers };
    let (seconds, people) = (size.seconds.to_string(), people.to_string());
    let more = ["--connections", CONNECTIONS, "--seconds", &seconds, "--people", &people];
    setting.load(server, &[what, "--room", room], &more)
}

fn all(reports: &[Value], pointer: &str) -> Result<Vec<f64>> {
    reports.iter().map(|report| value(report, pointer)).collect()
}

/// The ratio is taken round by round: both of a round met the same machine.
fn entries(what: &str, runs: &Runs, bar: f64) -> Result<Vec<Entry>> {
    let ratio = |to: &[Value]| -> Result<f64> {
        let pairs = runs.jari.iter().zip(to);
        median(
            pairs
                .map(|(own, other)| Ok(value(own, "/per_s")? / value(other, "/per_s")?))
                .collect::<Result<_>>()?,
        )
    };
    let per_s = |reports: &[Value]| median(all(reports, "/per_s")?);
    let mut entries = vec![
        Entry::held(format!("{what}.ratio"), ratio(&runs.empty)?, "x", Bar::AtLeast(bar)),
        Entry::stated(format!("{what}.ratio_to_plain_axum"), ratio(&runs.plain)?, "x"),
        Entry::stated(format!("{what}.per_s"), per_s(&runs.jari)?, "1/s"),
        Entry::stated(format!("{what}.empty_per_s"), per_s(&runs.empty)?, "1/s"),
        Entry::stated(format!("{what}.plain_per_s"), per_s(&runs.plain)?, "1/s"),
    ];
    for (name, reports) in [("", &runs.jari), ("empty_", &runs.empty)] {
        // Known only where /proc is.
        if let Ok(cpu) = all(reports, "/server/cpu_us_per_ok") {
            entries.push(Entry::stated(format!("{what}.{name}cpu"), median(cpu)?, "us"));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reports(per_s: &[f64]) -> Vec<Value> {
        per_s.iter().map(|per_s| json!({"per_s": per_s})).collect()
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // The machine got slower in the second round: each pair says the same, mixed they would not.
        let runs = Runs {
            jari: reports(&[60.0, 30.0, 66.0]),
            empty: reports(&[100.0, 50.0, 110.0]),
            plain: reports(&[120.0, 60.0, 132.0]),
        };
        let entries = entries("joins", &runs, 0.6).expect("all there");
        let value = |name: &str| entries.iter().find(|e| e.name == name).map(|e| e.value);
        assert_eq!(value("joins.ratio"), Some(0.6));
        assert_eq!(value("joins.ratio_to_plain_axum"), Some(0.5));
        assert_eq!(value("joins.per_s"), Some(60.0));
        assert_eq!(value("joins.cpu"), None, "unknown without /proc");
        assert_eq!(entries[0].holds, Some(true));
    }
}
