//! How many commands of the server a script does inside: each is small, and a tick is done for every busy room every second.

use std::collections::BTreeMap;

use jari_conformance::clauses::subject;
use jari_line::{PacerKind, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::{Mark, RoomId};

use crate::leases::calls_since;

/// The script, one read of all scalars, and what of the room's keys is asked, written and told. With a question for each key
/// that an event may leave behind it was thirty-five.
const TICK_CALLS_MAX: u64 = 27;
/// Of a newcomer in a line that others stand in; it was twenty-one.
const JOIN_CALLS_MAX: u64 = 16;

#[tokio::test]
async fn issue_4_a_line_that_stands_is_ticked_by_few_commands() {
    let server = Server::start(Kind::Redis);
    let node = RedisStore::open(RedisOptions::new(server.url())).expect("the store opens");
    let room: RoomId = "shop".parse().expect("an id");
    let settings = Settings { pacer: PacerKind::Manual, ..Settings::default() };
    node.create(&room, settings).await.expect("created");
    let join = async |who: u64| {
        node.join(&room, Mark::NONE, vec![subject(who)]).await.expect("joined");
    };
    for who in 1..=10 {
        join(who).await;
    }
    for _ in 0..2 {
        node.admit(&room, Mark::NONE).await.expect("ticked");
    }
    let mut counted = BTreeMap::new();
    calls_since(&server, &mut counted);
    node.admit(&room, Mark::NONE).await.expect("ticked");
    let tick = calls_since(&server, &mut counted);
    join(11).await;
    let joined = calls_since(&server, &mut counted);
    println!("a tick: {tick:?}; a join: {joined:?}");
    let of = |calls: &BTreeMap<String, u64>| calls.values().sum::<u64>();
    assert!(of(&tick) <= TICK_CALLS_MAX, "{}: {tick:?}", of(&tick));
    assert!(of(&joined) <= JOIN_CALLS_MAX, "{}: {joined:?}", of(&joined));
}
