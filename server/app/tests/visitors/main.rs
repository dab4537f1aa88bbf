//! What visitors and sites rely on: identities, places, streams, the gate, the tenant's API, and what they are told when
//! something is wrong with a request. What operators rely on is in the other test program.

mod bodies;
mod breakable;
mod cookies;
mod cross_origin;
mod entries;
mod gate;
mod joining;
mod limits;
mod modes;
mod on_redis;
mod opening;
mod places;
mod raw_stream;
mod redis_faults;
mod returns;
mod store_down;
mod streams;
mod streams_by_nginx;
mod streams_off_http;
mod tokens;

use jari_api::admin::{PacerBody, RoomBody};

/// Nobody is admitted by the tick: whoever joins waits until a test says otherwise.
fn still(room: &mut RoomBody) {
    room.settings.pacer = PacerBody::Manual;
}

/// Whoever joins is admitted by the next tick.
fn open(room: &mut RoomBody) {
    room.settings.rate_per_s = 1_000.0;
}
