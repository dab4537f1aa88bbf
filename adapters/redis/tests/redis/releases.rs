//! Nodes of two releases on one room: what an older one left out is as good as there, what a newer one put in is passed over,
//! and a room of a newer format is nobody's to change.

use std::collections::BTreeMap;
use std::time::Duration;

use jari_conformance::clauses::subject;
use jari_line::{
    AdmitNow, Change, Event, JoinOutcome, Load, Loss, PassOutcome, Past, RedeemOutcome, SeenBits,
    SeqSet, Settings, Ticket,
};
use jari_ports::{LineStore, StoreError};
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::limits::SEQ_MAX;
use jari_units::{Mark, Millis, PassId, RoomId};
use tokio::time::timeout;

/// A busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Scalars that releases of this format came to write one after the other; rooms of before have none of them.
const LATER: [&str; 14] = [
    "home",
    "home_run",
    "served_at",
    "deaf_until",
    "kept",
    "taken",
    "landed_until",
    "words",
    "auto_window",
    "auto_joined",
    "auto_busy",
    "auto_since",
    "auto_why",
    "set_mode",
];

fn open(server: &Server) -> RedisStore {
    RedisStore::open(RedisOptions::new(server.url())).expect("the store opens")
}

fn id(text: &str) -> RoomId {
    text.parse().expect("an id")
}

/// All keys of a room with what is in them.
fn contents(server: &Server, room: &str) -> BTreeMap<String, String> {
    let keys = server.ask_list(&format!("KEYS jari:{{{room}}}:*"));
    keys.into_iter().map(|key| (key.clone(), server.ask(&format!("DUMP {key}")))).collect()
}

/// Before each step the room is as a release before this one would have left it.
#[tokio::test]
async fn issue_4_a_room_that_an_older_release_wrote_is_served() {
    let server = Server::start(Kind::Redis);
    let (store, room) = (open(&server), id("shop"));
    let settings = Settings { capacity: 2, ..Settings::default() };
    store.create(&room, settings.clone()).await.expect("created");
    let older = || {
        let fields = LATER.join(" ");
        server.ask(&format!("HDEL jari:{{shop}}:s {fields}"));
    };
    older();
    let people = (1..=5).map(subject).collect();
    let joined = store.join(&room, Mark::NONE, people).await.expect("joined").outcome;
    assert_eq!(joined, (1..=5).map(|seq| JoinOutcome::Joined { seq }).collect::<Vec<_>>());
    older();
    assert_eq!(store.admit(&room, Mark::NONE).await.expect("ticked").outcome.called, 2);
    older();
    let mark = store.read(&room).await.expect("read").mark;
    let pass = PassId { incarnation: mark.incarnation, seq: 1, grant: 1 };
    let claimed = store.claim(&room, mark, vec![pass]).await.expect("claimed").outcome;
    assert!(matches!(claimed[..], [PassOutcome::Live(grant)] if grant.claimed), "{claimed:?}");
    older();
    let no = store.read(&room).await.expect("read").outcome.next_ticket_no(1, 1).expect("live");
    let token = Ticket { pass, no, nonce: [7; 16] };
    let landed = store.redeem(&room, Mark::NONE, token).await.expect("redeemed").outcome;
    assert!(matches!(landed, RedeemOutcome::Redeemed(_)), "{landed:?}");
    older();
    store.attend(&room, mark, 1).await.expect("attended");
    store.change(&room, mark, Change::Block(subject(4))).await.expect("changed");
    older();
    let other = Change::Settings(Box::new(Settings { capacity: 3, ..settings }));
    store.change(&room, Mark::NONE, other).await.expect("changed");
    older();
    store.end_pass(&room, Mark::NONE, vec![pass]).await.expect("ended");
    older();
    let ticked = store.admit(&room, Mark::NONE).await.expect("ticked").outcome;
    assert_eq!((ticked.called, ticked.unlisted, ticked.without_group), (2, 0, false));
    let dump = store.dump(&room).await.expect("dumped").outcome;
    assert_eq!(dump.passes.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [2, 3, 5]);
    assert!(dump.w.is_empty(), "{:?}", dump.w);
}

/// An older node's event leaves the number of a newer one's behind: what was noted then says nothing of now.
#[tokio::test]
async fn issue_4_what_an_older_release_took_away_is_not_missed() {
    let server = Server::start(Kind::Redis);
    let (store, room) = (open(&server), id("shop"));
    store.create(&room, Settings::default()).await.expect("created");
    store.join(&room, Mark::NONE, vec![subject(1)]).await.expect("joined");
    store.change(&room, Mark::NONE, Change::Block(subject(7))).await.expect("blocked");
    let kept = server.ask("HGET jari:{shop}:s kept");
    assert!(kept.contains("block:1") && kept.contains("subj:1"), "{kept}");
    store.change(&room, Mark::NONE, Change::Unblock(subject(7))).await.expect("unblocked");
    // As if the last one had been an older node's.
    server.ask(&format!("HSET jari:{{shop}}:s kept \"{kept}\""));
    let ticked = store.admit(&room, Mark::NONE).await.expect("ticked").outcome;
    assert_eq!((ticked.unlisted, ticked.called), (0, 1));
}

/// What a newer release of this format writes besides is passed over; a kind of event that this one does not know is a feed
/// that is lost, which is read anew.
#[tokio::test]
async fn issue_4_what_a_newer_release_of_the_format_adds_is_passed_over() {
    let server = Server::start(Kind::Redis);
    let (store, room) = (open(&server), id("shop"));
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    let mut feed = store.subscribe(&room, mark.event_no).await.expect("subscribed");
    let newer = |no: u64, kind: &str| {
        let incarnation = mark.incarnation.to_string();
        let event = [("kind", kind), ("in", &incarnation), ("change", "announce"), ("a", "soon")];
        let more =
            [("b", ""), ("ended", ""), ("granted", ""), ("deadline", "0"), ("colour", "blue")];
        let (mut fields, mut word) = (String::new(), no.to_string());
        for (name, value) in event.iter().chain(&more) {
            fields += &format!(" {name} \"{value}\"");
            word += &format!(" {}:{name} {}:{value}", name.len(), value.len());
        }
        let added = server.ask(&format!("XADD jari:{{shop}}:ev {no}-0{fields}"));
        assert_eq!(added, format!("{no}-0"));
        server.ask(&format!(
            "HSET jari:{{shop}}:s event_no {no} colour blue set_colour blue notice soon notice_at 1700000000000"
        ));
        server.ask(&format!("SPUBLISH jari:{{shop}}:ev \"{word}\""));
    };
    newer(2, "changed");
    let event = timeout(PATIENCE, feed.next()).await.expect("it is told").expect("it is read");
    assert!(
        matches!(&event.event, Event::Changed { change, .. } if **change == Change::Announce("soon".into()))
    );
    let read = store.read(&room).await.expect("read");
    assert_eq!((read.mark.event_no, read.outcome.control().notice.is_some()), (2, true));
    let joined = store.join(&room, read.mark, vec![subject(1)]).await.expect("joined");
    assert_eq!(joined.mark.event_no, 3, "and the room goes on");
    timeout(PATIENCE, feed.next()).await.expect("it is told").expect("it is read");

    newer(4, "repainted");
    timeout(PATIENCE, feed.next()).await.expect("it is told").expect_err("nobody here knows it");
    let read = store.read(&room).await.expect("read");
    let mut feed = store.subscribe(&room, read.mark.event_no).await.expect("subscribed");
    store.join(&room, read.mark, vec![subject(2)]).await.expect("joined");
    let event = timeout(PATIENCE, feed.next()).await.expect("it is told").expect("it is read");
    assert_eq!(event.event_no, 5);
    assert_eq!(server.ask("HGET jari:{shop}:s colour"), "blue", "what is not known is left alone");
}

/// Every operation says that this node's upgrade should be finished, and not a byte of the room is another one.
#[tokio::test]
async fn issue_4_no_operation_touches_a_room_of_a_newer_format() {
    let server = Server::start(Kind::Redis);
    let (store, room) = (open(&server), id("shop"));
    let mark = store.create(&room, Settings::default()).await.expect("created").mark;
    store.join(&room, mark, (1..=9).map(subject).collect()).await.expect("joined");
    let replica = store.read(&room).await.expect("read").outcome;
    let telling = replica.tellings(replica.mark()).next().expect("a part");
    server.ask("HSET jari:{shop}:s format 2");
    let before = contents(&server, "shop");
    let pass = PassId { incarnation: mark.incarnation, seq: 1, grant: 1 };
    let (one, none) = (vec![subject(1)], Mark::NONE);
    let bits = SeenBits::pack(&[1].into_iter().collect::<SeqSet>()).remove(0);
    let lost = Loss::Seen(Past { mark: replica.mark(), origin: None });
    macro_rules! refused {
        ($($operation:ident($($with:expr),*);)*) => {$(
            let answer = store.$operation(&room, $($with),*).await.map(drop);
            let Err(StoreError::Unavailable(told)) = answer else {
                panic!("{}: {answer:?}", stringify!($operation))
            };
            let told_so = told.contains("format 2") && told.contains("finish the upgrade");
            assert!(told_so, "{}: {told}", stringify!($operation));
        )*};
    }
    refused! {
        create(Settings::default());
        delete(SEQ_MAX);
        join(none, one.clone());
        leave(none, one.clone());
        seen(none, bits);
        admit(none);
        admit_now(none, AdmitNow::Count(1));
        claim(none, vec![pass]);
        touch(none, vec![pass]);
        extend_for_payment(none, pass, Millis(1_000));
        redeem(none, Ticket { pass, no: 1, nonce: [0; 16] });
        end_pass(none, vec![pass]);
        revoke(none, one);
        change(none, Change::Pause);
        read();
        recover(Settings::default(), lost, 1);
        restore(none, 1, telling);
        reattach(none, Vec::new());
        attend(none, 1);
        signal(none, 1, Load::Ok, Millis(1_000));
        dump();
    }
    assert_eq!(contents(&server, "shop"), before);
    let mut feed = store.subscribe(&room, 1).await.expect("subscribed");
    let silent = timeout(Duration::from_millis(300), feed.next()).await;
    assert!(!matches!(silent, Ok(Ok(_))), "nor is anything of it told: {silent:?}");
}
