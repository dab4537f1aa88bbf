//! A large crowd: what a waiter costs in memory, whether anybody is held up while it grows, whether joins and polls are
//! slower in it than in a crowd of a thousand, and how long a restart takes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::Measured;
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::pictures::{self, Picture};
use crate::bench::setting::{ROOM, Setting};
use crate::bench::started::Started;

/// People in a small room.
const SMALL: u32 = 1_000;
/// A restart is done within so many seconds.
const RESTART_MAX_S: f64 = 5.0;

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let (small, large) = (setting.server("small", &[])?, setting.server("large", &[])?);
    let (entries, picture, large_places) = grow(setting, &large)?;
    let mut measured = Measured { entries, pictures: vec![picture] };
    let small_places = small_rooms(setting, &small)?;
    let compared = compare(setting, (&small, &small_places), (&large, &large_places))?;
    let restarted = restart(setting, large, &large_places)?;
    measured.pictures.push(drawn(
        "crowd",
        "Joins and polls in a small and the large crowd",
        "1/s",
        None,
        &compared,
    ));
    measured.pictures.push(drawn(
        "restart",
        "After kill -9 with the large crowd waiting",
        "s",
        Some(RESTART_MAX_S),
        &restarted,
    ));
    measured.entries.extend(compared);
    measured.entries.extend(restarted);
    Ok(measured)
}

/// Of these entries those of one unit, as a picture.
fn drawn(
    name: &str,
    title: &str,
    unit: &'static str,
    limit: Option<f64>,
    entries: &[Entry],
) -> Picture {
    let rows = entries.iter().filter(|entry| entry.unit == unit);
    let rows: Vec<_> = rows.map(|entry| (entry.name.clone(), entry.value)).collect();
    pictures::bars(name, title, unit, limit, &rows)
}

/// Lets the room grow; what that showed, and the file of the kept places.
fn grow(setting: &Setting, large: &Started) -> Result<(Vec<Entry>, Picture, PathBuf)> {
    let size = &setting.size;
    setting.say(&format!("growing to {} waiting", size.crowd));
    setting.room(large, ROOM)?;
    let places = setting.folder("places")?.join("large");
    let (people, keep) = (size.crowd.to_string(), size.pollers.to_string());
    let (settle, out) = (size.settle_ms.to_string(), places.to_string_lossy().into_owned());
    let more = ["--people", &people, "--keep", &keep, "--settle-ms", &settle, "--places-out", &out];
    let grown = setting.load(large, &["grow", "--room", ROOM], &more)?;
    let mut entries = vec![
        Entry::stated("million.waiting", size.crowd.into(), "people"),
        Entry::stated("million.growth", value(&grown, "/joins_per_s")?, "1/s"),
        Entry::held(
            "million.longest_poll",
            value(&grown, "/probe/max_ms")?,
            "ms",
            Bar::AtMost(50.0),
        ),
        Entry::stated("million.poll_p99", value(&grown, "/probe/p99_ms")?, "ms"),
        Entry::stated("million.longest_join", value(&grown, "/join_max_ms")?, "ms"),
    ];
    // Known only where /proc is.
    if let Ok(bytes) = value(&grown, "/bytes_per_waiter") {
        let bar = Bar::Below(200.0);
        entries.push(Entry::held("million.memory_per_waiter", bytes, "bytes", bar));
    }
    Ok((entries, pictures::growth(&grown), places))
}

/// As many rooms of a thousand as it takes to poll as many places as in the large one; the files of their places.
fn small_rooms(setting: &Setting, small: &Started) -> Result<Vec<PathBuf>> {
    let (rooms, people) = (setting.size.pollers / SMALL, SMALL.to_string());
    setting.say(&format!("{rooms} rooms with {SMALL} waiting"));
    let mut files = Vec::new();
    for nth in 0..rooms {
        let room = format!("small-{nth}");
        setting.room(small, &room)?;
        let file = setting.folder("places")?.join(&room);
        let out = file.to_string_lossy().into_owned();
        let more =
            ["--people", &people, "--keep", &people, "--settle-ms", "0", "--places-out", &out];
        setting.load(small, &["grow", "--room", &room], &more)?;
        files.push(file);
    }
    Ok(files)
}

fn compare(
    setting: &Setting,
    (small, small_places): (&Started, &[PathBuf]),
    (large, large_places): (&Started, &Path),
) -> Result<Vec<Entry>> {
    let (mut polls, mut joins) = (Vec::new(), Vec::new());
    for round in 1..=setting.size.rounds {
        setting
            .say(&format!("a small and the large crowd, round {round} of {}", setting.size.rounds));
        let few = poll(setting, small, small_places)?;
        let many = poll(setting, large, &[large_places])?;
        polls.push((few, many));
        let room = format!("joins-{round}");
        setting.room(small, &room)?;
        let people = SMALL.to_string();
        let more = ["--people", &people, "--keep", "1", "--settle-ms", "0"];
        setting.load(small, &["grow", "--room", &room], &more)?;
        joins.push((join(setting, small, &room)?, join(setting, large, ROOM)?));
    }
    let mut entries = Vec::new();
    for (what, pairs) in [("joins", joins), ("polls", polls)] {
        let per_s = |report: &Value| value(report, "/per_s");
        let rates = pairs.iter().map(|(few, many)| Ok((per_s(few)?, per_s(many)?)));
        let rates: Vec<(f64, f64)> = rates.collect::<Result<_>>()?;
        let ratio = median(rates.iter().map(|(few, many)| many / few).collect())?;
        let few = median(rates.iter().map(|(few, _)| *few).collect())?;
        let many = median(rates.iter().map(|(_, many)| *many).collect())?;
        entries.push(Entry::held(
            format!("million.{what}_ratio"),
            ratio,
            "x",
            // Within 15 %; faster is no fault.
            Bar::AtLeast(0.85),
        ));
        entries.push(Entry::stated(format!("million.{what}_with_1000"), few, "1/s"));
        entries.push(Entry::stated(format!("million.{what}_with_all"), many, "1/s"));
    }
    Ok(entries)
}

fn poll(setting: &Setting, server: &Started, places: &[impl AsRef<Path>]) -> Result<Value> {
    let mut more = vec!["--seconds".to_owned(), setting.size.seconds.to_string()];
    for file in places {
        let file = file.as_ref().to_string_lossy().into_owned();
        more.extend(["--places".to_owned(), file]);
    }
    setting.load(server, &["polls"], &more)
}

/// As many joins in each crowd, whatever time they take.
fn join(setting: &Setting, server: &Started, room: &str) -> Result<Value> {
    let people = setting.size.crowd_joins.to_string();
    setting.load(server, &["joins", "--room", room], &["--seconds", "60", "--people", &people])
}

/// From the start of the process (after a kill -9) to right answers for old places.
fn restart(setting: &Setting, large: Started, places: &Path) -> Result<Vec<Entry>> {
    setting.say("killed, and started again");
    let folder = setting.folder("large")?;
    let started = Setting::now();
    let large = large.kill_and_restart(&setting.jari, &folder)?;
    let out = places.to_string_lossy().into_owned();
    let back = setting.load(&large, &["back"], &["--places", &out])?;
    // The generator began a moment after the server; all of it counts.
    let all_s = Setting::since(started).as_secs_f64();
    let between = (value(&back, "/all_ms")? - value(&back, "/first_ms")?) / 1_000.0;
    Ok(vec![
        Entry::held("million.restart", all_s - between, "s", Bar::Below(RESTART_MAX_S)),
        Entry::stated("million.restart_50_places", all_s, "s"),
    ])
}
