//! The admitters' leases on Redis, on Valkey and on a Cluster, and what a node's questions cost however many rooms there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_conformance::leases::{SharedLeases, check_all};
use jari_line::Settings;
use jari_ports::{LineStore, TickLeases};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Cluster, Kind, Server};
use jari_units::{Bundle, BundleSet, Mark, RoomId};

use crate::conformance::{REBASE_BITS, runtime};

struct Site {
    options: RedisOptions,
    clock: Arc<SetClock>,
}

impl SharedLeases for Site {
    fn node(&self) -> Arc<dyn TickLeases> {
        Arc::new(RedisStore::open(self.options.clone()).expect("the store opens"))
    }

    fn clock(&self) -> Arc<SetClock> {
        self.clock.clone()
    }
}

pub(crate) fn shared(url: &str) -> Box<dyn SharedLeases> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("leases{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let clock = SetClock::at(START);
    // As the other suites do, so that it is the same scripts that are called.
    let options =
        RedisOptions::new(url).prefix(prefix).clock(clock.clone()).tidy_early(REBASE_BITS);
    Box::new(Site { options, clock })
}

#[test]
fn every_clause_of_the_leases_holds_on_redis() {
    let server = Server::start(Kind::Redis);
    runtime().block_on(check_all(&|| shared(&server.url())));
}

#[test]
fn every_clause_of_the_leases_holds_on_valkey() {
    let server = Server::start(Kind::Valkey);
    runtime().block_on(check_all(&|| shared(&server.url())));
}

#[test]
fn every_clause_of_the_leases_holds_on_a_cluster() {
    let cluster = Cluster::start(Kind::Redis);
    runtime().block_on(check_all(&|| shared(&cluster.url())));
}

/// What is in the key of a newer release is not this one's to change.
#[tokio::test]
async fn leases_of_a_newer_release_are_left_alone_and_said_to_be() {
    let server = Server::start(Kind::Redis);
    let node = RedisStore::open(RedisOptions::new(server.url())).expect("the store opens");
    node.renew(1).await.expect("it answers");
    let newer = u64::MAX >> 11;
    server.ask(&format!("HSET jari:{{:due}}:admitters data \"\\xff\" version {newer}"));
    let told = node.renew(1).await.expect_err("it cannot be read").to_string();
    assert!(told.contains("format 255") && told.contains("finish the upgrade"), "{told}");
    assert_eq!(server.ask("HGET jari:{:due}:admitters version"), newer.to_string());
}

/// While nothing moves a renewal is one call, and the other admitter's does not make it two.
#[tokio::test]
async fn issue_4_a_renewal_that_moves_nothing_is_one_call() {
    const ROUNDS: u64 = 20;
    let server = Server::start(Kind::Redis);
    let open = || RedisStore::open(RedisOptions::new(server.url())).expect("the store opens");
    let nodes = [open(), open()];
    let renew = async || {
        let one = nodes[0].renew(1).await.expect("it answers");
        let two = nodes[1].renew(2).await.expect("it answers");
        (one, two)
    };
    let mut shared = renew().await;
    while shared.0.bundles.len() != shared.1.bundles.len() {
        shared = renew().await;
    }
    let mut counted = BTreeMap::new();
    renew().await;
    calls_since(&server, &mut counted);
    for _ in 0..ROUNDS {
        let (one, two) = renew().await;
        assert_eq!((one.bundles, two.bundles), (shared.0.bundles, shared.1.bundles));
    }
    let calls = calls_since(&server, &mut counted);
    let asked = calls.get("evalsha").copied().unwrap_or_default();
    // A machine that stands still for two seconds makes a renewal late, and then it is two calls.
    assert!((2 * ROUNDS..=2 * ROUNDS + 4).contains(&asked), "{asked}: {calls:?}");
}

/// How often the server was asked for each command since the last call.
pub(crate) fn calls_since(
    server: &Server,
    before: &mut BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let told = server.ask("INFO commandstats");
    let of = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split_once(',')?.0.parse().expect("a number")))
    };
    let now: BTreeMap<String, u64> = told.lines().filter_map(of).collect();
    let since = now
        .iter()
        .map(|(name, calls)| (name.clone(), calls - before.get(name).unwrap_or(&0)))
        .filter(|(name, calls)| *calls > 0 && name != "info")
        .collect();
    *before = now;
    since
}

fn id(number: usize) -> RoomId {
    format!("idle-{number:05}").parse().expect("an id")
}

/// A second of two admitters: each renews twice and looks four times, and each ticks what it holds of what is due.
async fn second_of(nodes: &[RedisStore; 2]) -> usize {
    let mut ticked = 0;
    let mut held = [BundleSet::NONE; 2];
    for look in 0..4 {
        for (at, node) in nodes.iter().enumerate() {
            if look % 2 == 0 {
                held[at] = node.renew(at as u64).await.expect("renewed").bundles;
            }
            for room in node.due().await.expect("it answers") {
                if look == 0 && held[at].contains(Bundle::of(&room)) {
                    node.admit(&room, Mark::NONE).await.expect("ticked");
                    ticked += 1;
                }
            }
        }
    }
    ticked
}

/// Ten thousand rooms of which a few are busy cost the same commands a second as two thousand of which the same are busy, and
/// each is ticked by one of the two nodes. (Of so many that no round over them is over, and rests, while it is counted.)
#[tokio::test]
async fn issue_4_idle_rooms_cost_no_command_however_many_there_are() {
    const BUSY: usize = 20;
    let server = Server::start(Kind::Redis);
    let open = || RedisStore::open(RedisOptions::new(server.url())).expect("the store opens");
    let nodes = [open(), open()];
    let mut made = 0;
    let mut costs = Vec::new();
    for rooms in [2_000, 10_000] {
        while made < rooms {
            let batch = (made..rooms.min(made + 100)).map(|number| {
                let node = &nodes[number % 2];
                async move { node.create(&id(number), Settings::default()).await }
            });
            for answer in futures_util::future::join_all(batch).await {
                answer.expect("created");
            }
            made = rooms.min(made + 100);
        }
        for number in 0..BUSY {
            let who = vec![subject(rooms as u64)];
            nodes[0].join(&id(number), Mark::NONE, who).await.expect("joined");
        }
        // Shares are even and scripts known before anything is counted.
        for _ in 0..5 {
            second_of(&nodes).await;
        }
        let mut counted = BTreeMap::new();
        calls_since(&server, &mut counted);
        let mut ticked = 0;
        for _ in 0..10 {
            ticked += second_of(&nodes).await;
        }
        assert_eq!(ticked, 10 * BUSY, "each busy room is ticked by one node, once a second");
        let calls = calls_since(&server, &mut counted);
        println!("{rooms} rooms, {BUSY} of them busy, 2 admitters, 10 s: {calls:?}");
        assert!(calls["sscan"] <= 40, "one of the two nodes goes the round: {calls:?}");
        costs.push(calls.values().sum::<u64>());
    }
    // The round looks at a few rooms more or less each time, as the server deals them out.
    assert!(costs[1] < costs[0] + costs[0] / 4, "{costs:?}");
}
