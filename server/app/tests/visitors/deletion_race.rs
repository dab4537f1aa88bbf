//! A room is deleted on one node in the middle of what people do with it on another: it stays deleted, and a new one of that
//! name has nothing of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jari_api::{PlaceStatus, PlaceView};
use jari_servers::{Kind, Server};
use jari_testkit::{TestApp, Visitor, eventually};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::open;

const ROOM: &str = "room";
const ROUNDS: u64 = 5;
const PEOPLE: usize = 6;
/// Each node has looked at control twice by then, and flushed who was heard from.
const AFTERWARDS: Duration = Duration::from_secs(6);

/// Does all that people do, until told that it is enough.
async fn uses(visitor: Visitor, enough: Arc<AtomicBool>) {
    while !enough.load(Ordering::SeqCst) {
        visitor.identify().await;
        let page = visitor.get(&format!("/rooms/{ROOM}")).await;
        let answers = [
            visitor.join(ROOM).await,
            visitor.poll(ROOM).await,
            visitor.gate(ROOM).await,
            visitor.get(&format!("/v1/rooms/{ROOM}")).await,
            page,
        ];
        for answer in answers {
            let status = answer.status.as_u16();
            let known = [200, 201, 204, 401, 404, 428, 429, 503];
            assert!(known.contains(&status), "{status}: {}", answer.text());
        }
    }
}

/// What is left of the room in the store: its last incarnation, which is the tombstone, and nothing else.
fn is_buried(redis: &Server) -> bool {
    let keys = ["subj", "w", "p0", "p1", "o", "pass", "un", "cl", "marks", "ev", "nodes"];
    let keys: Vec<_> = keys.iter().map(|key| format!("jari:{{{ROOM}}}:{key}")).collect();
    redis.ask(&format!("HEXISTS jari:{{{ROOM}}}:s incarnation")) == ":0"
        && redis.ask(&format!("HEXISTS jari:{{{ROOM}}}:s buried")) == ":1"
        && redis.ask(&format!("EXISTS {}", keys.join(" "))) == ":0"
        && redis.ask(&format!("ZSCORE jari:{{:due}}:at {ROOM}")) == "$-1"
}

/// Q1, Q3: nobody of the old line is in the new one, and the old one does not come back by somebody who was in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_a_room_deleted_on_one_node_while_another_works_with_it_stays_deleted() {
    let redis = Server::start(Kind::Redis);
    let builder = TestApp::builder().set("store.url", redis.url());
    let one = builder.set("http.join_limit_per_minute", 0).start().await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let mut ghost: Option<Visitor> = None;
    for round in 0..ROUNDS {
        one.create_room(open).await;
        eventually("both nodes know the room", async || {
            (two.visitor().get(&format!("/v1/rooms/{ROOM}")).await.status == 200).then_some(())
        })
        .await;
        if let Some(ghost) = &ghost {
            let told: PlaceView = ghost.poll(ROOM).await.expect(200).json();
            assert_eq!(told.status, PlaceStatus::Ended, "round {round}: of the room before");
        }
        let first = two.visitor();
        assert_eq!(first.wait_in(ROOM).await.seq, 1, "round {round}: the line begins anew");
        ghost = Some(first);

        let (enough, mut people) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for _ in 0..PEOPLE {
            people.spawn(uses(two.visitor(), enough.clone()));
        }
        eventually("they are at it", async || {
            (one.operator().stats(ROOM).await.joined_total > PEOPLE as u64).then_some(())
        })
        .await;
        one.operator().delete(&format!("/v1/admin/rooms/{ROOM}")).await.expect(204);
        eventually("the other node knows that it is gone", async || {
            (two.visitor().get(&format!("/v1/rooms/{ROOM}")).await.status == 404).then_some(())
        })
        .await;
        enough.store(true, Ordering::SeqCst);
        while let Some(ended) = people.join_next().await {
            ended.expect("each answer is one of those that are documented");
        }
        eventually("the store has forgotten it", async || is_buried(&redis).then_some(())).await;
    }
    sleep(AFTERWARDS).await;
    assert!(is_buried(&redis), "nobody brought it back");
    let last = ghost.expect("there were rounds");
    last.poll(ROOM).await.problem(404, "unknown_room");
    one.stop().await;
    two.stop().await;
}
