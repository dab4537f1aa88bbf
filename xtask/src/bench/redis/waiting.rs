//! What people who wait and poll as they are told cost Redis: few and many, in a line that stands and in one that moves.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::server::{Redis, Spent};
use super::site::Site;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting, good};

/// Admitted a second in a line that moves; as many join, so that a crowd stays as large as it is.
const RATE: &str = "200";
/// After the last look at Redis the generator may end.
const SPARE_S: u64 = 1;

/// A crowd in a line that stands or moves.
#[derive(Debug)]
struct Watched {
    report: Value,
    spent: Spent,
}

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let [few, many] = setting.size.nodes_crowds;
    let watch_s = setting.size.nodes_watch.1;
    setting.say("Redis by itself");
    let alone = Redis::start(setting)?.watch(watch_s)?;
    let idle = [watch(setting, few, false)?, watch(setting, many, false)?];
    let admitting = [watch(setting, few, true)?, watch(setting, many, true)?];
    let entries = entries((few, many), alone, &idle, &admitting)?;
    let rows = entries.iter().filter(|entry| entry.unit == "ms/s");
    let rows: Vec<_> = rows.map(|entry| (entry.name.clone(), entry.value)).collect();
    let across = "ms of Redis' processor time a second";
    let title = "What people who wait and poll cost Redis";
    let drawn = pictures::bars("redis_waiting", title, across, None, &rows);
    Ok(Measured { entries, pictures: vec![drawn] })
}

fn watch(setting: &Setting, people: u32, admitting: bool) -> Result<Watched> {
    let moves = if admitting { "moves" } else { "stands" };
    setting.say(&format!("{people} wait in a line that {moves}"));
    let site = Site::start(setting, &format!("{moves}-{people}"), &[])?;
    site.room(setting, ROOM, &[])?;
    let (settle_s, watch_s) = setting.size.nodes_watch;
    let more = [
        ("--people", people.to_string()),
        ("--joins-per-s", if admitting { RATE.to_owned() } else { "0".to_owned() }),
        // Everybody has asked once before Redis is watched.
        ("--spread-ms", (settle_s.min(10) * 1_000).to_string()),
        ("--seconds", (settle_s + watch_s + SPARE_S).to_string()),
    ];
    let more: Vec<String> =
        more.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect();
    let mut load = setting.waiting_on(&site.nodes(), &["wait", "--room", ROOM], &more, "wait")?;
    load.ready()?;
    load.go()?;
    if admitting {
        let rate = ["set", ROOM, "--pacer", "fixed", "--rate", RATE, "--burst", RATE];
        setting.operate(site.first(), &rate)?;
    }
    sleep(Duration::from_secs(settle_s));
    let spent = site.redis.watch(watch_s)?;
    Ok(Watched { report: good(load.end()?)?, spent })
}

fn entries(
    (few, many): (u32, u32),
    alone: Spent,
    [few_idle, many_idle]: &[Watched; 2],
    [few_admitting, many_admitting]: &[Watched; 2],
) -> Result<Vec<Entry>> {
    let cost = |watched: &Watched| watched.spent.cpu_ms_per_s();
    let growth = cost(many_admitting) / cost(few_admitting);
    let added = cost(many_idle) - alone.cpu_ms_per_s();
    let admitted = |watched: &Watched| -> Result<f64> {
        Ok(value(&watched.report, "/admitted")? / value(&watched.report, "/seconds")?)
    };
    Ok(vec![
        Entry::stated("waiting.few", few.into(), "people"),
        Entry::stated("waiting.many", many.into(), "people"),
        Entry::stated("waiting.redis_alone", alone.cpu_ms_per_s(), "ms/s"),
        Entry::stated("waiting.redis_few_idle", cost(few_idle), "ms/s"),
        Entry::stated("waiting.redis_many_idle", cost(many_idle), "ms/s"),
        // Redis' own second costs what it costs: of an idle machine's 2 ms the crowd can save nothing.
        Entry::held("waiting.redis_many_idle_added", added, "ms/s", Bar::Below(2.0)),
        Entry::stated("waiting.redis_few_admitting", cost(few_admitting), "ms/s"),
        Entry::stated("waiting.redis_many_admitting", cost(many_admitting), "ms/s"),
        Entry::held("waiting.redis_growth", growth, "x", Bar::Below(1.3)),
        Entry::stated("waiting.redis_commands_idle", many_idle.spent.commands_per_s(), "1/s"),
        Entry::stated("waiting.polls", value(&many_idle.report, "/polls_per_s")?, "1/s"),
        Entry::stated("waiting.poll_p99", value(&many_idle.report, "/poll_p99_ms")?, "ms"),
        Entry::stated("waiting.few_told_admitted", admitted(few_admitting)?, "1/s"),
        Entry::stated(
            "waiting.many_polls_admitting",
            value(&many_admitting.report, "/polls_per_s")?,
            "1/s",
        ),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn watched(cpu_s: f64) -> Watched {
        let report = json!({
            "admitted": 4_000, "seconds": 20.0, "polls_per_s": 9_000.0, "poll_p99_ms": 3.0,
        });
        Watched { report, spent: Spent { seconds: 20.0, cpu_s, commands: 600.0, events: 20.0 } }
    }

    #[test]
    fn a_cost_that_grows_with_the_crowd_falls_short() {
        let short = |idle: [f64; 2], admitting: [f64; 2]| -> Vec<String> {
            let entries = entries(
                (1_000, 100_000),
                watched(0.01).spent,
                &idle.map(watched),
                &admitting.map(watched),
            );
            let entries = entries.expect("all there").into_iter();
            entries.filter(|e| e.holds == Some(false)).map(|e| e.name).collect()
        };
        assert!(short([0.03, 0.03], [0.5, 0.6]).is_empty());
        assert!(short([0.01, 0.049], [0.5, 0.6]).is_empty());
        assert_eq!(short([0.01, 0.051], [0.5, 0.6]), ["waiting.redis_many_idle_added"]);
        assert_eq!(short([0.03, 0.03], [0.5, 0.66]), ["waiting.redis_growth"]);
    }
}
