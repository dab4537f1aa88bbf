//! Joins over both nodes as fast as 256 connections can: together, as they travel, and with a script call for each.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::server::Spent;
use super::site::Site;
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting, good};

/// Keep-alive connections, half of them to each node, one request in flight on each.
const CONNECTIONS: &str = "256";
/// After the last answer: what the nodes still read of the last events belongs to the joins.
const LAST_EVENTS: Duration = Duration::from_millis(500);

/// The runs of one way to travel.
#[derive(Debug, Default)]
struct Runs {
    reports: Vec<Value>,
    spent: Vec<Spent>,
}

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let (mut together, mut apart) = (Runs::default(), Runs::default());
    for round in 1..=setting.size.rounds {
        for (runs, joins) in [(&mut together, "together"), (&mut apart, "apart")] {
            setting.say(&format!("joins {joins}, round {round} of {}", setting.size.rounds));
            let (report, spent) = run(setting, joins, round)?;
            runs.reports.push(report);
            runs.spent.push(spent);
        }
    }
    let drawn = pictures::latencies(
        "redis_joins",
        "Joins through two nodes and Redis on 256 connections",
        &[("together", &together.reports), ("a call for each", &apart.reports)],
    );
    Ok(Measured { entries: entries(&together, &apart)?, pictures: vec![drawn] })
}

fn run(setting: &Setting, joins: &str, round: u32) -> Result<(Value, Spent)> {
    let site =
        Site::start(setting, &format!("joins-{joins}-{round}"), &[("JARI__STORE__JOINS", joins)])?;
    site.room(setting, ROOM, &[])?;
    let size = &setting.size;
    let (seconds, people) = (size.seconds.to_string(), size.nodes_joiners.to_string());
    let more = ["--connections", CONNECTIONS, "--seconds", &seconds, "--people", &people];
    let more = more.map(str::to_owned);
    let mut load = setting.waiting_on(&site.nodes(), &["joins", "--room", ROOM], &more, "joins")?;
    load.ready()?;
    let before = site.redis.used()?;
    load.go()?;
    let report = good(load.end()?)?;
    sleep(LAST_EVENTS);
    Ok((report, site.redis.spent_since(before)?))
}

impl Runs {
    fn values(&self, pointer: &str) -> Result<Vec<f64>> {
        self.reports.iter().map(|report| value(report, pointer)).collect()
    }

    /// Microseconds of Redis for a join, of each run.
    fn redis_us(&self) -> Result<Vec<f64>> {
        let joins = self.values("/ok")?;
        Ok(self.spent.iter().zip(joins).map(|(spent, joins)| spent.cpu_s * 1e6 / joins).collect())
    }

    fn people_per_event(&self) -> Result<Vec<f64>> {
        let joins = self.values("/ok")?;
        Ok(self.spent.iter().zip(joins).map(|(spent, joins)| joins / spent.events).collect())
    }
}

/// Round by round: both of a round met the same machine.
fn ratio(ones: &[f64], others: &[f64]) -> Result<f64> {
    median(ones.iter().zip(others).map(|(one, other)| one / other).collect())
}

fn entries(together: &Runs, apart: &Runs) -> Result<Vec<Entry>> {
    let per_s = [together.values("/per_s")?, apart.values("/per_s")?];
    let redis_us = [together.redis_us()?, apart.redis_us()?];
    let gain = ratio(&per_s[0], &per_s[1])?;
    let share = ratio(&redis_us[0], &redis_us[1])?;
    let [per_s, apart_per_s] = per_s.map(median);
    let [redis_us, apart_redis_us] = redis_us.map(median);
    let p99 = median(together.values("/p99_ms")?)?;
    let mut entries = vec![
        // More than with a call for each.
        Entry::held("joins.gain", gain, "x", Bar::AtLeast(1.0)),
        Entry::held("joins.redis_cpu_share", share, "x", Bar::AtMost(0.5)),
        Entry::held("joins.p99", p99, "ms", Bar::Below(30.0)),
        Entry::stated("joins.per_s", per_s?, "1/s"),
        Entry::stated("joins.apart_per_s", apart_per_s?, "1/s"),
        Entry::stated("joins.apart_p99", median(apart.values("/p99_ms")?)?, "ms"),
        Entry::stated("joins.redis_cpu", redis_us?, "us"),
        Entry::stated("joins.apart_redis_cpu", apart_redis_us?, "us"),
        Entry::stated("joins.people_per_event", median(together.people_per_event()?)?, "people"),
    ];
    // Known only where /proc is.
    for (name, runs) in [("joins.nodes_cpu", together), ("joins.apart_nodes_cpu", apart)] {
        if let Ok(cpu) = runs.values("/server/cpu_us_per_ok") {
            entries.push(Entry::stated(name, median(cpu)?, "us"));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs(rounds: &[(f64, f64)]) -> Runs {
        let report = |(per_s, _): &(f64, f64)| json!({"per_s": per_s, "ok": 1_000, "p99_ms": 12.0});
        let spent = |(_, cpu_s): &(f64, f64)| Spent {
            seconds: 8.0,
            cpu_s: *cpu_s,
            commands: 0.0,
            events: 50.0,
        };
        Runs {
            reports: rounds.iter().map(report).collect(),
            spent: rounds.iter().map(spent).collect(),
        }
    }

    #[test]
    fn ways_to_travel_are_compared_round_by_round() {
        // The machine got slower in the second round.
        let together = runs(&[(30.0, 0.01), (15.0, 0.02), (33.0, 0.01)]);
        let apart = runs(&[(10.0, 0.03), (5.0, 0.06), (11.0, 0.03)]);
        let entries = entries(&together, &apart).expect("all there");
        let value = |name: &str| {
            entries.iter().find(|e| e.name == name).map(|e| (e.value * 1_000.0).round() / 1_000.0)
        };
        assert_eq!(value("joins.gain"), Some(3.0));
        assert_eq!(value("joins.redis_cpu_share"), Some(0.333));
        assert_eq!(value("joins.redis_cpu"), Some(10.0), "microseconds each");
        assert_eq!(value("joins.people_per_event"), Some(20.0));
        assert!(entries.iter().all(|entry| entry.holds != Some(false)));
        let short = self::entries(&apart, &together).expect("all there");
        let short: Vec<_> = short.iter().filter(|e| e.holds == Some(false)).collect();
        assert_eq!(short.len(), 2, "{short:?}");
    }
}
