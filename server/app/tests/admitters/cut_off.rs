//! A node that cannot reach the store for longer than people may be silent: whoever asks that node is heard by nobody else.

use std::time::Duration;

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{Process, Visitor, eventually};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::held_up::room_of_the_first;
use crate::nodes::{Site, holds};
use crate::proxy::Proxy;

/// The shortest that a room takes, in milliseconds.
const PRESENCE_WINDOW_MS: u64 = 10_000;
/// People ask at least so often.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Somebody who asks and asks.
struct Asking {
    visitor: Visitor,
    seq: u64,
}

impl Asking {
    async fn join(node: &Process, room: &str) -> Asking {
        let visitor = node.visitor();
        let seq = visitor.wait_in(room).await.seq;
        Asking { visitor, seq }
    }

    /// How they stand; they are never told that they have no place, or another one.
    async fn asks(&self, room: &str) -> Option<PlaceView> {
        let answer = self.visitor.poll(room).await;
        if answer.status != 200 {
            assert!([429, 503].contains(&answer.status.as_u16()), "{}", answer.text());
            return None;
        }
        let view: PlaceView = answer.json();
        assert_eq!(view.seq, self.seq);
        assert_ne!(view.status, PlaceStatus::Ended, "{} lost their place", self.seq);
        Some(view)
    }

    async fn is(&self, room: &str, status: PlaceStatus) {
        eventually(&format!("{} is {status:?}", self.seq), async || {
            sleep(ASK_EVERY).await;
            (self.asks(room).await?.status == status).then_some(())
        })
        .await;
    }
}

fn settings() -> Value {
    const HOURS_MS: u64 = 7_200_000;
    json!({
        "capacity": 1_000, "pacer": {"kind": "manual"}, "presence_window_ms": PRESENCE_WINDOW_MS,
        "absence_grace_ms": 600_000, "claim_window_ms": HOURS_MS, "pass_ttl_ms": HOURS_MS,
        "poll_near_ms": 250, "poll_far_ms": 1_000,
    })
}

/// Q1, Q2: people of a node that is cut off are passed over, as nobody hears them. They keep their place, and are first in turn
/// as soon as the node is back, before everybody behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_people_of_a_node_that_was_cut_off_for_long_are_first_when_it_is_back() {
    let mut site = Site::new();
    let proxy = Proxy::start(site.redis.port()).await;
    // The room is ticked by the node that is not cut off, so that no tick is missed.
    let near = site.node().await;
    holds(&near, 64).await;
    let far = site.start(site.builder_at(&proxy.url())).await;
    holds(&near, 32).await;
    holds(&far, 32).await;
    let room = room_of_the_first();
    site.make_room(&near, &room, settings(), None).await;
    let operator = site.operator(&near);
    let admit_one = async || {
        operator.steer(&room, "admit", json!({"count": 1})).await.expect(200);
    };
    eventually("the other node knows the room", async || {
        let shown = far.visitor().get(&format!("/v1/rooms/{room}")).await;
        (shown.status == 200).then_some(())
    })
    .await;
    let cut_off = Asking::join(&far, &room).await;
    cut_off.is(&room, PlaceStatus::Waiting).await;

    proxy.cut();
    // Two windows and a little in which everything else was heard: a tick that comes late on a busy machine makes a lull.
    let silence = Duration::from_millis(2 * PRESENCE_WINDOW_MS + 3_000);
    let mut silent = Duration::ZERO;
    while silent < silence {
        let view = cut_off.asks(&room).await;
        assert!(view.is_none_or(|view| view.status == PlaceStatus::Waiting), "as far as it knows");
        sleep(ASK_EVERY).await;
        silent += if operator.stats(&room).await.lull { Duration::ZERO } else { ASK_EVERY };
    }
    // One after the other comes and is let in at the other node.
    eventually("the one who is not heard is passed over", async || {
        Asking::join(&near, &room).await;
        admit_one().await;
        sleep(ASK_EVERY).await;
        (operator.stats(&room).await.absent == 1).then_some(())
    })
    .await;
    let view = cut_off.asks(&room).await;
    assert!(view.is_none_or(|view| view.status == PlaceStatus::Waiting), "as far as it knows");
    let behind = Asking::join(&near, &room).await;
    behind.is(&room, PlaceStatus::Waiting).await;

    proxy.release();
    cut_off.is(&room, PlaceStatus::Next).await;
    behind.is(&room, PlaceStatus::Waiting).await;
    admit_one().await;
    cut_off.is(&room, PlaceStatus::Admitted).await;
    behind.is(&room, PlaceStatus::Waiting).await;
    let stats = operator.stats(&room).await;
    assert_eq!((stats.absent, stats.waiting), (0, 1));
}
