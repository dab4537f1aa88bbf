//! A rehearsal's result for a person: the answer first, then the counts. Decides and draws nothing.

use jari_line::{Mode, PacerKind, Settings};
use jari_rehearsal::{Calibration, Queued, Report, Stage};
use jari_units::Millis;

use super::case::Case;
use crate::cli::table::card;

/// The whole answer.
pub(super) fn describe(case: &Case, report: &Report) -> String {
    let mut text = answer(&case.settings, report);
    text.push_str(&format!("\n{}\n{}", counts(case, report), estimates(&report.calibration)));
    for note in &case.notes {
        text.push_str(&format!("Note: {note}.\n"));
    }
    text
}

/// What the operator asked for, in sentences.
fn answer(settings: &Settings, report: &Report) -> String {
    let (waiting, let_in) = (report.people.count(Stage::InLine), report.people.let_in());
    let end = span(report.ended_after);
    let mut text = match report.drained_after {
        Some(_) if let_in == 0 => "Nobody is let in.".to_owned(),
        Some(after) => format!("The line is empty after {}.", span(after)),
        None if waiting > 0 => format!("After {end} {} still wait.", people(waiting)),
        None => {
            format!("After {end} {} are still to come.", people(report.people.count(Stage::ToCome)))
        }
    };
    let waits = &report.waits;
    if let_in > 0 {
        // Whoever still waits is in none of these numbers.
        let who = if waiting > 0 { "Of those let in, half waited" } else { "Half wait" };
        text.push_str(&format!(
            " {who} up to {}, nine in ten up to {}, the longest {}.",
            span(waits.p50),
            span(waits.p90),
            span(waits.max),
        ));
    }
    text.push_str(&format!(
        "\nAt most {} wait at once; inside are at most {} of {}.\n",
        count(report.peak.waiting),
        count(report.peak.live),
        count(settings.capacity),
    ));
    if settings.mode == Mode::Auto {
        text.push_str(&queue(&report.queued));
    }
    text
}

/// When an `auto` room queued.
fn queue(queued: &Queued) -> String {
    let walked_in = people(queued.walked_in);
    match queued.first_after {
        None => format!("It never queues: {walked_in} walk in.\n"),
        Some(after) => format!(
            "It queues after {}, for {} in all; {walked_in} walk in without a wait.\n",
            span(after),
            span(queued.lasted),
        ),
    }
}

/// People first, each of them in one row; then what the room counts, which does not know who has left without a word.
fn counts(case: &Case, report: &Report) -> String {
    let Report { people, totals, peak, .. } = report;
    let at = |stage| count(people.count(stage));
    let stay = totals.stay_ms.checked_div(totals.stays);
    let room = case.room.as_deref().unwrap_or("the default settings");
    let mut rows = vec![
        ("Crowd", case.coming.text.clone()),
        ("Room", format!("{room}, {}", limits(case))),
        ("Turned away", at(Stage::TurnedAway)),
        ("Gave up", at(Stage::GaveUp)),
        ("Missed their turn", at(Stage::Missed)),
        ("Let in", count(people.let_in())),
        ("  went in", at(Stage::WentIn)),
    ];
    if case.settings.mode == Mode::Auto {
        rows.push(("  walked in", count(report.queued.walked_in)));
    }
    rows.push(("Still waiting", at(Stage::InLine)));
    // Only a rehearsal that its horizon cut off has them.
    let cut_off = [("Away at their turn", Stage::Absent), ("Not come yet", Stage::ToCome)];
    let cut_off = cut_off.into_iter().filter(|(_, stage)| people.count(*stage) > 0);
    rows.extend(cut_off.map(|(name, stage)| (name, at(stage))));
    rows.extend([
        ("Places given", count(totals.joined)),
        ("  longest line", count(peak.line)),
        ("  passed over", count(totals.absent)),
        ("  of them returned", count(totals.returned)),
        ("  admitted", count(totals.admitted)),
        ("Unused passes", count(totals.no_shows)),
        ("Mean stay", stay.map_or("-".to_owned(), |stay| span(Millis(stay)))),
    ]);
    card(&rows)
}

/// How well the ranges held that people were shown.
fn estimates(held: &Calibration) -> String {
    if held.shown == 0 {
        return "No estimate was shown to anybody whose turn came.\n".to_owned();
    }
    let percent = |part: u64| format!("{:.1} %", part as f64 * 100.0 / held.shown as f64);
    format!(
        "{} of {} estimates shown held; {} came sooner, {} later. Half of the ranges were at most {} wide.\n",
        percent(held.within),
        count(held.shown),
        percent(held.sooner),
        percent(held.later),
        span(held.median_width),
    )
}

/// What limits the room, such as "20/s, capacity 1,500".
pub(super) fn limits(case: &Case) -> String {
    let settings = &case.settings;
    let pace = match settings.pacer {
        PacerKind::Fixed => per_second(settings.rate_milli as f64 / 1_000.0),
        PacerKind::Aimd(aimd) => {
            format!("pacer aimd from {}/s ({} to {})", aimd.start, aimd.floor, aimd.ceiling)
        }
        PacerKind::Manual => "pacer manual: nobody is let in by itself".to_owned(),
        PacerKind::Signal(signal) => match case.site {
            Some(site) => format!(
                "pacer signal from {}/s ({} to {}), a site busy at {} and overloaded at {}",
                signal.start,
                signal.floor,
                signal.ceiling,
                count(site.busy_at),
                count(site.overloaded_at),
            ),
            None => format!("pacer signal at {}/s, as nobody says anything here", signal.start),
        },
    };
    let mode = if settings.mode == Mode::Auto { "mode auto, " } else { "" };
    let total = settings.admit_total.map(|total| format!(", {} in all", count(total)));
    format!("{mode}{pace}, capacity {}{}", count(settings.capacity), total.unwrap_or_default())
}

pub(super) fn per_second(rate: f64) -> String {
    format!("{rate}/s")
}

fn people(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "person" } else { "people" })
}

/// A number with its thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span as people say it, rounded up: seconds to two minutes, then minutes, from two hours on hours and minutes.
pub(super) fn span(span: Millis) -> String {
    let secs = span.as_secs_ceil();
    let mins = secs.div_ceil(60);
    match (secs, mins) {
        (0..120, _) => format!("{secs} s"),
        (_, 0..120) => format!("{mins} min"),
        _ if mins.is_multiple_of(60) => format!("{} h", mins / 60),
        _ => format!("{} h {} min", mins / 60, mins % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_are_as_people_say_them() {
        for (number, want) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), want);
        }
        for (ms, want) in [
            (0, "0 s"),
            (1, "1 s"),
            (119_000, "119 s"),
            (119_001, "2 min"),
            (540_000, "9 min"),
            (540_001, "10 min"),
            (7_140_000, "119 min"),
            (7_200_000, "2 h"),
            (7_260_000, "2 h 1 min"),
        ] {
            assert_eq!(span(Millis(ms)), want, "{ms}");
        }
    }
}
