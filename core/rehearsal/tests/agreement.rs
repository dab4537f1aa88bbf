//! A report never contradicts itself: over all curves, random rooms and random crowds its numbers add up to each other.

use jari_conformance::history;
use jari_crowd::{Arrivals, Crowd, Curve, Habits, Spread};
use jari_line::{Aimd, AutoQueue, Mode, PacerKind, Settings, Signal};
use jari_rehearsal::{Moment, Plan, Report, Site, Stage, rehearse};
use jari_units::Millis;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Each is played before all five curves.
const CASES: u32 = 40;

type Checked = Result<(), TestCaseError>;

fn secs(range: std::ops::Range<u64>) -> impl Strategy<Value = Millis> {
    range.prop_map(Millis::from_secs)
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

fn settings() -> impl Strategy<Value = Settings> {
    let pacer = prop_oneof![
        6 => Just(PacerKind::Fixed),
        2 => (1..20u64).prop_map(|threshold| PacerKind::Aimd(Aimd { threshold, ..Aimd::default() })),
        1 => Just(PacerKind::Manual),
        2 => Just(PacerKind::Signal(Signal { start: 10, ..Signal::default() })),
    ];
    let limits = (0..80u64, 0..20_000u64, 1..30u64, 1..30u64, pacer);
    let spans = (secs(5..300), secs(5..180), secs(0..400), secs(10..90));
    let bounds = (prop_oneof![Just(2_000_000), 1..200u64], proptest::option::of(0..200u64));
    let mode = prop_oneof![2 => Just(Mode::On), 2 => Just(Mode::Auto), 1 => Just(Mode::Shadow)];
    (limits, spans, bounds, (mode, auto())).prop_map(|(limits, spans, bounds, mode)| Settings {
        capacity: limits.0,
        rate_milli: limits.1,
        burst: limits.2,
        per_tick: limits.3,
        pacer: limits.4,
        pass_ttl: spans.0,
        claim_window: spans.1,
        absence_grace: spans.2,
        presence_window: spans.3,
        max_waiting: bounds.0,
        admit_total: bounds.1,
        mode: mode.0,
        auto: mode.1,
        ..Settings::default()
    })
}

fn auto() -> impl Strategy<Value = AutoQueue> {
    let at = || proptest::option::of(1..80u64);
    (at(), at(), secs(5..120)).prop_map(|(at_live, at_arrivals_per_s, quiet_for)| AutoQueue {
        at_live,
        at_arrivals_per_s,
        quiet_for,
    })
}

fn habits() -> impl Strategy<Value = Habits> {
    let leaving = (share(), secs(1..900), share());
    let pausing = (share(), secs(1..300), share(), secs(1..600), secs(1..300));
    let inside = (share(), secs(1..300), secs(1..60), share());
    (leaving, pausing, inside).prop_map(|(leaving, pausing, inside)| {
        let spread = |median| Spread { median, sigma: 0.8 };
        Habits {
            impatient: leaving.0,
            patience_mean: leaving.1,
            says_goodbye: leaving.2,
            idles: pausing.0,
            idle: spread(pausing.1),
            closes_page: pausing.2,
            away: spread(pausing.3),
            interrupted_within: pausing.4,
            no_shows: inside.0,
            dwell: spread(inside.1),
            touch_every: inside.2,
            ends_visit: inside.3,
            ..Habits::default()
        }
    })
}

/// A plan on `curve`, as the command line would not always let it be: cut off before the last has come, too.
fn plan(curve: Curve, settings: &Settings, habits: &Habits, drawn: &Drawn) -> Plan {
    let arrivals = Arrivals { shape: curve.shape(), window: drawn.window };
    let crowd = Crowd::new(drawn.seed, drawn.people, arrivals, habits.clone());
    Plan {
        settings: settings.clone(),
        crowd: crowd.expect("good habits"),
        site: drawn.site,
        horizon: drawn.horizon,
    }
}

/// What is drawn beside the room and the people.
#[derive(Clone, Debug)]
struct Drawn {
    seed: u64,
    people: u32,
    window: Millis,
    site: Option<Site>,
    horizon: Millis,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let horizon = prop_oneof![1 => secs(1..1_200), 3 => Just(Millis::from_mins(60))];
    let site = (1..60u64, 0..60u64)
        .prop_map(|(busy_at, more)| Site { busy_at, overloaded_at: busy_at + more });
    (any::<u64>(), 1..200u32, secs(1..900), proptest::option::of(site), horizon).prop_map(
        |(seed, people, window, site, horizon)| Drawn { seed, people, window, site, horizon },
    )
}

#[test]
fn the_numbers_of_a_report_add_up() {
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let mut runner = history::runner("core/rehearsal agreement", CASES, seed);
    let seen = std::cell::Cell::new([0u64; Stage::ALL.len()]);
    let outcome = runner.run(&(settings(), habits(), drawn()), |(settings, habits, drawn)| {
        settings.check().map_err(|error| TestCaseError::fail(error.to_string()))?;
        for curve in Curve::ALL {
            let plan = plan(curve, &settings, &habits, &drawn);
            let report = rehearse(&plan, &mut |_| {});
            let counts = Stage::ALL.map(|stage| report.people.count(stage));
            seen.set(std::array::from_fn(|i| seen.get()[i] + counts[i]));
            check(&plan, &habits, &report)
                .map_err(|error| TestCaseError::fail(format!("{curve}: {error}; {report:?}")))?;
        }
        Ok(())
    });
    println!("people by stage: {:?}", Stage::ALL.into_iter().zip(seen.get()).collect::<Vec<_>>());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(
        seen.get().iter().all(|people| *people > 0),
        "every stage is reached: {:?}",
        seen.get()
    );
}

fn check(plan: &Plan, habits: &Habits, report: &Report) -> Checked {
    check_people(plan, report)?;
    check_room(plan, report)?;
    check_times(plan, report)?;
    check_queue(plan, report)?;
    check_timeline(habits, report)
}

/// Who walks in has not waited, and only an `auto` room lets anybody.
fn check_queue(plan: &Plan, report: &Report) -> Checked {
    let queued = report.queued;
    prop_assert!(queued.walked_in <= report.people.count(Stage::WentIn), "{queued:?}");
    prop_assert_eq!(queued.first_after.is_some(), queued.lasted > Millis::ZERO);
    prop_assert!(queued.lasted <= report.ended_after + Millis(1_000), "{queued:?}");
    if plan.settings.mode != Mode::Auto {
        prop_assert_eq!(queued, jari_rehearsal::Queued::default());
    }
    Ok(())
}

/// Everybody stands somewhere, and each has one wait.
fn check_people(plan: &Plan, report: &Report) -> Checked {
    let at = |stage| report.people.count(stage);
    prop_assert_eq!(report.people.all(), u64::from(plan.crowd.people()));
    let all = plan.crowd.in_order_of_arrival();
    let late = all.iter().filter(|person| person.arrives_after > report.ended_after).count();
    prop_assert_eq!(at(Stage::ToCome), late as u64);
    prop_assert_eq!(report.waits.people, report.people.let_in());
    let over = report.ended_after + Millis(1_000) < plan.horizon;
    let left = (at(Stage::InLine), at(Stage::Absent), at(Stage::ToCome));
    prop_assert!(!over || left == (0, 0, 0), "it is over, and {left:?} are not through");
    Ok(())
}

/// The room, which knows places only, has counted the same people.
fn check_room(plan: &Plan, report: &Report) -> Checked {
    let (at, totals) = (|stage| report.people.count(stage), &report.totals);
    let came = report.people.all() - at(Stage::ToCome);
    prop_assert_eq!(totals.joined, came - at(Stage::TurnedAway));
    prop_assert_eq!(totals.claimed, at(Stage::WentIn));
    let in_vain = totals.admitted.checked_sub(report.people.let_in());
    prop_assert!(
        in_vain.is_some_and(|in_vain| in_vain <= at(Stage::GaveUp)),
        "{in_vain:?} in vain"
    );
    let gone = at(Stage::GaveUp) + at(Stage::LetIn);
    prop_assert!(totals.left <= gone, "{} said goodbye, {gone} went", totals.left);
    let back = totals.absent.checked_sub(totals.returned);
    let away = at(Stage::Absent) + at(Stage::Missed);
    prop_assert!(back.is_some_and(|others| away <= others), "{back:?} did not return, {away} away");
    prop_assert!(report.peak.live <= plan.settings.capacity);
    prop_assert!(report.peak.line <= plan.settings.max_waiting);
    prop_assert!(plan.settings.admit_total.is_none_or(|total| totals.admitted <= total));
    Ok(())
}

fn check_times(plan: &Plan, report: &Report) -> Checked {
    let waits = &report.waits;
    let rising = [waits.p50, waits.p90, waits.p99, waits.max, report.ended_after];
    prop_assert!(rising.is_sorted(), "{rising:?}");
    prop_assert!(report.ended_after < plan.horizon);
    let held = report.calibration;
    prop_assert_eq!(held.shown, held.within + held.sooner + held.later);
    let waiting = report.people.count(Stage::InLine) + report.people.count(Stage::ToCome);
    prop_assert_eq!(report.drained_after.is_some(), waiting == 0);
    let Some(drained) = report.drained_after else { return Ok(()) };
    let all = plan.crowd.in_order_of_arrival();
    let last = all.last().map_or(Millis::ZERO, |person| person.arrives_after);
    prop_assert!((last..=report.ended_after).contains(&drained), "{drained} is not after {last}");
    // It tells the first moment of which this is true.
    let just_before = |moment: &&Moment| moment.at + Millis(1_000) == drained;
    if let Some(before) = report.timeline.iter().find(just_before) {
        prop_assert!(before.waiting > 0 || last > before.at, "{before:?} was empty as well");
    }
    let after = report.timeline.iter().filter(|moment| moment.at >= drained);
    prop_assert!(after.clone().count() > 0 || report.timeline.is_empty());
    for moment in after {
        prop_assert_eq!(moment.waiting, 0, "at {}", moment.at);
    }
    Ok(())
}

/// What a picture is drawn from is what the numbers say.
fn check_timeline(habits: &Habits, report: &Report) -> Checked {
    let (timeline, peak) = (&report.timeline, &report.peak);
    let highest = |full: fn(&Moment) -> u64| timeline.iter().map(full).max().unwrap_or_default();
    let drawn = [highest(|m| m.waiting), highest(|m| m.line), highest(|m| m.live)];
    prop_assert_eq!(drawn, [peak.waiting, peak.line, peak.live]);
    prop_assert!(timeline.is_sorted_by(|a, b| a.at < b.at && a.admitted <= b.admitted));
    let last = timeline.last().copied().unwrap_or_default();
    let end = (report.ended_after, report.people.count(Stage::InLine), report.totals.admitted);
    prop_assert_eq!((last.at, last.waiting, last.admitted), end);
    for moment in timeline {
        prop_assert!(moment.waiting <= moment.line, "{moment:?}");
    }
    if habits.impatient == 0.0 || habits.says_goodbye == 1.0 {
        // Nobody leaves without a word: the room knows as much as we do.
        prop_assert!(timeline.iter().all(|moment| moment.waiting == moment.line));
        prop_assert_eq!(report.totals.admitted, report.people.let_in());
    }
    Ok(())
}
