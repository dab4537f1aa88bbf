//! What a receipt does not buy, and what ended.

use jari_api::PlaceStatus;
use jari_line::Settings;
use jari_pass::{KeyRing, PassToken, PlaceToken, RingKey};
use jari_ports::{Clock, OnStoreFailure};
use jari_units::{Millis, PassId, SubjectKey, Timestamp};

use crate::people::Person;
use crate::site::{ROOM, Site, ring, room_id};

/// A room where nobody is let in, with these people.
async fn still(people: usize) -> (Site, crate::site::Node, Vec<Person>) {
    let settings = Settings { capacity: 0, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let node = site.node().await;
    let mut joined = site.people(people);
    for person in &mut joined {
        assert_eq!(person.join(&node.url).await.0, 201);
    }
    (site, node, joined)
}

fn with(person: &Person, kind: &str, token: String) -> Person {
    let mut person = person.clone();
    person.cookies.insert(format!("jari_{kind}_{ROOM}"), token);
    person
}

/// Acknowledged, and heard of by no replica before the store was lost: only the node that told it knows.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_who_left_in_the_last_moment_before_a_loss_stays_gone() {
    let (site, first, mut people) = still(3).await;
    first.kill();
    let node = site.node().await;
    site.store.deafen(true);
    assert_eq!(people[0].poll(&node.url).await.0, 200);
    site.store.deafen(false);
    let mut gone = people.remove(1);
    assert_eq!(gone.clone().leave(&node.url).await, 204);
    site.store.fall_back();
    people[0].poll(&node.url).await;
    site.noticed_by(&node).await;
    gone.poll(&node.url).await;
    for person in &mut people {
        assert_eq!(person.poll(&node.url).await.0, 503);
    }
    site.recovered().await;
    assert_eq!(gone.told(&node.url).await.status, PlaceStatus::Ended);
    for person in &mut people {
        assert_eq!(person.told(&node.url).await.status, PlaceStatus::Waiting);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_only_a_receipt_of_this_room_from_shortly_before_the_loss_buys_a_place() {
    let (site, running, mut people) = still(3).await;
    let honest = people[0].receipt();
    running.kill();
    site.store.fall_back();
    let restarted = site.node().await;
    let node = &restarted.url;
    site.noticed_by(&restarted).await;
    for person in &mut people {
        assert_eq!(person.poll(node).await.0, 503);
    }
    let nobody = |nth: u8| SubjectKey([nth; 16]);
    let stranger = site.person();
    let forger = vec![RingKey { id: 1, secret: [9; 32], signs: true }];
    let forger = KeyRing::new(forger, [2; 32]).expect("one signs");
    let token = PlaceToken { seq: 7, subject: nobody(7), ..honest.clone() };
    let mut forged = with(&stranger, "place", forger.sign(&token));
    assert_eq!(forged.refused(node).await["reason"], "bad_signature");
    let other = PlaceToken { room: "other".parse().expect("an id"), ..token.clone() };
    let mut elsewhere = with(&stranger, "place", ring().sign(&other));
    assert_eq!(elsewhere.refused(node).await["reason"], "wrong_room");
    // Signed by us, long before: its owner had gone, or it is of an earlier life of the room.
    let old = honest.as_of.0 - Millis::from_mins(10).0;
    let old = PlaceToken { seq: 8, subject: nobody(8), as_of: Timestamp(old), ..honest.clone() };
    let mut old = with(&stranger, "place", ring().sign(&old));
    assert_eq!(old.poll(node).await.0, 503, "whether it counts shows at the window's end");
    // Somebody else's receipt is no place of one's own.
    let mut thief = with(&stranger, "place", people[1].cookie("place"));
    assert_eq!(thief.join(node).await.0, 503);
    let ended = PassToken {
        room: room_id(),
        pass: PassId { incarnation: honest.incarnation, seq: 9, grant: 1 },
        subject: nobody(9),
        issued_at: honest.as_of,
        expires_at: site.clock.now(),
    };
    let mut late = with(&stranger, "pass", ring().sign(&ended));
    assert_eq!(late.gate(node).await, 503, "nobody knows yet how it stands");

    site.recovered().await;
    let room = site.ledger().await;
    assert_eq!((room.waiting(), room.passes().live()), (3, 0), "nobody gained anything");
    assert_eq!(old.told(node).await.status, PlaceStatus::Ended);
    assert_eq!(late.gate(node).await, 428);
    let (status, view) = thief.join(node).await;
    assert_eq!(status, 201);
    assert!(view.is_some_and(|view| view.seq > 10_000), "at the end, like any newcomer");
    for (person, seq) in people.iter_mut().zip(1..) {
        let view = person.told(node).await;
        assert_eq!((view.seq, view.status), (seq, PlaceStatus::Waiting));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_what_ended_stays_ended_and_a_second_loss_changes_nothing() {
    let (site, running, mut people) = still(6).await;
    let node = &running.url;
    let mut gone = people.remove(2);
    assert_eq!(gone.clone().leave(node).await, 204);
    site.store.fall_back();
    site.noticed_by(&running).await;
    assert_eq!(gone.told(node).await.status, PlaceStatus::Ended, "the replica told of it");
    // Who leaves meanwhile has left.
    let mut leaving = people.remove(0);
    let receipts = leaving.clone();
    assert_eq!(leaving.leave(node).await, 204);

    let first = site.ledger().await.mark().incarnation;
    site.store.fall_back();
    let again = |room: &jari_line::Ledger| (room.mark().incarnation > first).then_some(());
    site.until("the second loss is noticed", again).await;
    site.noticed_by(&running).await;
    site.recovered().await;
    assert_eq!(gone.told(node).await.status, PlaceStatus::Ended);
    for person in &mut people {
        assert_eq!(person.told(node).await.status, PlaceStatus::Waiting, "{}", person.seq);
    }
    let numbers: Vec<_> = people.iter().map(|person| person.seq).collect();
    assert_eq!(numbers, [2, 4, 5, 6]);
    // Known to the store alone, which lost it again: this one may be back, the reference says so; never in front of
    // where they were.
    let mut back = receipts;
    let view = back.told(node).await;
    assert!(view.status == PlaceStatus::Ended || view.seq == 1, "{view:?}");
    let (status, view) = gone.only(&["jari_visitor"]).join(node).await;
    assert_eq!(status, 201);
    assert!(view.is_some_and(|view| view.seq > 10_000), "who left starts at the end");
}

/// A join with the receipt of a place finds that place, not a new one behind everybody.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_join_after_a_loss_finds_the_place_that_its_cookie_names() {
    let (site, running, mut people) = still(3).await;
    let node = &running.url;
    site.store.fall_back();
    site.noticed_by(&running).await;
    assert_eq!(people[1].join(node).await.0, 503, "kept, and told so");
    site.recovered().await;
    for (person, seq) in people.iter_mut().zip(1..) {
        let (status, view) = person.join(node).await;
        assert_eq!((status, view.map(|view| view.seq)), (200, Some(seq)));
        // From here on the store knows whose it is: a second tab without the receipt finds it too.
        let (status, view) = person.only(&["jari_visitor"]).join(node).await;
        assert_eq!((status, view.map(|view| view.seq)), (200, Some(seq)));
    }
}

/// Nobody's receipt is renewed by a node that does not know what it confirms.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_receipts_are_renewed_by_the_stores_clock_and_not_while_it_recovers() {
    let (site, running, mut people) = still(1).await;
    let node = &running.url;
    let person = &mut people[0];
    site.run_for(Millis::from_secs(8)).await;
    person.told(node).await;
    let before = person.receipt();
    assert!(before.as_of > before.issued_at, "confirmed since it was given");
    assert!(before.as_of <= site.ledger().await.clocks().now);
    site.store.fall_back();
    site.noticed_by(&running).await;
    assert_eq!(person.poll(node).await.0, 503);
    assert_eq!(person.receipt(), before);
    site.recovered().await;
    person.told(node).await;
    let after = person.receipt();
    assert!(after.as_of > before.as_of);
    assert_eq!(
        after.incarnation,
        site.ledger().await.mark().incarnation,
        "it names the new history"
    );
}
