//! What one run came to: a row of the table. Runs nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::found::{Broken, Found, Kind};
use crate::seen::Told;
use crate::truth::Place;
use crate::watch::Seen;

/// Changes of readiness shown of one node.
const CHANGES_MAX: usize = 8;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) told: Told,
    /// People whose place was acknowledged, and those of them whose place was there to the end, or ended by their own hand.
    pub(crate) acknowledged: usize,
    pub(crate) kept: usize,
    pub(crate) lost: Broken,
    pub(crate) order: Broken,
    pub(crate) caps: Broken,
    pub(crate) absent: Broken,
    /// What did not go as it should in the run itself.
    pub(crate) run: Broken,
    /// Of each node, what `/readyz` said since the fault began.
    pub(crate) readiness: Vec<String>,
    pub(crate) numbers: String,
    /// For how long the room was put together again, seconds.
    pub(crate) recovering_s: Option<f64>,
    pub(crate) notes: Vec<String>,
    /// What callers were told by policy, where the run is about that: policy, caller, what was told.
    pub(crate) policies: Vec<[String; 3]>,
    pub(crate) log: Vec<String>,
    pub(crate) seconds: f64,
}

impl Row {
    pub(crate) fn new(name: &str, title: &str, places: &[Place], found: &Found) -> Row {
        let acknowledged = places.iter().filter(|place| place.seq > 0);
        Row {
            name: name.to_owned(),
            title: title.to_owned(),
            acknowledged: acknowledged.clone().count(),
            kept: acknowledged.filter(|place| !place.lost).count(),
            lost: found.of(Kind::Kept),
            order: found.of(Kind::Order),
            caps: found.of(Kind::Cap),
            absent: found.of(Kind::Absent),
            run: found.of(Kind::Run),
            ..Row::default()
        }
    }

    /// A run that ended before it came to anything.
    pub(crate) fn failed(name: &str, title: &str, why: String) -> Row {
        let run = Broken { count: 1, texts: vec![why] };
        let (name, title) = (name.to_owned(), title.to_owned());
        Row { name, title, run, ..Row::default() }
    }

    pub(crate) fn watched(&mut self, seen: &Seen) {
        let peaks = seen.peaks();
        self.recovering_s = seen.recovered_for().map(|span| span.as_secs_f64());
        self.readiness = seen.readiness().iter().map(|changes| changes_text(changes)).collect();
        let mut numbers = vec![format!("store_down_seconds {:.1}", peaks.store_down_s)];
        numbers.push(format!("rooms_recovering {}", peaks.recovering));
        numbers.push(format!("lull {}", peaks.lull));
        if peaks.unchecked > 0.0 {
            numbers.push(format!("gate_unchecked_total {}", peaks.unchecked));
        }
        self.numbers = numbers.join(", ");
        self.seconds = seen.begun().elapsed().as_secs_f64();
    }

    pub(crate) fn holds(&self) -> bool {
        let broken = [&self.lost, &self.order, &self.caps, &self.absent, &self.run];
        broken.iter().all(|broken| broken.count == 0)
    }
}

/// Readiness over time: "200; 0.4 s: 503 (why); 9.8 s: 200".
fn changes_text(changes: &[(Duration, u16, String)]) -> String {
    let Some((begun, ..)) = changes.first() else { return "not asked".to_owned() };
    let word = |status: u16| if status == 0 { "silent".to_owned() } else { status.to_string() };
    let told = changes.iter().enumerate().map(|(nth, (at, status, text))| {
        let why = if *status == 503 { format!(" ({})", nameless(text)) } else { String::new() };
        let when = match nth {
            0 => String::new(),
            _ => format!("{:.1} s: ", (*at - *begun).as_secs_f64()),
        };
        format!("{when}{}{why}", word(*status))
    });
    let mut parts: Vec<String> = told.take(CHANGES_MAX).collect();
    if changes.len() > CHANGES_MAX {
        parts.push(format!("and {} more changes", changes.len() - CHANGES_MAX));
    }
    parts.join("; ")
}

/// Without the server's address, which is another one in every run.
fn nameless(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once("://") {
        Some((_, rest)) if rest.ends_with(':') => "Redis:",
        Some(_) => "Redis",
        None => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_told_as_it_changed() {
        let at = Duration::from_millis;
        let changes = [
            (at(10_000), 200, "ready".to_owned()),
            (at(10_400), 503, "the store is away: redis://127.0.0.1:7: broken pipe".to_owned()),
            (at(12_000), 0, String::new()),
            (at(19_800), 200, "ready".to_owned()),
        ];
        let told =
            "200; 0.4 s: 503 (the store is away: Redis: broken pipe); 2.0 s: silent; 9.8 s: 200";
        assert_eq!(changes_text(&changes), told);
        assert_eq!(changes_text(&[]), "not asked");
    }

    #[test]
    fn a_run_that_failed_does_not_hold_and_one_that_met_nothing_does() {
        assert!(!Row::failed("a", "b", "it did not start".to_owned()).holds());
        let found = Found::default();
        assert!(Row::new("a", "b", &[], &found).holds());
        found.note(Kind::Absent, "1 is absent".to_owned());
        assert!(!Row::new("a", "b", &[], &found).holds());
    }

    #[test]
    fn who_has_no_place_yet_is_not_counted_and_who_lost_it_is_not_kept() {
        let place = |seq, lost| {
            let mut place = Place::default();
            (place.seq, place.lost) = (seq, lost);
            place
        };
        let places = [place(0, false), place(1, false), place(2, true)];
        let row = Row::new("a", "b", &places, &Found::default());
        assert_eq!((row.acknowledged, row.kept), (2, 1));
    }
}
