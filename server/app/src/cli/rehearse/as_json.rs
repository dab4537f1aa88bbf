//! A rehearsal's result for a script: every number, spans in milliseconds. The names are those of the API where it has them.

use jari_api::admin::{SettingsBody, rate_per_s};
use jari_rehearsal::{Calibration, Moment, Report, Stage, Waits};
use jari_units::Millis;
use serde_json::{Value, json};

use super::case::Case;

pub(super) fn write(case: &Case, report: &Report, horizon: Millis) -> String {
    let Report { people, totals, peak, queued, .. } = report;
    let count = |stage| people.count(stage);
    let answer = json!({
        "room": case.room,
        "settings": SettingsBody::from(&case.settings),
        "notes": case.notes,
        "crowd": {
            "people": people.all(),
            "curve": case.coming.curve,
            "arrivals_file": case.coming.file,
            "window_ms": case.crowd.arrivals().window,
            "seed": case.coming.seed,
        },
        "site": case.site.map(|site| json!({"busy_at": site.busy_at, "overloaded_at": site.overloaded_at})),
        "horizon_ms": horizon,
        "ended_after_ms": report.ended_after,
        "drained_after_ms": report.drained_after,
        "not_come": count(Stage::ToCome),
        "turned_away": count(Stage::TurnedAway),
        "gave_up": count(Stage::GaveUp),
        "missed_turn": count(Stage::Missed),
        "let_in": people.let_in(),
        "went_in": count(Stage::WentIn),
        "walked_in": queued.walked_in,
        "queued_first_after_ms": queued.first_after,
        "queued_ms": queued.lasted,
        "waiting_at_end": count(Stage::InLine),
        "absent_at_end": count(Stage::Absent),
        "waiting_max": peak.waiting,
        "line_max": peak.line,
        "live_max": peak.live,
        "waits": waits(&report.waits),
        "joined_total": totals.joined,
        "admitted_total": totals.admitted,
        "claimed_total": totals.claimed,
        "no_shows_total": totals.no_shows,
        "absent_total": totals.absent,
        "returned_total": totals.returned,
        "left_total": totals.left,
        "mean_stay_ms": totals.stay_ms.checked_div(totals.stays),
        "estimates": estimates(&report.calibration),
        "timeline": report.timeline.iter().map(moment).collect::<Vec<_>>(),
    });
    format!("{answer:#}\n")
}

fn waits(waits: &Waits) -> Value {
    json!({
        "people": waits.people,
        "p50_ms": waits.p50,
        "p90_ms": waits.p90,
        "p99_ms": waits.p99,
        "max_ms": waits.max,
    })
}

fn estimates(held: &Calibration) -> Value {
    json!({
        "shown": held.shown,
        "within": held.within,
        "sooner": held.sooner,
        "later": held.later,
        "median_width_ms": held.median_width,
    })
}

fn moment(moment: &Moment) -> Value {
    json!({
        "at_ms": moment.at,
        "waiting": moment.waiting,
        "line": moment.line,
        "live": moment.live,
        "admitted": moment.admitted,
        "rate_per_s": rate_per_s(moment.rate_milli),
    })
}
