//! Pages of a site as fast as 64 connections can, through the reverse proxy with a pass and through nginx, in turn and from
//! the same process of the site.

use anyhow::Result;
use serde_json::Value;

use super::nginx::Nginx;
use super::site::{Protected, passes};
use crate::bench::entry::{Bar, Entry, median, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};

/// Keep-alive connections, one request in flight on each; fewer than either proxy keeps to the site.
const CONNECTIONS: &str = "64";
/// Requests at the site at once: the default.
const MAX_UPSTREAM: u32 = 512;
/// Into so many turns each round is cut: a machine's speed changes within seconds, and both should meet the same.
const TURNS: u32 = 4;

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let site = Protected::start(setting, "pages", MAX_UPSTREAM)?;
    let nginx = Nginx::start(setting, site.upstream.url.trim_start_matches("http://"))?;
    let passes = passes(setting, &site.jari, "pages")?.display().to_string();
    let seconds = (setting.size.seconds / f64::from(TURNS)).to_string();
    let more = ["--connections", CONNECTIONS, "--seconds", &seconds, "--places", &passes];
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for turn in 0..setting.size.rounds * TURNS {
        if turn.is_multiple_of(TURNS) {
            let round = turn / TURNS + 1;
            setting.say(&format!("pages, round {round} of {}", setting.size.rounds));
        }
        let what = ["site", "--room", ROOM];
        own.push(setting.load_at((&site.url, &[site.jari.pid()]), &what, &more)?);
        other.push(setting.load_at((&nginx.url, &nginx.pids()?), &what, &more)?);
    }
    let drawn = pictures::latencies(
        "gate_pages",
        "Pages of a site on 64 connections, through Jari with a pass and through nginx",
        &[("Jari", &own), ("nginx", &other)],
    );
    Ok(Measured { entries: entries(&own, &other)?, pictures: vec![drawn] })
}

fn entries(own: &[Value], other: &[Value]) -> Result<Vec<Entry>> {
    let all = |reports: &[Value], what| -> Result<Vec<f64>> {
        reports.iter().map(|report| value(report, what)).collect()
    };
    // Turn by turn: both of a turn met the same machine.
    let ratio = |what| -> Result<f64> {
        let pairs = all(own, what)?.into_iter().zip(all(other, what)?);
        median(pairs.map(|(own, other)| own / other).collect())
    };
    let mut entries = vec![
        Entry::held("pages.ratio", ratio("/per_s")?, "x", Bar::AtLeast(0.7)),
        Entry::held("pages.p99_ratio", ratio("/p99_ms")?, "x", Bar::AtMost(2.0)),
    ];
    for (name, reports) in [("", own), ("nginx_", other)] {
        let per_s = median(all(reports, "/per_s")?)?;
        entries.push(Entry::stated(format!("pages.{name}per_s"), per_s, "1/s"));
        let p99 = median(all(reports, "/p99_ms")?)?;
        entries.push(Entry::stated(format!("pages.{name}p99"), p99, "ms"));
        // Known only where /proc is.
        if let Ok(cpu) = all(reports, "/server/cpu_us_per_ok") {
            entries.push(Entry::stated(format!("pages.{name}cpu"), median(cpu)?, "us"));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_proxy_that_is_much_slower_than_nginx_falls_short() {
        let report = |per_s: f64, p99: f64| vec![json!({"per_s": per_s, "p99_ms": p99})];
        let short = |own: (f64, f64)| -> Vec<String> {
            let entries = entries(&report(own.0, own.1), &report(10_000.0, 5.0));
            let entries = entries.expect("all there").into_iter();
            entries.filter(|entry| entry.holds == Some(false)).map(|entry| entry.name).collect()
        };
        assert!(short((7_000.0, 10.0)).is_empty());
        assert_eq!(short((6_000.0, 10.0)), ["pages.ratio"]);
        assert_eq!(short((7_000.0, 10.1)), ["pages.p99_ratio"]);
    }
}
