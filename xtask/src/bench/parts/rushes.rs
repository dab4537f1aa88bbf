//! Register, subscribe, allow, as the replaced waiting service was measured, and its two stress forms.

use anyhow::Result;
use serde_json::Value;

use super::Measured;
use super::streams::FOR_STREAMS;
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::pictures;
use crate::bench::setting::Setting;
use crate::bench::started::Started;

/// One form: how people arrive.
struct Form {
    name: &'static str,
    title: &'static str,
    stages: [&'static str; 4],
    /// Of a stress form only that nothing is lost; else nothing may be dropped either.
    is_stress: bool,
}

const FORMS: [Form; 3] = [
    Form {
        name: "rush",
        title: "300 arrivals/s at first, 100 admitted a second",
        stages: ["300:10", "300-180:40", "180-50:60", "50-0:20"],
        is_stress: false,
    },
    Form {
        name: "rush_135",
        title: "35 % more: 405 arrivals/s at first",
        stages: ["405:10", "405-243:40", "243-67.5:60", "67.5-0:20"],
        is_stress: true,
    },
    Form {
        name: "rush_400",
        title: "400 arrivals/s for 20 s, to 250/s over 40 s",
        stages: ["400:20", "400-250:40", "250-50:60", "50-0:20"],
        is_stress: true,
    },
];

/// What a form is held to, in milliseconds at the 95th percentile.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Held {
    pub(in crate::bench) notice_ms: f64,
    pub(in crate::bench) allow_ms: Option<f64>,
    pub(in crate::bench) first_byte_ms: Option<f64>,
}

/// All forms against the same servers.
#[derive(Debug)]
pub(in crate::bench) struct Rushes<'a> {
    pub(in crate::bench) servers: &'a [&'a Started],
    /// What the pictures' names begin with.
    pub(in crate::bench) pictures: &'static str,
    pub(in crate::bench) base: Held,
    pub(in crate::bench) stress: Held,
}

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    let server = setting.server("rushes", &FOR_STREAMS)?;
    let held = |notice_ms| Held { notice_ms, allow_ms: None, first_byte_ms: None };
    let rushes = Rushes { servers: &[&server], pictures: "", base: held(50.0), stress: held(90.0) };
    rushes.measure(setting, |room| setting.room(&server, room))
}

impl Rushes<'_> {
    /// Each form in a room of its own, which `make` makes.
    pub(in crate::bench) fn measure(
        &self,
        setting: &Setting,
        make: impl Fn(&str) -> Result<()>,
    ) -> Result<Measured> {
        let mut measured = Measured::default();
        for (nth, form) in FORMS.iter().enumerate() {
            setting.say(&format!("register, subscribe, allow: {}", form.title));
            let room = form.name.replace('_', "-");
            make(&room)?;
            let (net, scale) = ((20 + nth).to_string(), setting.size.rush_scale.to_string());
            let mut more = vec!["--net", &net, "--scale", &scale];
            form.stages.iter().for_each(|stage| more.extend(["--stage", stage]));
            let rush = setting.load_on(self.servers, &["rush", "--room", &room], &more)?;
            let held = self.held(form);
            measured.entries.extend(entries(form, held, &rush)?);
            let name = format!("{}{}", self.pictures, form.name);
            measured.pictures.push(pictures::rush(&name, form.title, held.notice_ms, &rush));
        }
        Ok(measured)
    }

    fn held(&self, form: &Form) -> Held {
        if form.is_stress { self.stress } else { self.base }
    }
}

fn entries(form: &Form, held: Held, rush: &Value) -> Result<Vec<Entry>> {
    let entry = |what: &str, pointer: &str, unit, bar: Option<Bar>| -> Result<Entry> {
        let (name, value) = (format!("{}.{what}", form.name), value(rush, pointer)?);
        Ok(match bar {
            Some(bar) => Entry::held(name, value, unit, bar),
            None => Entry::stated(name, value, unit),
        })
    };
    let (none, below) = (Some(Bar::AtMost(0.0)), |ms: Option<f64>| ms.map(Bar::Below));
    let dropped = if form.is_stress { None } else { none };
    let first_byte = below(held.first_byte_ms);
    let mut entries = vec![
        entry("notice_p95", "/notice_p95_ms", "ms", below(Some(held.notice_ms)))?,
        entry("notice_p99", "/notice_p99_ms", "ms", None)?,
        entry("lost", "/lost", "notices", none)?,
        entry("dropped", "/dropped", "arrivals", dropped)?,
        entry("allow_p95", "/allow_p95_ms", "ms", below(held.allow_ms))?,
        entry("first_byte_p95", "/first_byte_p95_ms", "ms", first_byte)?,
        entry("peak_connections", "/peak_connections", "streams", None)?,
        entry("registered", "/registered", "people", None)?,
        entry("streams_opened", "/streams_opened", "streams", None)?,
        entry("admitted", "/admitted", "people", None)?,
        entry("events_published", "/events_published", "events", None)?,
    ];
    // Only where people still waited after the last had come.
    if rush.pointer("/events_per_s_after_arrivals").is_some() {
        entries.push(entry("events_while_waiting", "/events_per_s_after_arrivals", "1/s", None)?);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn short(form: &Form, held: Held) -> Vec<String> {
        let rush = json!({
            "notice_p95_ms": 49.0, "notice_p99_ms": 60.0, "lost": 1, "dropped": 2,
            "allow_p95_ms": 1.0, "first_byte_p95_ms": 2.0, "peak_connections": 5, "registered": 9,
            "streams_opened": 9, "admitted": 8, "events_published": 70,
        });
        let entries = entries(form, held, &rush).expect("all there").into_iter();
        entries.filter(|entry| entry.holds == Some(false)).map(|entry| entry.name).collect()
    }

    #[test]
    fn a_lost_notice_falls_short_in_every_form_and_a_dropped_arrival_in_the_first() {
        let held = Held { notice_ms: 50.0, allow_ms: None, first_byte_ms: None };
        assert_eq!(short(&FORMS[0], held), ["rush.lost", "rush.dropped"]);
        assert_eq!(short(&FORMS[1], held), ["rush_135.lost"]);
        assert_eq!(short(&FORMS[2], held), ["rush_400.lost"]);
    }

    #[test]
    fn calls_and_first_bytes_are_held_where_they_have_a_bar() {
        let held = Held { notice_ms: 49.0, allow_ms: Some(1.0), first_byte_ms: Some(2.0) };
        let names = ["notice_p95", "lost", "allow_p95", "first_byte_p95"];
        assert_eq!(short(&FORMS[1], held), names.map(|name| format!("rush_135.{name}")));
    }
}
