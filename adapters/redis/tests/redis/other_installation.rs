//! What a store says of a line that another installation serves: when somebody was last there.

use std::sync::Arc;

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::Settings;
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::limits::ATTEND_EVERY;
use jari_units::{Mark, Millis, RoomId};

#[tokio::test]
async fn a_line_tells_when_it_was_last_served() {
    let (server, clock) = (Server::start(Kind::Redis), SetClock::at(START));
    let options = RedisOptions::new(server.url()).clock(Arc::clone(&clock) as _);
    let store = RedisStore::open(options).expect("the store opens");
    let room: RoomId = "shop".parse().expect("an id");
    let served = async || store.served(&room).await.expect("it answers");
    assert_eq!(served().await, None, "there is none");
    store.create(&room, Settings::default()).await.expect("created");
    assert_eq!(served().await, None, "nobody was ever in it");

    // An empty room is not ticked: its nodes tell by the server's clock.
    store.attend(&room, Mark::NONE, 7).await.expect("attended");
    clock.advance(ATTEND_EVERY);
    assert_eq!(served().await, Some(ATTEND_EVERY));
    store.attend(&room, Mark::NONE, 7).await.expect("attended");
    assert_eq!(served().await, Some(Millis(0)));

    // A room with people is ticked, whoever polls.
    store.join(&room, Mark::NONE, vec![subject(1)]).await.expect("joined");
    clock.advance(Millis(60_000));
    assert_eq!(served().await, Some(Millis(60_000)));
    store.admit(&room, Mark::NONE).await.expect("ticked");
    clock.advance(Millis(900));
    assert_eq!(served().await, Some(Millis(900)));
}
