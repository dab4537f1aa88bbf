//! Random histories of a room: whole lives of visitors and operators with a moving clock, and how one step is played.

use std::cell::Cell;
use std::collections::BTreeSet;

use jari_line::{
    AdmitNow, Aimd, AutoQueue, Change, ClosedNext, Load, Mode, PacerKind, SeenBits, SeqSet,
    Settings, Signal,
};
use jari_units::{Millis, PassId, Seq, SubjectKey, Timestamp};
use proptest::prelude::*;
use proptest::strategy::Union;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::stores::Size;

/// People in a history: few enough that they meet themselves again.
pub const PEOPLE: u8 = 40;
/// How long a failing history is made shorter: within a test's time, however slow the store.
const SHRINK_MAX_MS: u32 = 60_000;
/// When histories start.
pub const START: Timestamp = Timestamp(1_700_000_000_000);

/// One step of a history. Picks are resolved against what the history has handed out so far.
#[derive(Clone, Debug)]
pub enum Step {
    Join(Vec<u8>),
    /// So many people whom the history has not met.
    JoinCrowd(u16),
    Leave(Vec<u8>),
    /// Presence of every n-th place from an offset: (offset, step), over all numbers given and some beyond.
    Seen(u8, u8),
    /// Moves the clock, then ticks.
    Admit(u32),
    /// The clock steps back, then ticks: time must not.
    AdmitAfterStepBack(u32),
    AdmitCount(u8),
    AdmitSubjects(Vec<u8>),
    Claim(Vec<u8>),
    Touch(Vec<u8>),
    Extend(u8, u32),
    /// A one-time token: (pass, which of its tokens, which call of the site).
    Redeem(u8, u8, u8),
    EndPass(Vec<u8>),
    Revoke(Vec<u8>),
    Change(Box<Change>),
    /// A source says how the site is doing, for so many milliseconds.
    Signal(u8, Load, u32),
    /// The store stops and starts again; the core goes on.
    Restart,
}

/// What a history has handed out: what later steps pick from.
#[derive(Debug, Default)]
pub struct Known {
    pub passes: Vec<PassId>,
    pub next_seq: Seq,
    /// People in crowds so far.
    pub crowd: u64,
}

/// The person number `who`.
#[must_use]
pub fn person(who: u8) -> SubjectKey {
    // The first byte is the store's shard: spread people over several.
    SubjectKey([who.wrapping_mul(37), who, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
}

/// The person number `n` of a crowd: none of those that steps name.
fn crowd_person(n: u64) -> SubjectKey {
    let mut key = [0xc0; 16];
    key[..8].copy_from_slice(&n.to_le_bytes());
    SubjectKey(key)
}

#[must_use]
pub fn people(who: &[u8]) -> Vec<SubjectKey> {
    who.iter().map(|who| person(*who)).collect()
}

impl Known {
    /// The passes that `picks` stand for; a made-up one where none was granted yet, and now and then a forged one.
    #[must_use]
    pub fn passes(&self, picks: &[u8]) -> Vec<PassId> {
        let forged = PassId { incarnation: 1, seq: 1, grant: 1 };
        let newest_first = |pick: u8| self.passes.iter().rev().nth(usize::from(pick) % 24).copied();
        picks.iter().map(|pick| newest_first(*pick).unwrap_or(forged)).collect()
    }

    /// Notes passes; a pass is known once.
    pub fn note(&mut self, pass: PassId) {
        if !self.passes.contains(&pass) {
            self.passes.push(pass);
        }
    }

    /// The next `count` people of a crowd.
    pub fn crowd(&mut self, count: u16) -> Vec<SubjectKey> {
        let first = self.crowd;
        self.crowd += u64::from(count);
        (first..self.crowd).map(crowd_person).collect()
    }

    /// The presence bits of a `Seen` step: at most one call, as all numbers are near.
    #[must_use]
    pub fn seen(&self, offset: u8, step: u8) -> SeenBits {
        let step = u64::from(step.max(1));
        let last = self.next_seq + 9;
        let seqs: SeqSet = (u64::from(offset)..=last).step_by(step as usize).collect();
        let none = || SeenBits::new(0, Vec::new()).expect("aligned and short");
        SeenBits::pack(&seqs).into_iter().next().unwrap_or_else(none)
    }
}

/// The subjects of an `AdmitSubjects` step.
#[must_use]
pub fn by_name(who: &[u8]) -> AdmitNow {
    AdmitNow::Subjects(people(who))
}

/// Small numbers, so that every bound is met within a history; now and then a room that takes crowds.
pub fn settings() -> impl Strategy<Value = Settings> {
    let pacer = prop_oneof![
        6 => Just(PacerKind::Fixed),
        2 => Just(PacerKind::Aimd(Aimd { start: 4, increase: 1, floor: 1, ceiling: 9, threshold: 6 })),
        1 => Just(PacerKind::Manual),
        2 => (prop::option::of(1u64..900), 1u64..=100).prop_map(|(slow, errors_percent)| {
            let (slow, settle) = (slow.map(Millis), Millis::from_secs(3));
            let rates = Signal { start: 4, increase: 1, floor: 1, ceiling: 9, ..Signal::default() };
            PacerKind::Signal(Signal { settle, slow, errors_percent, ..rates })
        }),
    ];
    let counts = prop_oneof![
        5 => (0u64..20, 0u64..8_000, 1u64..12, 1u64..10, 5u64..60),
        1 => (50u64..400, 0u64..90_000, 50u64..300, 50u64..=200, 200u64..2_000),
    ];
    let spans = (5u64..40, 5u64..40, 0u64..120, 10u64..40);
    let rest = (prop::option::weighted(0.15, 5u64..60), prop::option::weighted(0.2, 0u64..60));
    (pacer, counts, spans, rest, mode()).prop_map(|(pacer, counts, spans, rest, (mode, auto))| {
        let (admit_total, opens_in) = rest;
        let (capacity, rate_milli, burst, per_tick, max_waiting) = counts;
        let secs = Millis::from_secs;
        Settings {
            capacity,
            rate_milli,
            burst,
            per_tick,
            pacer,
            max_waiting,
            admit_total,
            pass_ttl: secs(spans.0),
            claim_window: secs(spans.1),
            absence_grace: secs(spans.2),
            presence_window: secs(spans.3),
            opens_at: opens_in.map(|secs| START + Millis::from_secs(secs)),
            joins_from: opens_in
                .filter(|secs| secs % 2 == 0)
                .map(|secs| START + Millis(secs * 500)),
            mode,
            auto,
            ..Settings::default()
        }
    })
}

/// Half of the rooms are on; the others are mostly `auto`, with thresholds that a history meets.
fn mode() -> impl Strategy<Value = (Mode, AutoQueue)> {
    let mode = prop_oneof![
        5 => Just(Mode::On),
        4 => Just(Mode::Auto),
        1 => Just(Mode::Shadow),
        1 => Just(Mode::Off),
    ];
    let some = |most: u64| prop::option::weighted(0.7, 1..most);
    let auto = (some(20), some(40), 5u64..12).prop_map(|(at_live, at_arrivals_per_s, quiet)| {
        AutoQueue { at_live, at_arrivals_per_s, quiet_for: Millis::from_secs(quiet) }
    });
    (mode, auto)
}

fn load() -> impl Strategy<Value = Load> {
    prop_oneof![Just(Load::Ok), Just(Load::Busy), Just(Load::Overloaded)]
}

fn change() -> impl Strategy<Value = Change> {
    let who = || (0..PEOPLE).prop_map(person);
    prop_oneof![
        3 => settings().prop_map(|settings| Change::Settings(Box::new(settings))),
        2 => Just(Change::Pause),
        3 => Just(Change::Resume),
        2 => Just(Change::Open),
        1 => Just(Change::Close(ClosedNext { reopens_at: None, message: "later".into() })),
        1 => "[a-z]{0,3}".prop_map(Change::Announce),
        1 => who().prop_map(Change::Block),
        1 => who().prop_map(Change::Unblock),
        1 => who().prop_map(Change::Allow),
        1 => who().prop_map(Change::Disallow),
        1 => prop::option::of(0u64..80).prop_map(Change::AdmitTotal),
        1 => any::<bool>().prop_map(Change::SoldOut),
    ]
}

/// One step of a room's life.
pub fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(0..PEOPLE, 1..8);
    let picks = || prop::collection::vec(any::<u8>(), 1..5);
    let weighted: Vec<(u32, BoxedStrategy<Step>)> = vec![
        (12, some().prop_map(Step::Join).boxed()),
        (1, (20u16..=200).prop_map(Step::JoinCrowd).boxed()),
        (3, some().prop_map(Step::Leave).boxed()),
        (8, (0u8..20, 1u8..12).prop_map(|(from, by)| Step::Seen(from, by)).boxed()),
        (24, (0u32..2_500).prop_map(Step::Admit).boxed()),
        (6, (2_000u32..5_000).prop_map(Step::Admit).boxed()),
        (1, (5_001u32..400_000).prop_map(Step::Admit).boxed()),
        (1, (1u32..300_000).prop_map(Step::AdmitAfterStepBack).boxed()),
        (2, (0u8..6).prop_map(Step::AdmitCount).boxed()),
        (1, some().prop_map(Step::AdmitSubjects).boxed()),
        (4, picks().prop_map(Step::Claim).boxed()),
        (4, picks().prop_map(Step::Touch).boxed()),
        (1, (any::<u8>(), 0u32..400_000).prop_map(|(pick, ms)| Step::Extend(pick, ms)).boxed()),
        (
            3,
            (any::<u8>(), 0u8..6, 0u8..2)
                .prop_map(|(pass, no, by)| Step::Redeem(pass, no, by))
                .boxed(),
        ),
        (2, picks().prop_map(Step::EndPass).boxed()),
        (1, some().prop_map(Step::Revoke).boxed()),
        (4, change().prop_map(|change| Step::Change(Box::new(change))).boxed()),
        (
            3,
            (0u8..4, load(), 0u32..20_000)
                .prop_map(|(of, load, ms)| Step::Signal(of, load, ms))
                .boxed(),
        ),
        (1, Just(Step::Restart).boxed()),
    ];
    Union::new_weighted(weighted)
}

/// The first settings and `steps` steps.
pub fn history(steps: usize) -> impl Strategy<Value = (Settings, Vec<Step>)> {
    (settings(), prop::collection::vec(step(), steps / 2..steps))
}

/// The seed of a run that is not told another one.
pub const SEED: u64 = 20_261_130;

/// A runner whose seed is printed. `JARI_SEED` chooses another one; a failure prints the shortest history found.
#[must_use]
pub fn runner(name: &str, cases: u32, seed: Option<String>) -> TestRunner {
    let seed = seed.map_or(SEED, |text| text.parse().expect("JARI_SEED is a whole number"));
    announce(&format!("{name}: {cases} histories, seed {seed} (JARI_SEED={seed} repeats them)"));
    seeded(cases, seed)
}

/// What a run of this size draws with [`SEED`], counted and not played.
pub(crate) fn drawn<H: Strategy>(size: Size, histories: &H, of: fn(H::Value) -> usize) -> usize {
    let all = Cell::new(0);
    let counted = seeded(size.histories, SEED).run(histories, |history| {
        all.set(all.get() + of(history));
        Ok(())
    });
    counted.expect("nothing is checked");
    all.get()
}

fn seeded(cases: u32, seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&u64::to_le_bytes(seed));
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        max_shrink_time: SHRINK_MAX_MS,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[expect(clippy::print_stderr, reason = "a test's seed and sizes are for whoever reads its output")]
pub(crate) fn announce(line: &str) {
    eprintln!("{line}");
}

/// A set as text, for messages.
#[must_use]
pub fn shown(seqs: &SeqSet) -> BTreeSet<Seq> {
    seqs.iter().collect()
}
