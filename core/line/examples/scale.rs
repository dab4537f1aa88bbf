//! What the core costs with a million waiting: `cargo run --release -p jari-line --example scale`. Not a test.

use std::time::{Duration, Instant};

use jari_line::{Loss, Past, Receipt, Room, SeenBits, Settings};
use jari_units::{Mark, Millis, SubjectKey, Timestamp};

const PEOPLE: u64 = 1_000_000;
const BATCH: u64 = 512;

fn subject(n: u64) -> SubjectKey {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    SubjectKey(key)
}

#[expect(clippy::disallowed_methods, reason = "this program measures")]
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

#[expect(clippy::print_stdout, reason = "this program prints its figures")]
fn main() {
    let wide = Settings { capacity: 100_000, max_waiting: 10_000_000, ..Settings::default() };
    let mut room = Room::create(wide, Timestamp(1_000_000), 0).outcome;
    let mut worst = Duration::ZERO;
    let (_, all) = timed(|| {
        for first in (0..PEOPLE).step_by(BATCH as usize) {
            let batch: Vec<_> = (first..(first + BATCH).min(PEOPLE)).map(subject).collect();
            let (_, took) = timed(|| room.join(Mark::NONE, &batch).expect("no mark"));
            worst = worst.max(took);
        }
    });
    println!("join {PEOPLE}: {all:?}, worst batch of {BATCH} {worst:?}");
    let seen = SeenBits::pack(&(1..=PEOPLE).collect()).remove(0);
    let (_, took) = timed(|| room.seen(Mark::NONE, &seen).expect("no mark"));
    println!("seen spanning all: {took:?}");
    let mut ticks: Vec<Duration> = (1..=300)
        .map(|tick| {
            let now = Timestamp(1_000_000) + Millis(tick * 1_000);
            timed(|| room.admit(Mark::NONE, now, None).expect("no mark")).1
        })
        .collect();
    ticks.sort_unstable();
    println!("tick admitting up to 200: p50 {:?}, max {:?}", ticks[150], ticks[299]);
    let (_, took) = timed(|| {
        let standing = |n| room.ledger().standing(room.mark().incarnation, n * 999);
        (1..=1_000u64).filter(|n| standing(*n) == jari_line::Standing::Ended).count()
    });
    println!("standing: {:?} each", took / 1_000);
    let (copy, took) = timed(|| room.clone());
    println!("clone for a checkpoint: {took:?}");
    let (_, took) = timed(|| room.join(Mark::NONE, &[subject(PEOPLE)]).expect("no mark"));
    println!("first join after it: {took:?}");
    drop(copy);
    lose(&room);
}

/// The store is wiped: what one replica tells, then what everybody shows.
#[expect(clippy::print_stdout, reason = "this program prints its figures")]
fn lose(lost: &Room) {
    let loss = Loss::Seen(Past { mark: lost.mark(), origin: Some(lost.ledger().origin()) });
    let (settings, now) = (lost.ledger().settings().clone(), lost.ledger().clocks().now);
    let begin = || Room::recover_lost(&loss, settings.clone(), now, 0).outcome;
    let mut room = begin();
    let (tellings, took) = timed(|| lost.ledger().tellings(lost.mark()).collect::<Vec<_>>());
    println!("tellings of it: {} in {took:?}", tellings.len());
    let told = tellings
        .iter()
        .map(|telling| timed(|| room.restore(Mark::NONE, 1, telling).expect("no mark")).1);
    println!("worst telling: {:?}", told.max().unwrap_or_default());
    for (name, mut room) in [("after a replica", room), ("alone", begin())] {
        let receipts = lost.dump().subjects;
        let mut worst = Duration::ZERO;
        let (_, all) = timed(|| {
            for batch in receipts.chunks(BATCH as usize) {
                let receipt = |(subject, seq): &(SubjectKey, u64)| Receipt {
                    subject: *subject,
                    incarnation: lost.mark().incarnation,
                    seq: *seq,
                    as_of: now,
                    pass: None,
                };
                let batch: Vec<_> = batch.iter().map(receipt).collect();
                let (_, took) = timed(|| room.reattach(Mark::NONE, &batch).expect("no mark"));
                worst = worst.max(took);
            }
        });
        println!("{} receipts {name}: {all:?}, worst batch of {BATCH} {worst:?}", receipts.len());
        for second in 1..30 {
            room.admit(Mark::NONE, now + Millis(second * 1_000), None).expect("no mark");
        }
        let end = now + Millis(30_000);
        let (_, took) = timed(|| room.admit(Mark::NONE, end, None).expect("no mark"));
        let (ledger, back) = (room.ledger(), room.ledger().waiting() + room.ledger().absent());
        println!("window's end {name}: {took:?}; {back} back, {} inside", ledger.passes().live());
    }
}
