//! Rehearsals of known outcome, and how well estimates hold over all named curves.

use jari_crowd::{Arrivals, Crowd, Curve, Habits};
use jari_line::Settings;
use jari_rehearsal::{Plan, Report, rehearse};
use jari_units::Millis;

fn crowd(curve: Curve, people: u32, window: Millis, habits: Habits) -> Crowd {
    Crowd::new(20_261_130, people, Arrivals { shape: curve.shape(), window }, habits)
        .expect("good habits")
}

fn run(settings: Settings, crowd: Crowd) -> Report {
    let plan = Plan { settings, crowd, horizon: Millis::from_mins(12 * 60) };
    rehearse(&plan, &mut |_| {})
}

/// People without quirks: what comes of them can be reckoned by hand.
fn plain() -> Habits {
    Habits {
        impatient: 0.0,
        idles: 0.0,
        closes_page: 0.0,
        no_shows: 0.0,
        ends_visit: 1.0,
        ..Habits::default()
    }
}

#[test]
fn a_plain_crowd_drains_at_the_rate() {
    let settings =
        Settings { capacity: 100_000, rate_milli: 50_000, burst: 50, ..Settings::default() };
    let report = run(settings, crowd(Curve::Burst, 6_000, Millis::from_secs(10), plain()));
    assert_eq!(report.totals.admitted, 6_000);
    assert_eq!((report.totals.no_shows, report.gave_up, report.turned_away), (0, 0, 0));
    let drained = report.drained_after.expect("it drains").0 / 1_000;
    assert!((118..=122).contains(&drained), "6,000 at 50/s after {drained} s");
    assert!(report.waits.max <= Millis::from_secs(122), "{:?}", report.waits);
}

#[test]
fn capacity_bounds_who_is_inside() {
    let settings = Settings { capacity: 200, ..Settings::default() };
    let report = run(settings, crowd(Curve::Stadium, 2_000, Millis::from_mins(5), plain()));
    assert_eq!(report.peak_live, 200);
    assert_eq!(report.totals.admitted, 2_000);
}

#[test]
fn whoever_comes_after_the_last_ticket_is_turned_away() {
    let settings = Settings { admit_total: Some(100), ..Settings::default() };
    let report = run(settings, crowd(Curve::Ramp, 1_000, Millis::from_mins(5), plain()));
    assert_eq!(report.totals.admitted, 100);
    assert_eq!(report.turned_away + report.totals.joined, 1_000);
    assert!(report.turned_away > 800);
}

/// Settings of a small, a middling and a large sale: people, capacity, rate.
const SALES: [(u32, u64, u64); 3] = [(600, 60, 5), (3_000, 300, 20), (10_000, 1_500, 20)];

/// The reach line: the truth lies within the shown range at least nine times in ten, with people who idle, leave, come
/// back and fail to show up.
#[test]
fn estimates_hold_nine_times_in_ten_on_every_curve() {
    let mut worst = 1.0f64;
    for (people, capacity, rate) in SALES {
        for curve in Curve::ALL {
            let rate_milli = rate * 1_000;
            let settings = Settings { capacity, rate_milli, burst: rate, ..Settings::default() };
            let window = Millis::from_mins(10);
            let report = run(settings, crowd(curve, people, window, Habits::default()));
            let held = report.calibration;
            println!("{people} {curve}: {:.3} within, {held:?}", held.share_within());
            assert!(held.shown > 1_000, "{people} {curve}: {held:?}");
            worst = worst.min(held.share_within());
        }
    }
    assert!(worst >= 0.9, "{worst:.3} within at the worst");
}
