//! What visitors see while a real Redis hangs, dies, comes back, is replaced by a copy that lags, or is emptied. The server's
//! own clock runs: these tests take the seconds that the faults take.

use std::time::Duration;

use jari_api::admin::{OnStoreFailure, RoomBody};
use jari_api::{PlaceStatus, PlaceView};
use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, Visitor};
use jari_units::limits::SEQ_JUMP;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::{open, still};

/// A window of half a minute, a failover before it, and a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const ASK_EVERY: Duration = Duration::from_millis(100);
/// As the gate: it opens to all only after this.
const FAIL_OPEN_AFTER: Duration = Duration::from_secs(5);

async fn in_time<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            sleep(ASK_EVERY).await;
        }
    };
    let asked = timeout(PATIENCE, asking).await;
    asked.unwrap_or_else(|_| panic!("within {PATIENCE:?} it did not become true that {what}"))
}

fn passing(room: &mut RoomBody) {
    still(room);
    room.on_store_failure = OnStoreFailure::Pass;
}

async fn node(store: &str) -> TestApp {
    TestApp::builder().set("store.url", store).start().await
}

async fn metric(app: &TestApp, name: &str) -> f64 {
    let url = app.ops_url().join("metrics").expect("a path");
    let text = reqwest::get(url).await.expect("it answers").text().await.expect("a text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name} is not in\n{text}"))
}

/// A room that lets everybody pass when its store is gone does so for refused connections, never for slowness; the numbers
/// say which it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_redis_that_hangs_opens_no_gate_and_one_that_is_dead_does() {
    let mut redis = Server::start(Kind::Redis);
    let app = node(&redis.url()).await;
    let room = app.create_room(passing).await;
    let stranger = app.visitor();
    stranger.identify().await;
    stranger.gate(&room).await.problem(428, "pass_required");

    redis.pause();
    let hung = Instant::now();
    in_time("it is known that the store is away", async || {
        (metric(&app, "jari_store_down_seconds ").await > 0.0).then_some(())
    })
    .await;
    while hung.elapsed() < 2 * FAIL_OPEN_AFTER + Duration::from_secs(2) {
        assert_eq!(stranger.gate(&room).await.status, 428, "after {:?}", hung.elapsed());
        assert!(metric(&app, "jari_store_refusing_seconds ").await.abs() < f64::EPSILON);
        sleep(ASK_EVERY).await;
    }
    assert!(metric(&app, "jari_store_down_seconds ").await > 5.0);
    redis.resume();
    in_time("it answers again", async || {
        (metric(&app, "jari_store_down_seconds ").await == 0.0).then_some(())
    })
    .await;
    stranger.gate(&room).await.problem(428, "pass_required");

    let died = Instant::now();
    redis.kill();
    let passed = in_time("the gate opens", async || {
        let answer = stranger.gate(&room).await;
        (answer.status == 204).then_some(answer)
    })
    .await;
    assert!(died.elapsed() >= FAIL_OPEN_AFTER, "{:?}", died.elapsed());
    assert_eq!(passed.header("jari-unchecked"), Some("store_unavailable"));
    assert!(metric(&app, "jari_store_refusing_seconds ").await >= 5.0);
    assert!(metric(&app, &format!("jari_gate_unchecked_total{{room=\"{room}\"}}")).await >= 1.0);
}

/// Waits until both nodes have said that they serve the room; they do for those who ask.
async fn both_attend(redis: &Server, room: &str, visitors: [&Visitor; 2]) {
    in_time("both nodes attend", async || {
        for visitor in visitors {
            visitor.poll(room).await;
        }
        (redis.ask(&format!("HLEN jari:{{{room}}}:nodes")) == ":2").then_some(())
    })
    .await;
}

async fn seq_of(visitor: &Visitor, room: &str) -> Option<PlaceView> {
    let answer = visitor.poll(room).await;
    (answer.status == 200).then(|| answer.json())
}

/// Q1: Redis is killed and comes back with what its disk kept, which is everything. Polls are answered all the time, joins
/// after some seconds; nobody's number or position changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_redis_that_is_killed_and_comes_back_whole_costs_seconds_and_nobodys_place() {
    let mut redis =
        Server::start_with(Kind::Redis, &["--appendonly", "yes", "--appendfsync", "always"]);
    let one = node(&redis.url()).await;
    let room = one.create_room(still).await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let (first, second) = (one.visitor(), two.visitor());
    assert_eq!(first.wait_in(&room).await.seq, 1);
    assert_eq!(second.wait_in(&room).await.seq, 2);
    both_attend(&redis, &room, [&first, &second]).await;
    redis.kill_and_restart();
    let newcomer = two.visitor();
    newcomer.identify().await;
    let joined: PlaceView = in_time("joins are answered again", async || {
        let polled = first.poll(&room).await;
        // Asked sooner than it was told to: that is an answer, too.
        if polled.status != 429 {
            let place: PlaceView = polled.expect(200).json();
            assert_eq!((place.seq, place.position), (1, Some(1)), "polls never stopped");
        }
        let answer = newcomer.join(&room).await;
        if answer.status == 201 {
            return Some(answer.json());
        }
        assert_eq!(answer.status, 503, "{}", answer.text());
        None
    })
    .await;
    assert_eq!((joined.seq, joined.position), (3, Some(3)), "nothing was lost, no window");
    let elsewhere = second.sent_to(one.url());
    let place = in_time("the other node knows", async || seq_of(&elsewhere, &room).await).await;
    assert_eq!((place.seq, place.position), (2, Some(2)));
    one.stop().await;
    two.stop().await;
}

/// Q1, Q3, A2: a Sentinel replaces a dead primary by a replica that lacks the last places given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_copy_that_lacks_the_last_second_takes_over_and_everybody_keeps_their_number() {
    let mut primary = Server::start(Kind::Redis);
    let of = format!("127.0.0.1 {}", primary.port());
    let replica = Server::start_with(Kind::Redis, &["--replicaof", &of, "--appendonly", "no"]);
    replica.wait_for("sync: Finished with success");
    let sentinel = Server::start_sentinel(Kind::Redis, "shop", &primary);
    sentinel.wait_for("+slave");
    let url = format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port());
    let one = node(&url).await;
    let room = one.create_room(still).await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let nodes = [one.url(), two.url()];
    let mut people = Vec::new();
    for n in 0..10 {
        let visitor = one.visitor().sent_to(nodes[n % 2].clone());
        assert_eq!(visitor.wait_in(&room).await.seq, n as u64 + 1);
        people.push(visitor);
    }
    both_attend(&primary, &room, [&people[0], &people[1]]).await;
    primary.wait_for_replica(&replica);
    primary.leave_behind(&replica);
    for n in 10..20 {
        let visitor = one.visitor().sent_to(nodes[n % 2].clone());
        assert_eq!(visitor.wait_in(&room).await.seq, n as u64 + 1);
        people.push(visitor);
    }
    primary.kill();
    replica.resume();
    let newcomer = two.visitor();
    newcomer.identify().await;
    let joined: PlaceView = in_time("joins are answered again", async || {
        for visitor in &people {
            visitor.poll(&room).await;
        }
        let answer = newcomer.join(&room).await;
        (answer.status == 201).then(|| answer.json())
    })
    .await;
    assert!(joined.seq > 20 + SEQ_JUMP, "{}", joined.seq);
    for (n, visitor) in (1..).zip(&people) {
        let place =
            in_time("everybody is told a place", async || seq_of(visitor, &room).await).await;
        assert_eq!((place.seq, place.position), (n, Some(n)));
    }
    one.stop().await;
    two.stop().await;
}

/// Q4: everything is gone, the rooms of a limit group and the group. All come back by themselves, and both rooms together
/// never have more inside than the group allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_limit_group_that_was_lost_with_its_rooms_comes_back_and_holds() {
    let redis = Server::start(Kind::Redis);
    let app = node(&redis.url()).await;
    let operator = app.operator();
    let limits = json!({"capacity": 5, "rate_per_s": 100, "burst": 100});
    operator.put("/v1/admin/groups/both", &limits).await.expect(200);
    for id in ["a", "b"] {
        app.create_room(|room| {
            open(room);
            room.room = id.to_owned();
            room.group = Some("both".to_owned());
        })
        .await;
    }
    let mut people = Vec::new();
    for n in 0..16 {
        let visitor = app.visitor();
        let room = ["a", "b"][n % 2];
        visitor.wait_in(room).await;
        people.push((visitor, room));
    }
    let live = async || operator.stats("a").await.live + operator.stats("b").await.live;
    in_time("the group is full", async || (live().await == 5).then_some(())).await;
    let mut inside = Vec::new();
    for (visitor, room) in &people {
        let admitted = seq_of(visitor, room).await;
        if admitted.is_some_and(|place| place.status == PlaceStatus::Admitted) {
            visitor.gate(room).await.expect(204);
            inside.push((visitor, *room));
        }
    }
    assert_eq!(inside.len(), 5);

    assert_eq!(redis.ask("FLUSHALL"), "+OK");
    let poll_all = async || {
        for (visitor, room) in &people {
            visitor.poll(room).await;
        }
        assert!(live().await <= 5, "the group's limit holds in sum");
    };
    let settled = async || {
        poll_all().await;
        let mut settled = true;
        for id in ["a", "b"] {
            let state = app.visitor().get(&format!("/v1/rooms/{id}")).await;
            settled &= !state.text().contains("recovering");
            let key = format!("EXISTS jari:{{{id}}}:g jari:{{{id}}}:s");
            settled &= redis.ask(&key) == ":2";
        }
        settled &= redis.ask("EXISTS jari:{group:both}") == ":1";
        settled.then_some(())
    };
    in_time("rooms and group are there again", settled).await;
    // And it lends again: whoever goes makes room for one.
    let (leaver, room) = inside[0];
    leaver.leave(room).await.expect(204);
    let mut others: Vec<_> = people.iter().collect();
    others.retain(|(visitor, _)| inside.iter().all(|(known, _)| !std::ptr::eq(*known, visitor)));
    in_time("the next one is let in", async || {
        poll_all().await;
        for (visitor, room) in &others {
            let place = seq_of(visitor, room).await?;
            if place.status == PlaceStatus::Admitted {
                return Some(());
            }
        }
        None
    })
    .await;
    for (visitor, room) in &inside[1..] {
        visitor.gate(room).await.expect(204);
    }
    app.stop().await;
}

/// Only the group's key is lost, as in a Cluster whose shards fail one by one: whoever ticks its rooms notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_limit_group_that_was_lost_alone_is_set_again() {
    let redis = Server::start(Kind::Redis);
    let app = node(&redis.url()).await;
    let limits = json!({"capacity": 2, "rate_per_s": 100, "burst": 100});
    app.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    let room = app
        .create_room(|room| {
            open(room);
            room.group = Some("both".to_owned());
        })
        .await;
    let people: Vec<_> = (0..4).map(|_| app.visitor()).collect();
    for visitor in &people[..1] {
        visitor.wait_in(&room).await;
    }
    let live = async || app.operator().stats(&room).await.live;
    in_time("the first is inside", async || (live().await == 1).then_some(())).await;
    assert_eq!(redis.ask("DEL jari:{group:both}"), ":1");
    for visitor in &people[1..] {
        visitor.wait_in(&room).await;
    }
    in_time("the group lends again", async || (live().await == 2).then_some(())).await;
    let ticked = app.operator().stats(&room).await.now;
    in_time("three more ticks", async || {
        let now = app.operator().stats(&room).await.now;
        assert!(live().await <= 2);
        (now.0.since(ticked.0).0 >= 3_000).then_some(())
    })
    .await;
    app.stop().await;
}
