//! Polls over both nodes, in turn against two empty handlers behind the same layers; and whether a poll asks anything of
//! Redis: whatever the nodes ask of it anyway is the same at a tenth of the polls.

use anyhow::Result;
use serde_json::Value;

use super::server::Spent;
use super::site::Site;
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting, good};
use crate::bench::started::Started;

/// Keep-alive connections, half of them to each node, one request in flight on each.
const CONNECTIONS: &str = "256";
/// Nodes tell who was heard from so often: a run is as many of these as it takes, so that all have equally many flushes.
const FLUSH_EVERY_S: f64 = 5.0;
/// Commands for each poll more, below which there is none: a flush of presence more or less falls into a run by chance.
const NONE: f64 = 0.001;

/// One run: its report, and what Redis did meanwhile.
type Run = (Value, Spent);

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let site = Site::start(setting, "polls", &[])?;
    let empties = [setting.baseline(&["--room", ROOM])?, setting.baseline(&["--room", ROOM])?];
    let (mut full, mut tenth, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=setting.size.rounds {
        setting.say(&format!("polls, round {round} of {}", setting.size.rounds));
        let room = format!("{ROOM}-{round}");
        // The shortest interval, so that few people can ask often.
        site.room(setting, &room, &["--poll-near", "250ms", "--poll-far", "250ms"])?;
        let seconds = (setting.size.seconds / FLUSH_EVERY_S).ceil() * FLUSH_EVERY_S;
        let (seconds, people) = (seconds.to_string(), setting.size.pollers.to_string());
        let closed = ["--connections", CONNECTIONS, "--seconds", &seconds, "--people", &people];
        full.push(run(setting, &site, &["polls", "--room", &room], &closed)?);
        empty.push(setting.load_on(&empties.each_ref(), &["polls", "--room", ROOM], &closed)?);
        let per_s = (value(&full[full.len() - 1].0, "/per_s")? / 10.0).round();
        let stage = format!("{per_s}:{seconds}");
        let open = ["--stage", &stage, "--people", &people];
        tenth.push(run(setting, &site, &["open", "polls", "--room", &room], &open)?);
    }
    let reports: Vec<Value> = full.iter().map(|(report, _)| report.clone()).collect();
    let drawn = pictures::latencies(
        "redis_polls",
        "Polls at two nodes on 256 connections, against handlers that do nothing",
        &[("polls", &reports), ("polls, empty handler", &empty)],
    );
    Ok(Measured { entries: entries(&full, &tenth, &empty)?, pictures: vec![drawn] })
}

fn run(setting: &Setting, site: &Site, what: &[&str], more: &[&str]) -> Result<Run> {
    let nodes: [&Started; 2] = site.nodes();
    let more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
    let mut load = setting.waiting_on(&nodes, what, &more, "polls")?;
    load.ready()?;
    let before = site.redis.used()?;
    load.go()?;
    let report = good(load.end()?)?;
    Ok((report, site.redis.spent_since(before)?))
}

/// Commands for each poll that one run had more than the other.
fn commands_each((full, busy): &Run, (tenth, calm): &Run) -> Result<f64> {
    let polls = value(full, "/ok")? / busy.seconds - value(tenth, "/ok")? / calm.seconds;
    Ok((busy.commands_per_s() - calm.commands_per_s()) / polls)
}

fn entries(full: &[Run], tenth: &[Run], empty: &[Value]) -> Result<Vec<Entry>> {
    let per_s = |report: &Value| value(report, "/per_s");
    let pairs = full.iter().zip(empty);
    let ratio = pairs.map(|((own, _), other)| Ok(per_s(own)? / per_s(other)?));
    let ratio = median(ratio.collect::<Result<_>>()?)?;
    let each = full.iter().zip(tenth).map(|(full, tenth)| commands_each(full, tenth));
    let each = median(each.collect::<Result<_>>()?)?;
    let own = full.iter().map(|(report, _)| report);
    let middle =
        |pointer| median(own.clone().map(|one| value(one, pointer)).collect::<Result<_>>()?);
    let commands =
        |runs: &[Run]| median(runs.iter().map(|(_, spent)| spent.commands_per_s()).collect());
    Ok(vec![
        Entry::held("polls.ratio", ratio, "x", Bar::AtLeast(0.7)),
        Entry::held("polls.redis_commands_each", each, "commands", Bar::Below(NONE)),
        Entry::stated("polls.per_s", middle("/per_s")?, "1/s"),
        Entry::stated(
            "polls.empty_per_s",
            median(empty.iter().map(per_s).collect::<Result<_>>()?)?,
            "1/s",
        ),
        Entry::stated("polls.p99", middle("/p99_ms")?, "ms"),
        Entry::stated("polls.redis_commands", commands(full)?, "1/s"),
        Entry::stated("polls.redis_commands_at_a_tenth", commands(tenth)?, "1/s"),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(per_s: f64, commands: f64) -> Run {
        let spent = Spent { seconds: 2.0, cpu_s: 0.1, commands, events: 2.0 };
        (json!({"per_s": per_s, "ok": per_s * 2.0, "p99_ms": 5.0}), spent)
    }

    fn of(commands: f64) -> Vec<Entry> {
        let empty = [json!({"per_s": 40_000.0})];
        entries(&[run(32_000.0, commands)], &[run(3_200.0, 90.0)], &empty).expect("all there")
    }

    #[test]
    fn what_the_nodes_ask_anyway_is_no_polls_doing() {
        let entries = of(100.0);
        assert_eq!((entries[0].value, entries[0].holds), (0.8, Some(true)));
        assert_eq!(entries[1].holds, Some(true), "ten commands more for 57,600 polls more");
        assert_eq!(of(90.0 + 57_600.0)[1].value, 1.0, "a command each");
        assert_eq!(of(90.0 + 57_600.0)[1].holds, Some(false));
    }
}
