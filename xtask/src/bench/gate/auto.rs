//! Everybody at once at a quiet protected site whose room is `auto`: how soon it queues, and how much the site ever has to do
//! at once. The site counts that itself, and nothing but the room bounds it.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::site::Protected;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};

/// What the site can take at once, as the room is told: its passes.
const CAPACITY: u32 = 200;
/// Requests that the proxy lets to the site at once: so many that it bounds nothing here.
const MAX_UPSTREAM: u32 = 5_000;
/// From the threshold to the line.
const QUEUES_WITHIN_MS: f64 = 2_000.0;
/// They all come within this.
const OVER_MS: &str = "1000";
/// The site works on a page so long: whoever is inside keeps it busy, and the room fills again and again.
const HOLD_MS: &str = "1500";
const SECONDS: &str = "15";

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    setting.say(&format!("a burst of {} people", setting.size.burst));
    let site = Protected::start(setting, "auto", MAX_UPSTREAM)?;
    let capacity = CAPACITY.to_string();
    let mut room = vec!["set", ROOM, "--mode", "auto", "--capacity", &capacity];
    room.extend(["--rate", "200", "--burst", "200", "--per-tick", "200"]);
    setting.operate(&site.jari, &room)?;
    let people = setting.size.burst.to_string();
    let mut more = vec!["--api", &site.jari.url, "--site", &site.upstream.url];
    more.extend(["--key", &site.jari.admin_key, "--people", &people, "--over-ms", OVER_MS]);
    more.extend(["--hold-ms", HOLD_MS, "--seconds", SECONDS]);
    let what = ["burst", "--room", ROOM];
    let report = setting.load_at((&site.url, &[site.jari.pid()]), &what, &more)?;
    ensure!(value(&report, "/went_in")? > 0.0, "nobody's turn came: the line does not move");
    let title = format!("{people} people at once at a quiet site that takes {CAPACITY}");
    let drawn = pictures::burst("gate_auto", title, CAPACITY.into(), &report);
    Ok(Measured { entries: entries(&report)?, pictures: vec![drawn] })
}

fn entries(report: &Value) -> Result<Vec<Entry>> {
    let of = |what: &str| value(report, &format!("/{what}"));
    let capacity = Bar::AtMost(CAPACITY.into());
    // A room that never queued has no time.
    let queueing = of("queueing_ms").unwrap_or(f64::INFINITY);
    Ok(vec![
        Entry::held("auto.queues_after", queueing, "ms", Bar::Below(QUEUES_WITHIN_MS)),
        Entry::held("auto.at_site_at_once", of("most_at_site")?, "requests", capacity),
        Entry::held("auto.passes_at_once", of("most_inside")?, "passes", capacity),
        Entry::stated("auto.people", of("people")?, "people"),
        Entry::stated("auto.walked_in", of("walked_in")?, "people"),
        Entry::stated("auto.first_sent_to_room", of("first_refused_ms")?, "ms"),
        Entry::stated("auto.went_in_later", of("went_in")?, "people"),
        Entry::stated("auto.refusal_p99", of("refused_p99_ms")?, "ms"),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_room_that_queues_late_or_lets_in_too_many_falls_short() {
        let short = |queueing_ms: Value, at_site: u32, inside: u32| -> Vec<String> {
            let report = json!({
                "queueing_ms": queueing_ms, "most_at_site": at_site, "most_inside": inside,
                "people": 5_000, "walked_in": 160, "first_refused_ms": 30.0, "went_in": 900,
                "refused_p99_ms": 20.0,
            });
            let entries = entries(&report).expect("all there").into_iter();
            entries.filter(|entry| entry.holds == Some(false)).map(|entry| entry.name).collect()
        };
        assert!(short(json!(1_999.0), 200, 200).is_empty());
        assert_eq!(short(json!(2_000.0), 200, 200), ["auto.queues_after"]);
        assert_eq!(short(json!(null), 160, 160), ["auto.queues_after"]);
        assert_eq!(short(json!(900.0), 201, 200), ["auto.at_site_at_once"]);
        assert_eq!(short(json!(900.0), 200, 201), ["auto.passes_at_once"]);
    }
}
