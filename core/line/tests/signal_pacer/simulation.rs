//! A site that loses half of its strength for a while, behind a room with the `signal` pacer: what the pacer makes of it,
//! and the picture of that. The room's rules are the real ones; the site is a model.

use std::collections::VecDeque;
use std::fmt::Write as _;

use jari_line::{Load, PacerKind, Room, SITE, SeenBits, Settings, Signal};
use jari_units::{Mark, Millis, PassId, SubjectKey, Timestamp};

/// How long everybody stays.
const STAY_S: u64 = 20;
/// People whom the site serves well, whole and halved: at these stays, 120 and 60 a second.
const WHOLE: u64 = 2_400;
const HALVED: u64 = 1_200;
/// When it has half of its strength, and how long all is watched.
pub(crate) const WEAK: std::ops::Range<u64> = 120..270;
pub(crate) const SECONDS: u64 = 420;
/// More people than are let in meanwhile.
const CROWD: u64 = 80_000;
/// What the site calls busy: nine tenths of what it serves well.
const BUSY: (u64, u64) = (9, 10);

/// One second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) second: u64,
    /// Admissions a second that the pacer allows.
    pub(crate) rate: u64,
    /// People inside, and how many of them the site serves well now.
    pub(crate) inside: u64,
    pub(crate) takes: u64,
}

fn takes(second: u64) -> u64 {
    if WEAK.contains(&second) { HALVED } else { WHOLE }
}

fn subject(number: u64) -> SubjectKey {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    SubjectKey(key)
}

/// Plays it. The site says once a second how it is, of the second before; the word counts for three.
pub(crate) fn play() -> Vec<Moment> {
    let settings = Settings {
        pacer: PacerKind::Signal(Signal::default()),
        capacity: 100_000,
        burst: 200,
        per_tick: 200,
        ..Settings::default()
    };
    let start = Timestamp(1_000_000_000);
    let mut room = Room::create(settings, start, 0).outcome;
    let people: Vec<SubjectKey> = (0..CROWD).map(subject).collect();
    room.join(Mark::NONE, &people).expect("no mark is never ahead");
    let mut staying: VecDeque<(u64, Vec<PassId>)> = VecDeque::new();
    let (mut moments, mut next) = (Vec::new(), 1);
    for second in 0..SECONDS {
        while staying.front().is_some_and(|(since, _)| second - since >= STAY_S) {
            let (_, done) = staying.pop_front().expect("it was just seen");
            room.end_pass(Mark::NONE, &done).expect("no mark is never ahead");
        }
        let (inside, takes) = (room.ledger().passes().live(), takes(second));
        let rate = room.ledger().rate_milli() / 1_000;
        moments.push(Moment { second, rate, inside, takes });
        let load = match inside {
            inside if inside > takes => Load::Overloaded,
            inside if inside * BUSY.1 > takes * BUSY.0 => Load::Busy,
            _ => Load::Ok,
        };
        room.signal(Mark::NONE, SITE, load, Millis(3_000)).expect("no mark is never ahead");
        // Everybody in line keeps their page open.
        let waiting = (next..=CROWD).collect();
        for bits in SeenBits::pack(&waiting) {
            room.seen(Mark::NONE, &bits).expect("no mark is never ahead");
        }
        let now = start + Millis((second + 1) * 1_000);
        room.admit(Mark::NONE, now, None).expect("no mark is never ahead");
        let called: Vec<PassId> =
            (next..).map_while(|seq| room.ledger().grant_of(seq).map(|grant| grant.id)).collect();
        next += called.len() as u64;
        room.claim(Mark::NONE, &called).expect("no mark is never ahead");
        staying.push_back((second, called));
    }
    moments
}

/// The picture's measures, in its own units.
const WIDTH: u64 = 720;
const HEIGHT: u64 = 300;
const LEFT: u64 = 48;
const TOP: u64 = 46;
const BOTTOM: u64 = 262;
/// The top of both scales: people inside, and admissions in 20 seconds, which is as many people.
const PEOPLE_MAX: u64 = 3_000;

fn x(second: u64) -> u64 {
    LEFT + second * (WIDTH - LEFT - 12) / SECONDS
}

fn y(people: u64) -> u64 {
    BOTTOM - people.min(PEOPLE_MAX) * (BOTTOM - TOP) / PEOPLE_MAX
}

fn line(svg: &mut String, class: &str, points: impl Iterator<Item = (u64, u64)>) {
    let points: Vec<String> =
        points.map(|(second, people)| format!("{},{}", x(second), y(people))).collect();
    _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
}

/// The picture of what was played.
pub(crate) fn picture(moments: &[Moment]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title\">\n<title id=\"title\">The signal pacer before a site that loses half of its \
         strength for {} seconds: people inside follow what the site takes</title>\n<style>text{{font:12px \
         sans-serif;fill:#444}}polyline{{fill:none;stroke-width:2}}.takes{{stroke:#999;stroke-dasharray:5 \
         4}}.inside{{stroke:#1565c0}}.rate{{stroke:#ef6c00;stroke-width:1}}.grid{{stroke:#ddd}}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n",
        WEAK.end - WEAK.start
    );
    for people in (0..=PEOPLE_MAX).step_by(1_000) {
        let (y, right) = (y(people), WIDTH - 12);
        _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {y}H{right}\"/>");
        _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{people}</text>",
            LEFT - 6,
            y + 4
        );
    }
    for second in (0..=SECONDS).step_by(60) {
        let (x, y) = (x(second), BOTTOM + 18);
        _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{second} s</text>");
    }
    line(&mut svg, "takes", moments.iter().map(|at| (at.second, at.takes)));
    line(&mut svg, "rate", moments.iter().map(|at| (at.second, at.rate * STAY_S)));
    line(&mut svg, "inside", moments.iter().map(|at| (at.second, at.inside)));
    for (at, (class, text)) in [
        ("takes", "what the site serves well"),
        ("inside", "people inside"),
        ("rate", "rate x 20 s"),
    ]
    .into_iter()
    .enumerate()
    {
        let left = LEFT + at as u64 * 200;
        _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{left},20 {},20\"/>", left + 26);
        _ = writeln!(svg, "<text x=\"{}\" y=\"24\">{text}</text>", left + 32);
    }
    svg.push_str("</svg>\n");
    svg
}
