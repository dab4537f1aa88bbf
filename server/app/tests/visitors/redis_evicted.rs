//! A Redis that throws a room's list away under running nodes, as one with an evicting policy does at `maxmemory`.

use std::time::Duration;

use jari_api::admin::LiveFrame;
use jari_api::{Identity, PlaceView};
use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, Visitor, eventually};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::still;

/// A recovery's window, and a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Q1: the node that served them knows who they are. Nobody is told that their place has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_redis_threw_away_comes_back_with_everybody() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = app.create_room(still).await;
    let people: Vec<_> = (0..5).map(|_| app.visitor()).collect();
    for (seq, visitor) in (1..).zip(&people) {
        assert_eq!(visitor.wait_in(&room).await.seq, seq);
    }
    let attended = format!("HLEN jari:{{{room}}}:nodes");
    let recovered = format!("HGET jari:{{{room}}}:s begins");
    let recovering = format!("HGET jari:{{{room}}}:s recovering");
    let until = async |is_so: &dyn Fn() -> bool| {
        let polling = async {
            while !is_so() {
                for (seq, visitor) in (1..).zip(&people) {
                    let answer = visitor.poll(&room).await;
                    // Asked sooner than it was told to, or while the line is being put in order.
                    if answer.status == 200 {
                        let place: PlaceView = answer.json();
                        assert_eq!((place.seq, place.position), (seq, Some(seq)));
                    }
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(PATIENCE, polling).await.expect("it becomes so");
    };
    until(&|| redis.ask(&attended) == ":1").await;
    assert_eq!(redis.ask(&format!("DEL jari:{{{room}}}:w")), ":1");
    until(&|| redis.ask(&recovered).len() > 1 && redis.ask(&recovering).is_empty()).await;
    assert_eq!(app.operator().stats(&room).await.waiting, 5);
    for (seq, visitor) in (1..).zip(&people) {
        let again: PlaceView = visitor.join(&room).await.expect(200).json();
        assert_eq!(again.seq, seq);
    }
    app.stop().await;
}

/// Waits until a node's operators are told of so many people that the store has lost from the room's lists.
async fn told_lost(node: &TestApp, room: &str, people: u64) {
    let mut live = node.operator().watch().await;
    let told = async {
        loop {
            let frame: LiveFrame = serde_json::from_value(live.next_of("stats").await.json())
                .expect("a frame as documented");
            let found = frame.rooms.iter().find(|found| found.stats.room == room);
            let lost = found.map(|found| found.unlisted.map_or(0, |lost| lost.people));
            if lost == Some(people) {
                return;
            }
        }
    };
    timeout(PATIENCE, told).await.expect("it is told");
}

/// Who is told that they have left has left, though a part of the line was gone when they said so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_who_leaves_a_line_that_redis_threw_away_has_left() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    for key in ["w", "subj"] {
        let named = |room: &mut jari_api::admin::RoomBody| {
            still(room);
            room.room = format!("room-{key}");
        };
        let room = app.create_room(named).await;
        let people: Vec<_> = (0..3).map(|_| app.visitor()).collect();
        for visitor in &people {
            visitor.wait_in(&room).await;
        }
        let attended = format!("HLEN jari:{{{room}}}:nodes");
        // A node attends whom it serves.
        eventually("the node attends", async || {
            let _ = people[0].poll(&room).await;
            (redis.ask(&attended) == ":1").then_some(())
        })
        .await;
        assert_eq!(redis.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1");
        // While the line is being put in order nothing is promised.
        eventually("they have left", async || {
            let answer = people[1].leave(&room).await;
            assert!(matches!(answer.status.as_u16(), 204 | 503), "{key}: {answer:?}");
            (answer.status == 204).then_some(())
        })
        .await;
        let recovering = format!("HGET jari:{{{room}}}:s recovering");
        let begins = format!("HGET jari:{{{room}}}:s begins");
        let over = || redis.ask(&begins).len() > 1 && redis.ask(&recovering).is_empty();
        timeout(PATIENCE, async {
            while !over() {
                // They show what they hold.
                for visitor in [&people[0], &people[2]] {
                    let _ = visitor.poll(&room).await;
                }
                sleep(Duration::from_millis(100)).await;
            }
        })
        .await
        .expect("it recovers");
        for (visitor, seq) in [(&people[0], 1), (&people[2], 3)] {
            let again: PlaceView = visitor.join(&room).await.expect(200).json();
            assert_eq!(again.seq, seq, "{key}");
        }
        assert_eq!(app.operator().stats(&room).await.waiting, 2, "{key}");
    }
    app.stop().await;
}

/// Nobody else knows them: an operator is told, once, and names them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_people_whose_block_redis_threw_away_are_told_of() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let entered = |room: &mut jari_api::admin::RoomBody| {
        still(room);
        room.identity = Identity::Entry;
    };
    let room = app.create_room(entered).await;
    let other = app.try_second().await.expect("a second node");
    let (site, block) = (app.integrator().await, json!({"subjects": ["pest"]}));
    let entry = site.entry(&room, "somebody").await;
    app.visitor().join_with(&room, &entry).await.expect(201);
    app.operator().steer(&room, "block", block.clone()).await.expect(200);
    // By whichever of them ticks.
    let ops = [&app, &other].map(|node| Visitor::new(node.ops_url()));
    let lost = async || {
        let mut all = 0;
        for ops in &ops {
            let text = ops.get("/metrics").await.expect(200).text();
            let line = text.lines().find_map(|line| line.strip_prefix("jari_unlisted_total "));
            all += line.expect("it is counted from the start").parse::<u64>().expect("a number");
        }
        all
    };
    assert_eq!(lost().await, 0);
    // Both follow the room by now.
    futures_util::future::join_all([told_lost(&app, &room, 0), told_lost(&other, &room, 0)]).await;
    assert_eq!(redis.ask(&format!("DEL jari:{{{room}}}:block")), ":1");
    eventually("it is counted", async || (lost().await == 1).then_some(())).await;
    // And shown to operators at any node, whichever of them ticked, until somebody names as many.
    let watches = [told_lost(&app, &room, 1), told_lost(&other, &room, 1)];
    futures_util::future::join_all(watches).await;
    app.operator().steer(&room, "block", block).await.expect(200);
    let entry = site.entry(&room, "pest").await;
    app.visitor().join_with(&room, &entry).await.problem(403, "blocked");
    assert_eq!(lost().await, 1, "and told once");
    futures_util::future::join_all([told_lost(&app, &room, 0), told_lost(&other, &room, 0)]).await;
    other.stop().await;
    app.stop().await;
}

/// Control knows the group: nobody has to notice that the room's word of it is gone, and nobody waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_group_that_redis_threw_away_is_told_again() {
    let redis = Server::start(Kind::Redis);
    let app = TestApp::builder().set("store.url", redis.url()).start().await;
    let limits = json!({"capacity": 9, "rate_per_s": 100, "burst": 9});
    app.operator().put("/v1/admin/groups/till", &limits).await.expect(200);
    let room = app.create_room(|room| room.group = Some("till".to_owned())).await;
    app.visitor().wait_in(&room).await;
    let there = format!("EXISTS jari:{{{room}}}:g");
    eventually("the room knows its group", async || (redis.ask(&there) == ":1").then_some(()))
        .await;
    assert_eq!(redis.ask(&format!("DEL jari:{{{room}}}:g")), ":1");
    // Somebody is in the room, so that it is ticked.
    app.visitor().wait_in(&room).await;
    eventually("it is told again", async || (redis.ask(&there) == ":1").then_some(())).await;
    app.stop().await;
}
