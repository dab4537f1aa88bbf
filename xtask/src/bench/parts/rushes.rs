//! Register, subscribe, allow, as the replaced waiting service was measured, and its two stress forms.

use anyhow::Result;
use serde_json::Value;

use super::Measured;
use super::streams::FOR_STREAMS;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::pictures;
use crate::bench::setting::Setting;

/// One form: how people arrive, and the bar of its notices.
struct Form {
    name: &'static str,
    title: &'static str,
    stages: [&'static str; 4],
    notice_ms: f64,
    /// Whether nothing may be dropped; of the stress forms only that nothing is lost.
    none_dropped: bool,
}

const FORMS: [Form; 3] = [
    Form {
        name: "rush",
        title: "300 arrivals/s at first, 100 admitted a second",
        stages: ["300:10", "300-180:40", "180-50:60", "50-0:20"],
        notice_ms: 50.0,
        none_dropped: true,
    },
    Form {
        name: "rush_135",
        title: "35 % more: 405 arrivals/s at first",
        stages: ["405:10", "405-243:40", "243-67.5:60", "67.5-0:20"],
        notice_ms: 90.0,
        none_dropped: false,
    },
    Form {
        name: "rush_400",
        title: "400 arrivals/s for 20 s, to 250/s over 40 s",
        stages: ["400:20", "400-250:40", "250-50:60", "50-0:20"],
        notice_ms: 90.0,
        none_dropped: false,
    },
];

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let server = setting.server("rushes", &FOR_STREAMS)?;
    let mut measured = Measured::default();
    for (nth, form) in FORMS.iter().enumerate() {
        setting.say(&format!("register, subscribe, allow: {}", form.title));
        let room = form.name.replace('_', "-");
        setting.room(&server, &room)?;
        let (net, scale) = ((20 + nth).to_string(), setting.size.rush_scale.to_string());
        let mut more = vec!["--net", &net, "--scale", &scale];
        form.stages.iter().for_each(|stage| more.extend(["--stage", stage]));
        let rush = setting.load(&server, &["rush", "--room", &room], &more)?;
        measured.entries.extend(entries(form, &rush)?);
        measured.pictures.push(pictures::rush(form.name, form.title, form.notice_ms, &rush));
    }
    Ok(measured)
}

fn entries(form: &Form, rush: &Value) -> Result<Vec<Entry>> {
    let name = |what: &str| format!("{}.{what}", form.name);
    let held = |what: &str, pointer: &str, unit, bar| -> Result<Entry> {
        Ok(Entry::held(name(what), value(rush, pointer)?, unit, bar))
    };
    let stated = |what: &str, pointer: &str, unit| -> Result<Entry> {
        Ok(Entry::stated(name(what), value(rush, pointer)?, unit))
    };
    let dropped = if form.none_dropped {
        held("dropped", "/dropped", "arrivals", Bar::AtMost(0.0))?
    } else {
        stated("dropped", "/dropped", "arrivals")?
    };
    let mut entries = vec![
        held("notice_p95", "/notice_p95_ms", "ms", Bar::Below(form.notice_ms))?,
        stated("notice_p99", "/notice_p99_ms", "ms")?,
        held("lost", "/lost", "notices", Bar::AtMost(0.0))?,
        dropped,
        stated("allow_p95", "/allow_p95_ms", "ms")?,
        stated("first_byte_p95", "/first_byte_p95_ms", "ms")?,
        stated("peak_connections", "/peak_connections", "streams")?,
        stated("registered", "/registered", "people")?,
        stated("streams_opened", "/streams_opened", "streams")?,
        stated("admitted", "/admitted", "people")?,
        stated("events_published", "/events_published", "events")?,
    ];
    // Only where people still waited after the last had come.
    if let Ok(events) = value(rush, "/events_per_s_after_arrivals") {
        entries.push(Entry::stated(name("events_while_waiting"), events, "1/s"));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lost_notice_falls_short_in_every_form_and_a_dropped_arrival_in_the_first() {
        let rush = json!({
            "notice_p95_ms": 49.0, "notice_p99_ms": 60.0, "lost": 1, "dropped": 2,
            "allow_p95_ms": 1.0, "first_byte_p95_ms": 1.0, "peak_connections": 5, "registered": 9,
            "streams_opened": 9, "admitted": 8, "events_published": 70,
        });
        let short: Vec<Vec<String>> = FORMS
            .iter()
            .map(|form| {
                let entries = entries(form, &rush).expect("all there");
                let short = entries.into_iter().filter(|entry| entry.holds == Some(false));
                short.map(|entry| entry.name).collect()
            })
            .collect();
        assert_eq!(short[0], ["rush.lost", "rush.dropped"]);
        assert_eq!(short[1], ["rush_135.lost"]);
        assert_eq!(short[2], ["rush_400.lost"]);
    }
}
