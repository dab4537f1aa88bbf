//! Rehearsals of rooms that queue by themselves, and of the pacer that heeds the site.

use jari_crowd::{Crowd, Curve};
use jari_line::{AutoQueue, Mode, PacerKind, Settings, Signal};
use jari_rehearsal::{Plan, Report, Site, Stage, rehearse};
use jari_units::Millis;

use crate::plain_crowd;

fn run(settings: &Settings, crowd: &Crowd, site: Option<Site>) -> Report {
    let (settings, crowd) = (settings.clone(), crowd.clone());
    rehearse(&Plan { settings, crowd, site, horizon: Millis::from_mins(12 * 60) }, &mut |_| {})
}

fn auto(capacity: u64) -> Settings {
    let auto = AutoQueue { quiet_for: Millis::from_secs(30), ..AutoQueue::default() };
    Settings { capacity, mode: Mode::Auto, auto, ..Settings::default() }
}

#[test]
fn issue_5_nobody_waits_before_an_auto_room_on_a_quiet_day() {
    let crowd = plain_crowd(Curve::Steady, 300, Millis::from_mins(60));
    let report = run(&auto(1_000), &crowd, None);
    assert_eq!((report.queued.walked_in, report.queued.first_after), (300, None));
    assert_eq!((report.waits.max, report.peak.waiting), (Millis::ZERO, 0));
    assert_eq!(report.people.count(Stage::WentIn), 300);
    // The same room in mode on calls each with the next tick.
    let on = run(&Settings { mode: Mode::On, ..auto(1_000) }, &crowd, None);
    assert_eq!((on.queued.walked_in, on.people.count(Stage::WentIn)), (0, 300));
}

#[test]
fn issue_5_an_auto_room_queues_in_a_rush_and_walks_in_again_after_it() {
    let crowd = plain_crowd(Curve::Waves, 3_000, Millis::from_mins(30));
    let report = run(&auto(200), &crowd, None);
    let queued = report.queued;
    assert!(report.peak.live <= 200 && report.peak.waiting > 0, "{:?}", report.peak);
    assert!((1..3_000).contains(&queued.walked_in), "{queued:?}");
    assert!(queued.first_after.is_some_and(|after| after < Millis::from_mins(10)), "{queued:?}");
    assert!(queued.lasted > Millis::from_secs(30), "{queued:?}");
    assert_eq!(report.people.let_in(), 3_000);
    let on = run(&Settings { mode: Mode::On, ..auto(200) }, &crowd, None);
    assert_eq!(on.people.let_in(), 3_000);
    assert!(report.waits.p50 <= on.waits.p50, "{:?} {:?}", report.waits, on.waits);
}

/// What holds nobody up shows no line: a rehearsal is of the line that would be there.
#[test]
fn off_and_shadow_are_rehearsed_as_on() {
    let crowd = plain_crowd(Curve::Burst, 400, Millis::from_mins(1));
    let of = |mode| run(&Settings { mode, capacity: 50, ..Settings::default() }, &crowd, None);
    let [on, off, shadow] = [Mode::On, Mode::Off, Mode::Shadow].map(of);
    assert!(on.peak.waiting > 100, "{:?}", on.peak);
    for other in [off, shadow] {
        assert_eq!((other.waits, other.peak, other.totals), (on.waits, on.peak, on.totals));
    }
}

#[test]
fn issue_5_a_site_that_says_how_it_does_sets_the_pace() {
    let signal = Signal { start: 20, ..Signal::default() };
    let pacer = PacerKind::Signal(signal);
    let settings = Settings { capacity: 5_000, pacer, ..Settings::default() };
    let crowd = plain_crowd(Curve::Burst, 6_000, Millis::from_mins(2));
    let rates = |report: &Report| {
        let rates = report.timeline.iter().map(|moment| moment.rate_milli / 1_000);
        (rates.clone().min().expect("moments"), rates.max().expect("moments"))
    };
    let unheard = run(&settings, &crowd, None);
    assert_eq!(rates(&unheard), (20, 20), "nobody says anything");
    let easy = run(&settings, &crowd, Some(Site { busy_at: 100_000, overloaded_at: 100_000 }));
    assert_eq!(rates(&easy).1, signal.ceiling, "it could take more all the time");
    let tight = run(&settings, &crowd, Some(Site { busy_at: 300, overloaded_at: 400 }));
    assert_eq!(rates(&tight).0, signal.floor, "it had too much");
    let mut after = tight.timeline.iter().map(|moment| moment.rate_milli / 1_000);
    after.find(|rate| *rate == signal.floor).expect("a moment");
    assert!(after.any(|rate| rate > signal.floor), "and had less once people left");
    assert!(tight.peak.live < easy.peak.live / 2, "{:?} {:?}", tight.peak, easy.peak);
    assert!(tight.drained_after > easy.drained_after);
}
