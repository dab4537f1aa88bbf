//! Settings as words, `capacity=5000 rate_milli=200000 ...`: what the scripts read, and what stands in the room's events.

use std::collections::HashMap;

use jari_line::{Aimd, AutoQueue, Mode, PacerKind, Settings, Signal};
use jari_units::{Millis, Timestamp};

/// Every setting by name, in the order of the struct. An empty value is "not set".
fn words(settings: &Settings) -> Vec<(&'static str, String)> {
    let number = |number: u64| number.to_string();
    let time = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.0.to_string());
    let (pacer, aimd, signal) = match settings.pacer {
        PacerKind::Fixed => ("fixed", None, None),
        PacerKind::Aimd(aimd) => ("aimd", Some(aimd), None),
        PacerKind::Manual => ("manual", None, None),
        PacerKind::Signal(signal) => ("signal", None, Some(signal)),
    };
    let signal =
        |of: fn(Signal) -> Option<u64>| signal.and_then(of).map_or_else(String::new, number);
    let maybe = |limit: Option<u64>| limit.map_or_else(String::new, number);
    let aimd = |of: fn(Aimd) -> u64| aimd.map_or_else(String::new, |aimd| of(aimd).to_string());
    vec![
        ("capacity", number(settings.capacity)),
        ("rate_milli", number(settings.rate_milli)),
        ("burst", number(settings.burst)),
        ("per_tick", number(settings.per_tick)),
        ("pacer", pacer.to_owned()),
        ("aimd_start", aimd(|aimd| aimd.start)),
        ("aimd_increase", aimd(|aimd| aimd.increase)),
        ("aimd_floor", aimd(|aimd| aimd.floor)),
        ("aimd_ceiling", aimd(|aimd| aimd.ceiling)),
        ("aimd_threshold", aimd(|aimd| aimd.threshold)),
        ("pass_ttl", number(settings.pass_ttl.0)),
        ("claim_window", number(settings.claim_window.0)),
        ("absence_grace", number(settings.absence_grace.0)),
        ("presence_window", number(settings.presence_window.0)),
        ("max_waiting", number(settings.max_waiting)),
        ("admit_total", settings.admit_total.map_or_else(String::new, number)),
        ("opens_at", time(settings.opens_at)),
        ("joins_from", time(settings.joins_from)),
        ("closes_at", time(settings.closes_at)),
        ("grouped", if settings.grouped { "1" } else { "" }.to_owned()),
        ("poll_near", number(settings.poll_near.0)),
        ("poll_far", number(settings.poll_far.0)),
        ("mode", mode_word(settings.mode).to_owned()),
        ("auto_live", maybe(settings.auto.at_live)),
        ("auto_arrivals", maybe(settings.auto.at_arrivals_per_s)),
        ("auto_quiet", number(settings.auto.quiet_for.0)),
        ("signal_start", signal(|signal| Some(signal.start))),
        ("signal_increase", signal(|signal| Some(signal.increase))),
        ("signal_floor", signal(|signal| Some(signal.floor))),
        ("signal_ceiling", signal(|signal| Some(signal.ceiling))),
        ("signal_settle", signal(|signal| Some(signal.settle.0))),
        ("signal_slow", signal(|signal| signal.slow.map(|slow| slow.0))),
        ("signal_errors", signal(|signal| Some(signal.errors_percent))),
    ]
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::On => "on",
        Mode::Off => "off",
        Mode::Auto => "auto",
        Mode::Shadow => "shadow",
    }
}

fn mode(word: &str) -> Option<Mode> {
    [Mode::On, Mode::Off, Mode::Auto, Mode::Shadow]
        .into_iter()
        .find(|mode| mode_word(*mode) == word)
}

pub(crate) fn write(settings: &Settings) -> String {
    let words: Vec<String> =
        words(settings).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

/// The settings in an event's words.
pub(crate) fn read(text: &str) -> Option<Settings> {
    let words: HashMap<&str, &str> =
        text.split(' ').map(|word| word.split_once('=')).collect::<Option<_>>()?;
    from_words(|name| words.get(name).copied())
}

/// The settings whose values `of` knows by name.
pub(crate) fn from_words<'a>(of: impl Fn(&str) -> Option<&'a str>) -> Option<Settings> {
    let number = |name: &str| of(name)?.parse::<u64>().ok();
    let maybe = |name: &str| match of(name)? {
        "" => Some(None),
        text => text.parse::<u64>().ok().map(Some),
    };
    let time = |name: &str| Some(maybe(name)?.map(Timestamp));
    let span = |name: &str| number(name).map(Millis);
    let pacer = match of("pacer")? {
        "fixed" => PacerKind::Fixed,
        "manual" => PacerKind::Manual,
        "aimd" => PacerKind::Aimd(Aimd {
            start: number("aimd_start")?,
            increase: number("aimd_increase")?,
            floor: number("aimd_floor")?,
            ceiling: number("aimd_ceiling")?,
            threshold: number("aimd_threshold")?,
        }),
        "signal" => PacerKind::Signal(Signal {
            start: number("signal_start")?,
            increase: number("signal_increase")?,
            floor: number("signal_floor")?,
            ceiling: number("signal_ceiling")?,
            settle: span("signal_settle")?,
            slow: maybe("signal_slow")?.map(Millis),
            errors_percent: number("signal_errors")?,
        }),
        _ => return None,
    };
    // A release that knew no modes wrote none of this.
    let (mode, auto) = match of("mode") {
        None => (Mode::default(), AutoQueue::default()),
        Some(word) => {
            let (at_live, at_arrivals_per_s) = (maybe("auto_live")?, maybe("auto_arrivals")?);
            let auto = AutoQueue { at_live, at_arrivals_per_s, quiet_for: span("auto_quiet")? };
            (mode(word)?, auto)
        }
    };
    Some(Settings {
        capacity: number("capacity")?,
        rate_milli: number("rate_milli")?,
        burst: number("burst")?,
        per_tick: number("per_tick")?,
        pacer,
        pass_ttl: span("pass_ttl")?,
        claim_window: span("claim_window")?,
        absence_grace: span("absence_grace")?,
        presence_window: span("presence_window")?,
        max_waiting: number("max_waiting")?,
        admit_total: maybe("admit_total")?,
        opens_at: time("opens_at")?,
        joins_from: time("joins_from")?,
        closes_at: time("closes_at")?,
        grouped: of("grouped")? == "1",
        poll_near: span("poll_near")?,
        poll_far: span("poll_far")?,
        mode,
        auto,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let every_option = Settings {
            pacer: PacerKind::Aimd(Aimd::default()),
            admit_total: Some(7),
            opens_at: Some(Timestamp(1_700_000_000_000)),
            joins_from: Some(Timestamp(1)),
            closes_at: Some(Timestamp(1_800_000_000_000)),
            grouped: true,
            ..Settings::default()
        };
        let manual = Settings { pacer: PacerKind::Manual, ..Settings::default() };
        let auto = AutoQueue { at_live: Some(7), ..AutoQueue::default() };
        let pacer = PacerKind::Signal(Signal { slow: None, ..Signal::default() });
        let modal = Settings { mode: Mode::Auto, auto, pacer, ..Settings::default() };
        for settings in [Settings::default(), every_option, manual, modal] {
            assert_eq!(read(&write(&settings)), Some(settings));
        }
        // What a release before modes writes.
        let text = write(&Settings::default());
        let older = text.split_once(" mode=").expect("it comes after the others").0;
        assert_eq!(read(older), Some(Settings::default()));
        assert_eq!(read("capacity=5"), None);
    }
}
