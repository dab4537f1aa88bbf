//! The `signal` pacer over minutes: it finds what a site takes, gives way when that becomes less, and comes back. The picture
//! in the documentation is of this very run.

mod simulation;

use simulation::{Moment, WEAK, picture, play};

/// As committed; `cargo run --example signal_pacer` prints it anew.
const PICTURE: &str = include_str!("../../../../docs/explanation/signal-pacer.svg");

/// A cut shows at the site once those let in before it have left: so long after a change nothing is promised.
const REACTION_S: u64 = 40;

fn between(moments: &[Moment], seconds: std::ops::Range<u64>) -> Vec<Moment> {
    moments.iter().filter(|at| seconds.contains(&at.second)).copied().collect()
}

/// People inside in the mean, of a hundred whom the site takes.
fn use_percent(moments: &[Moment]) -> u64 {
    let (inside, takes) = moments.iter().fold((0, 0), |(i, t), at| (i + at.inside, t + at.takes));
    inside * 100 / takes
}

#[test]
fn it_follows_what_the_site_takes_down_and_up_again() {
    let moments = play();
    for seconds in [70..WEAK.start, WEAK.start + REACTION_S..WEAK.end, WEAK.end + 60..420] {
        let then = between(&moments, seconds.clone());
        let worst = then.iter().map(|at| at.inside * 100 / at.takes).max().expect("seconds");
        let used = use_percent(&then);
        println!("{seconds:?}: {used} % used, at most {worst} %");
        assert!(worst <= 125, "{seconds:?}: {worst} % of what the site takes");
        assert!(used >= 60, "{seconds:?}: {used} % used");
    }
}

#[test]
fn the_picture_is_of_this_run() {
    let now = picture(&play());
    assert!(
        now == PICTURE,
        "the pacer changed: `cargo run --example signal_pacer` prints its picture anew"
    );
}
