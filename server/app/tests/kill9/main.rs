//! `kill -9` at random moments under load, 50 times in one run: whatever was acknowledged is there after each restart
//! (A2, A3), in the same order (Q1, Q3), within capacity and rate (Q4), and nobody is absent because of it.
//!
//! `cargo nextest run -p jari --test kill9 --ignore-default-filter --no-capture` runs it; `JARI_SEED` chooses the seed.

mod crowd;
mod dice;
mod truth;

use std::time::{Duration, Instant};

use jari_testkit::{Operator, Process};
use reqwest::Client;
use serde_json::json;

use crate::crowd::{Scene, verify, work};
use crate::dice::Dice;
use crate::truth::{Person, Truth};

/// The program under test.
const JARI: &str = env!("CARGO_BIN_EXE_jari");
const KILLS: u32 = 50;
/// People acting at once.
const HANDS: usize = 24;
/// How long a crowd acts before the server is killed, milliseconds: at random in between.
const LOAD_MS: (u64, u64) = (100, 700);
const SEED: u64 = 20_261_130;

const ROOM: &str = "kill9";
const CAPACITY: u64 = 300;
const RATE_PER_S: u64 = 80;

/// Rates and capacity bind all the time; windows are so long that nothing ends by itself within the run.
fn room() -> serde_json::Value {
    json!({
        "room": ROOM,
        "identity": "anonymous",
        "title": {"ko": "시험", "en": "Test"},
        "target_url": "https://shop.example/",
        "settings": {
            "capacity": CAPACITY, "rate_per_s": RATE_PER_S, "burst": RATE_PER_S, "per_tick": RATE_PER_S,
            "pass_ttl_ms": 7_200_000, "claim_window_ms": 7_200_000, "absence_grace_ms": 7_200_000,
            "presence_window_ms": 3_600_000, "poll_near_ms": 250, "poll_far_ms": 250,
        },
    })
}

async fn start(data: &std::path::Path) -> Process {
    Process::serve(JARI, data)
        .env("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "0")
        .env("JARI__LOG__LEVEL", "error")
        .start()
        .await
}

fn client() -> Client {
    Client::builder().timeout(Duration::from_secs(20)).build().expect("an HTTP client can be made")
}

/// Caps, and what the room itself says of absences and of what was acknowledged.
async fn check_caps(operator: &Operator, truth: &Truth, since_creation: Instant) {
    let stats = operator.stats(ROOM).await;
    let line_s = since_creation.elapsed().as_secs_f64();
    let most = RATE_PER_S as f64 * line_s + RATE_PER_S as f64;
    if stats.live > CAPACITY {
        truth.cap_broken(format!("{} live passes of {CAPACITY}", stats.live));
    }
    if stats.admitted_total as f64 > most {
        truth.cap_broken(format!("{} admitted in {line_s:.1} s", stats.admitted_total));
    }
    if stats.absent + stats.absent_total + stats.mass_absences_total > 0 {
        truth.lost(format!("silence counted as absence: {stats:?}"));
    }
    let told = truth.told();
    if stats.joined_total < told.joins || stats.left_total < told.leaves {
        truth.lost(format!("{stats:?} is less than {told:?}"));
    }
}

/// Restarted: the line is paused, so that the order can be compared while nothing moves, and everybody is asked.
async fn check_all(scene: &Scene, operator: &Operator, people: &mut [Person], all: bool) {
    operator.steer(ROOM, "pause", json!({})).await.expect_success();
    verify(scene, people, all).await;
    scene.truth.check_order(people);
    operator.steer(ROOM, "resume", json!({})).await.expect_success();
}

trait ExpectSuccess {
    fn expect_success(self);
}

impl ExpectSuccess for jari_testkit::Answer {
    fn expect_success(self) {
        assert!(self.status.is_success(), "{} {}", self.status, self.text());
    }
}

/// The crowd acts until the server is gone; what it knows then.
async fn act_and_kill(
    scene: &Scene,
    server: Process,
    people: Vec<Person>,
    dice: &mut Dice,
) -> Vec<Person> {
    let mut shares: Vec<Vec<Person>> = (0..HANDS).map(|_| Vec::new()).collect();
    let (mut gone, mut here): (Vec<_>, Vec<_>) =
        people.into_iter().partition(|person| person.settled);
    here.sort_by_key(|person| person.seq);
    for (index, person) in here.into_iter().enumerate() {
        shares[index % HANDS].push(person);
    }
    let mut hands = tokio::task::JoinSet::new();
    for share in shares {
        hands.spawn(work(scene.clone(), share, Dice::new(dice.next())));
    }
    tokio::time::sleep(Duration::from_millis(dice.between(LOAD_MS.0, LOAD_MS.1))).await;
    server.kill().await;
    gone.extend(hands.join_all().await.concat());
    gone
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(
    clippy::disallowed_methods,
    reason = "the run's seed is its one input; it takes real time"
)]
async fn kill9_loses_nothing_acknowledged() {
    let seed = std::env::var("JARI_SEED").map_or(SEED, |text| text.parse().expect("a number"));
    let mut dice = Dice::new(seed);
    let data = tempfile::tempdir().expect("a temporary folder");
    let truth = Truth::new();
    let started = Instant::now();

    let mut server = start(data.path()).await;
    let key = server.wait_for_key().await;
    let since_creation = Instant::now();
    let made = server.operator(&key).post("/v1/admin/rooms", &room()).await;
    made.expect_success();
    let mut people = Vec::new();
    for kill in 1..=KILLS {
        let scene = Scene::new(client(), server.url(), ROOM, truth.clone());
        people = act_and_kill(&scene, server, people, &mut dice).await;
        server = start(data.path()).await;
        let scene = Scene::new(client(), server.url(), ROOM, truth.clone());
        let operator = server.operator(&key);
        check_caps(&operator, &truth, since_creation).await;
        check_all(&scene, &operator, &mut people, kill == KILLS).await;
        check_caps(&operator, &truth, since_creation).await;
    }
    let told = truth.told();
    println!(
        "kill -9: {KILLS} kills in {:.0} s, seed {seed}; acknowledged {} joins, {} leaves, {} admissions, {} claims",
        started.elapsed().as_secs_f64(),
        told.joins,
        told.leaves,
        told.admissions,
        told.claims,
    );
    println!(
        "kept: {}; {} joins whose answer was lost were repeated, {} of them had been made; {} answers compared",
        if truth.losses().is_empty() { "all" } else { "NOT ALL" },
        told.repeated,
        told.found,
        told.compared,
    );
    println!(
        "order violations: {}; cap violations: {}; losses: {}",
        truth.order_violations().len(),
        truth.cap_violations().len(),
        truth.losses().len(),
    );
    assert!(
        told.joins > 500 && told.leaves > 50 && told.claims > 50,
        "the load was a load: {told:?}"
    );
    let found = [truth.losses(), truth.order_violations(), truth.cap_violations()].concat();
    let first: Vec<_> = found.iter().take(10).collect();
    assert!(found.is_empty(), "seed {seed}: {first:#?}");
}
