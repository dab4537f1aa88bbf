//! One person's plan, drawn from the crowd's habits. What becomes of it depends on the line, and on whoever drives it.

use jari_units::Millis;

use crate::arrivals::Arrivals;
use crate::dice::{Dice, span};
use crate::habits::{Habits, Spread};

/// The most that one person refreshes: a finger gets tired.
const REFRESHES_MAX: f64 = 3.0;

/// What a person will do. Spans count from what comes before: arrivals from the crowd's start, interruptions and
/// patience from the join, reactions from the call, the visit from going in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub number: u32,
    pub arrives_after: Millis,
    pub device: Device,
    /// How long this person takes to click, each time.
    pub reaction: Millis,
    /// In order of time; they may overlap, then the later one starts when the earlier is over.
    pub interruptions: Vec<Interruption>,
    /// `None`: waits for as long as it takes.
    pub gives_up: Option<GivesUp>,
    pub turn: Turn,
}

/// How the person's browser hears from the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    Stream,
    Poll,
}

/// Something that happens while waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    pub after: Millis,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The phone is locked: nothing is sent and nothing read for so long.
    Idle(Millis),
    /// The page is closed and opened again after so long: a new join of the same person.
    CloseAndReturn(Millis),
    /// A new join of the same person, at once.
    Refresh,
    /// A second tab joins and hears the line for so long.
    SecondTab(Millis),
}

/// The person has had enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivesUp {
    pub after: Millis,
    /// Presses "leave"; else the page is only closed.
    pub says_goodbye: bool,
}

/// What the person does when the turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    GoesIn(Visit),
    /// Is called and never goes in.
    NoShow,
}

/// What the person does inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub dwell: Millis,
    pub touch_every: Millis,
    /// Ends the visit; else vanishes, and the pass runs out.
    pub ends: bool,
}

/// Draws person `number`. Every trait is drawn whether it is used or not, so that changing one habit changes only what
/// hangs on it, and not the whole crowd.
pub(crate) fn draw(seed: u64, number: u32, arrivals: &Arrivals, habits: &Habits) -> Person {
    let mut dice = Dice::new(seed, u64::from(number));
    let arrives_after = arrivals.after(dice.unit());
    let device = if dice.chance(habits.streams) { Device::Stream } else { Device::Poll };
    let reaction = spread(&mut dice, habits.reaction);
    let impatient = dice.chance(habits.impatient);
    let gives_up = GivesUp {
        after: span(dice.exponential(secs(habits.patience_mean))),
        says_goodbye: dice.chance(habits.says_goodbye),
    };
    let no_show = dice.chance(habits.no_shows);
    let visit = Visit {
        dwell: spread(&mut dice, habits.dwell),
        touch_every: habits.touch_every,
        ends: dice.chance(habits.ends_visit),
    };
    Person {
        number,
        arrives_after,
        device,
        reaction,
        interruptions: interruptions(&mut dice, habits),
        gives_up: impatient.then_some(gives_up),
        turn: if no_show { Turn::NoShow } else { Turn::GoesIn(visit) },
    }
}

fn interruptions(dice: &mut Dice, habits: &Habits) -> Vec<Interruption> {
    let within = secs(habits.interrupted_within);
    let mut all = Vec::new();
    let mut maybe = |dice: &mut Dice, share: f64, what: What| {
        let after = span(dice.between(0.0, within));
        if dice.chance(share) {
            all.push(Interruption { after, what });
        }
    };
    let idle = What::Idle(spread(dice, habits.idle));
    maybe(dice, habits.idles, idle);
    let away = What::CloseAndReturn(spread(dice, habits.away));
    maybe(dice, habits.closes_page, away);
    let tab = What::SecondTab(spread(dice, habits.second_tab));
    maybe(dice, habits.second_tabs, tab);
    let presses = dice.between(1.0, REFRESHES_MAX + 1.0);
    let refreshes = dice.chance(habits.refreshes);
    for press in 1..=REFRESHES_MAX as u32 {
        let wanted = refreshes && f64::from(press) <= presses;
        maybe(dice, if wanted { 1.0 } else { 0.0 }, What::Refresh);
    }
    all.sort_by_key(|interruption| interruption.after);
    all
}

fn spread(dice: &mut Dice, spread: Spread) -> Millis {
    span(dice.log_normal(secs(spread.median), spread.sigma))
}

fn secs(span: Millis) -> f64 {
    span.0 as f64 / 1_000.0
}
