//! What the core costs with a million waiting: `cargo run --release -p jari-line --example scale`. Not a test.

use std::time::{Duration, Instant};

use jari_line::{Room, SeenBits, Settings};
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
}
