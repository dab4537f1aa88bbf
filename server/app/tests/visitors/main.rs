//! What visitors and sites rely on: identities, places, streams, the gate, the tenant's API, and what they are told when
//! something is wrong with a request. What operators rely on is in the other test program.

mod bodies;
mod breakable;
mod challenge;
mod cookies;
mod cross_origin;
mod deletion_race;
mod entries;
mod gate;
mod joining;
mod limits;
mod modes;
mod on_redis;
mod opening;
mod places;
mod raw_stream;
mod ready;
mod redis_away_at_start;
mod redis_evicted;
mod redis_faults;
mod redis_releases;
mod redis_shard;
mod refused_pages;
mod returns;
mod store_down;
mod streams;
mod streams_by_nginx;
mod streams_off_http;
mod tokens;
mod tunnels;

use std::sync::atomic::{AtomicU64, Ordering};

use jari_api::admin::{PacerBody, RoomBody};
use jari_testkit::TestApp;
use serde_json::json;

/// Nobody is admitted by the tick: whoever joins waits until a test says otherwise.
fn still(room: &mut RoomBody) {
    room.settings.pacer = PacerBody::Manual;
}

/// Whoever joins is admitted by the next tick.
fn open(room: &mut RoomBody) {
    room.settings.rate_per_s = 1_000.0;
}

/// Makes the line another one, so that streams are told of it: one that stands is not told again.
async fn move_line(app: &TestApp, room: &str) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let text = json!({"text": NEXT.fetch_add(1, Ordering::Relaxed).to_string()});
    app.operator().steer(room, "announce", text).await.expect(200);
}
