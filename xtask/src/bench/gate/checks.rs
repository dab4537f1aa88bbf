//! Forward auth as fast as 256 connections can, with good passes, in turn against empty handlers behind Jari's own layers;
//! and whether a check asks anything of the line's store.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::numbers::{free_port, store_calls};
use super::site::{open_room, passes};
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};

/// Keep-alive connections, one request in flight on each.
const CONNECTIONS: &str = "256";
/// Store calls for each check more than the server makes by itself, below which there is none: a flush of uses more or less
/// falls into a run by chance.
const NONE: f64 = 0.001;

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let ops = free_port()?;
    let jari = setting.server("checks", &[("JARI__OPS__LISTEN", &format!("127.0.0.1:{ops}"))])?;
    let empty = setting.baseline(&["--room", ROOM])?;
    open_room(setting, &jari)?;
    let passes = passes(setting, &jari, "checks")?.display().to_string();
    let seconds = setting.size.seconds.to_string();
    let more = ["--connections", CONNECTIONS, "--seconds", &seconds, "--places", &passes];
    // The room's ticks go on whoever asks.
    let idle = idle_calls_per_s(ops, setting.size.seconds)?;
    let (mut checks, mut empties, mut calls) = (Vec::new(), Vec::new(), 0.0);
    for round in 1..=setting.size.rounds {
        setting.say(&format!("checks, round {round} of {}", setting.size.rounds));
        let (before, began) = (store_calls(ops)?, Setting::now());
        checks.push(setting.load(&jari, &["gate", "--room", ROOM], &more)?);
        let by_itself = idle * Setting::since(began).as_secs_f64();
        calls += (store_calls(ops)? - before - by_itself).max(0.0);
        empties.push(setting.load(&empty, &["gate", "--room", ROOM], &more)?);
    }
    let drawn = pictures::latencies(
        "gate_checks",
        "Checks of a pass on 256 connections, against a handler that does nothing",
        &[("checks", &checks), ("empty handler", &empties)],
    );
    Ok(Measured { entries: entries(&checks, &empties, calls)?, pictures: vec![drawn] })
}

/// Store calls a second while nobody asks.
fn idle_calls_per_s(ops_port: u16, seconds: f64) -> Result<f64> {
    let (before, began) = (store_calls(ops_port)?, Setting::now());
    sleep(Duration::from_secs_f64(seconds));
    Ok((store_calls(ops_port)? - before) / Setting::since(began).as_secs_f64())
}

fn entries(checks: &[Value], empties: &[Value], store_calls: f64) -> Result<Vec<Entry>> {
    let all = |reports: &[Value], what| -> Result<Vec<f64>> {
        reports.iter().map(|report| value(report, what)).collect()
    };
    let pairs = checks.iter().zip(empties);
    let ratios = pairs.map(|(own, other)| Ok(value(own, "/per_s")? / value(other, "/per_s")?));
    let each = store_calls / all(checks, "/ok")?.iter().sum::<f64>();
    let mut entries = vec![
        Entry::held(
            "checks.ratio",
            median(ratios.collect::<Result<_>>()?)?,
            "x",
            Bar::AtLeast(0.7),
        ),
        Entry::held("checks.store_calls_each", each, "calls", Bar::Below(NONE)),
        Entry::stated("checks.per_s", median(all(checks, "/per_s")?)?, "1/s"),
        Entry::stated("checks.empty_per_s", median(all(empties, "/per_s")?)?, "1/s"),
        Entry::stated("checks.p99", median(all(checks, "/p99_ms")?)?, "ms"),
    ];
    for (name, reports) in [("checks.cpu", checks), ("checks.empty_cpu", empties)] {
        // Known only where /proc is.
        if let Ok(cpu) = all(reports, "/server/cpu_us_per_ok") {
            entries.push(Entry::stated(name, median(cpu)?, "us"));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_check_that_costs_too_much_or_asks_the_store_falls_short() {
        let report = |per_s: f64| vec![json!({"per_s": per_s, "ok": per_s * 2.0, "p99_ms": 1.0})];
        let short = |per_s: f64, calls: f64| -> Vec<String> {
            let entries = entries(&report(per_s), &report(10_000.0), calls).expect("all there");
            let short = entries.into_iter().filter(|entry| entry.holds == Some(false));
            short.map(|entry| entry.name).collect()
        };
        assert!(short(7_000.0, 4.0).is_empty());
        assert_eq!(short(6_999.0, 4.0), ["checks.ratio"]);
        assert_eq!(short(8_000.0, 16.0), ["checks.store_calls_each"]);
    }
}
