//! What a receipt buys, and what it does not.

use jari_units::{Millis, Timestamp, limits};

use super::*;
use crate::join::tests::{key, room, subjects};
use crate::recover::tests::{NODE, past, recover, tell_all, tick, wait};
use crate::{Change, JoinOutcome, Loss, Settings, Standing};

use ReattachOutcome::{Absent, Admitted, Blocked, Ended, Restored, Waiting};

/// A receipt of the room that `lost` was, confirmed at its last tick.
fn receipt(lost: &Room, subject: u64, seq: Seq) -> Receipt {
    let (incarnation, as_of) = (lost.mark().incarnation, lost.ledger().clocks.now);
    Receipt { subject: key(subject), incarnation, seq, as_of, pass: None }
}

fn show(room: &mut Room, receipts: &[Receipt]) -> Vec<ReattachOutcome> {
    room.reattach(Mark::NONE, receipts).expect("no mark").outcome
}

fn show_one(room: &mut Room, receipt: Receipt) -> ReattachOutcome {
    show(room, &[receipt]).remove(0)
}

fn waiting(people: u64) -> Room {
    let mut room = room();
    room.join(Mark::NONE, &subjects(1..=people)).expect("no mark");
    room
}

/// All nodes restarted and the store wiped: only receipts are left.
fn wiped(lost: &Room) -> Room {
    let now = lost.ledger().clocks.now + Millis::from_mins(20);
    let loss = Loss::Seen(crate::Past::default());
    Room::recover_lost(&loss, lost.ledger().settings().clone(), now, 0).outcome
}

#[test]
fn outcomes_in_order_of_precedence() {
    let mut lost = waiting(9);
    lost.change(Mark::NONE, Change::Allow(key(2))).expect("no mark");
    let mut store = waiting(4);
    store.change(Mark::NONE, Change::Block(key(1))).expect("no mark");
    recover(&mut store, &lost);
    tell_all(&mut store, NODE, &lost);
    let receipts = [1, 2, 3, 6, 6].map(|n| receipt(&lost, n, n));
    let other = Receipt { subject: key(77), ..receipts[3] };
    let outcomes = show(&mut store, &receipts);
    assert!(
        matches!(
            outcomes[..],
            [
                Blocked,
                Admitted(_),
                Waiting { seq: 3 },
                Restored { seq: 6 },
                Restored { seq: 6 } | Waiting { seq: 6 }
            ]
        ),
        "{outcomes:?}"
    );
    assert_eq!(show_one(&mut store, other), Ended, "the place has an owner");
    let again = store.reattach(Mark::NONE, &receipts).expect("no mark");
    assert!(again.event.is_none(), "shown again, nothing changes");
    assert_eq!(again.outcome[3], Waiting { seq: 6 });
}

/// Q1: after the window an owner still finds the place that a replica told of.
#[test]
fn a_late_owner_gets_the_place_that_was_kept() {
    let lost = waiting(5);
    let mut store = wiped(&lost);
    tell_all(&mut store, NODE, &lost);
    wait(&mut store);
    assert!(store.ledger().is_unattached(3));
    // Came back without the receipt first, and got a new place at the end.
    let joined = store.join(Mark::NONE, &[key(3)]).expect("no mark").outcome.remove(0);
    let JoinOutcome::Joined { seq } = joined else { panic!("{joined:?}") };
    assert_eq!(show_one(&mut store, receipt(&lost, 3, 3)), Restored { seq: 3 });
    assert!(!store.ledger().is_unattached(3));
    let incarnation = store.mark().incarnation;
    assert_eq!(store.ledger().standing(incarnation, seq), Standing::Ended, "one place each");
    let joined = store.join(Mark::NONE, &[key(3)]).expect("no mark").outcome.remove(0);
    assert_eq!(joined, JoinOutcome::Waiting { seq: 3 });
}

/// An old token buys nothing: not a number that ended, not one that nobody knew in time.
#[test]
fn what_ended_or_was_not_told_in_time_stays_ended() {
    let mut lost = waiting(9);
    lost.leave(Mark::NONE, &[key(4)]).expect("no mark");
    let mut store = wiped(&lost);
    tell_all(&mut store, NODE, &lost);
    let ended = receipt(&lost, 4, 4);
    assert_eq!(show_one(&mut store, ended), Ended, "a replica knows better");
    wait(&mut store);
    let unheard = receipt(&lost, 50, 50);
    assert_eq!(show(&mut store, &[ended, unheard]), [Ended, Ended]);
    assert_eq!(store.ledger().waiting(), 8);
}

/// A replica that comes after the receipt: ended wins.
#[test]
fn a_receipt_does_not_outweigh_a_replica() {
    let mut lost = waiting(9);
    lost.leave(Mark::NONE, &[key(4)]).expect("no mark");
    let mut store = wiped(&lost);
    assert_eq!(show_one(&mut store, receipt(&lost, 4, 4)), Restored { seq: 4 });
    tell_all(&mut store, NODE, &lost);
    assert_eq!(show_one(&mut store, receipt(&lost, 4, 4)), Ended);
    wait(&mut store);
    assert_eq!(store.ledger().waiting(), 8);
}

/// With no replica left, receipts confirmed shortly before the loss count, whenever the store came back.
#[test]
fn only_receipts_from_shortly_before_the_loss_count() {
    let lost = waiting(6);
    let at = lost.ledger().clocks.now;
    let fresh_for = 2 * Settings::default().presence_window.0;
    let mut store = wiped(&lost);
    let as_of = |n, ago| Receipt { as_of: Timestamp(at.0 - ago), ..receipt(&lost, n, n) };
    let receipts = [as_of(1, fresh_for + 1), as_of(2, fresh_for), as_of(5, 0), as_of(3, 5)];
    let outcomes = show(&mut store, &receipts);
    assert_eq!(outcomes, [1, 2, 5, 3].map(|seq| Restored { seq }), "nobody knows the loss yet");
    wait(&mut store);
    assert_eq!(store.dump().w, [2, 3, 5].into_iter().collect());
    let positions = [2, 3, 5].map(|seq| store.ledger().standing(lost.mark().incarnation, seq));
    let in_line = |position| Standing::InLine { position };
    assert_eq!(positions, [1, 2, 3].map(in_line), "Q8: in order of number");
    assert!(store.mark().next_seq > 5 + limits::SEQ_JUMP);
}

/// A4: one node's clock, five minutes ahead, makes nobody else's receipt an old one.
#[test]
fn a_receipt_from_the_future_is_no_newer_than_the_loss() {
    let lost = waiting(2);
    let now = lost.ledger().clocks.now;
    let loss = Loss::Seen(past(&lost));
    let mut store = Room::recover_lost(&loss, Settings::default(), now, 0).outcome;
    let ahead = Receipt { as_of: now + Millis::from_mins(5), ..receipt(&lost, 1, 1) };
    show(&mut store, &[ahead, receipt(&lost, 2, 2)]);
    wait(&mut store);
    assert_eq!(store.ledger().waiting(), 2);
}

/// An old backup: whom nobody vouches for had gone or ended since; who shows a fresh receipt keeps the number.
#[test]
fn an_old_backup_is_no_fresh_word() {
    let mut lost = waiting(6);
    let mut backup = lost.clone();
    for _ in 0..600 {
        tick(&mut lost);
    }
    lost.join(Mark::NONE, &subjects(7..=9)).expect("no mark");
    let now = lost.ledger().clocks.now;
    _ = backup.recover(&Loss::Declared, Settings::default(), now);
    let outcomes = show(&mut backup, &[(2, 2), (8, 8)].map(|(who, seq)| receipt(&lost, who, seq)));
    assert_eq!(outcomes, [Waiting { seq: 2 }, Restored { seq: 8 }]);
    wait(&mut backup);
    assert_eq!(backup.dump().w, [2, 8].into_iter().collect());
    // A young one is: its word is as fresh as any receipt.
    let lost = waiting(6);
    let mut backup = lost.clone();
    _ = backup.recover(&Loss::Declared, Settings::default(), Timestamp(0));
    show(&mut backup, &[receipt(&lost, 2, 2)]);
    wait(&mut backup);
    assert_eq!(backup.ledger().waiting(), 6);
}

/// Q1: of two old numbers of one person the newer counts: the older had ended when it was given.
#[test]
fn the_newer_of_two_old_numbers_counts() {
    let mut lost = waiting(3);
    let backup = lost.clone();
    lost.leave(Mark::NONE, &[key(1)]).expect("no mark");
    lost.join(Mark::NONE, &[key(1)]).expect("no mark");
    let (older, newer) = (receipt(&lost, 1, 1), receipt(&lost, 1, 4));
    for order in [vec![older, newer], vec![newer, older], vec![newer, older, newer]] {
        let mut store = backup.clone();
        recover(&mut store, &lost);
        for receipt in &order {
            show_one(&mut store, *receipt);
        }
        assert_eq!(store.dump().w, [2, 3, 4].into_iter().collect(), "{order:?}");
        // All in one batch as well.
        let mut store = wiped(&lost);
        show(&mut store, &order);
        assert_eq!(store.dump().w, [4].into_iter().collect(), "{order:?}");
        assert_eq!(store.dump().subjects, [(key(1), 4)]);
    }
}

/// A cookie that is still good is someone inside: counted, and good until a whole use after the window.
#[test]
fn passes_from_cookies_count_again() {
    let mut lost = waiting(3);
    tick(&mut lost);
    let cookie = |n: u64, grant| Receipt { pass: Some(grant), ..receipt(&lost, n, n) };
    let mut store = wiped(&lost);
    let shown = show(&mut store, &[cookie(1, 1), cookie(2, 2), receipt(&lost, 3, 3)]);
    assert!(
        matches!(shown[..], [Admitted(one), Admitted(two), Restored { seq: 3 }]
            if one.id.grant == 1 && two.id.grant == 2),
        "{shown:?}"
    );
    assert_eq!(store.ledger().passes().live(), 2);
    wait(&mut store);
    for grant in [1, 2].map(|seq| store.ledger().grant_of(seq).expect("inside")) {
        assert!(grant.claimed);
        assert_eq!(grant.remaining, Settings::default().pass_ttl);
    }
}

/// The store fell back to before a call: the cookie is the proof of it, and its place does not wait any more.
#[test]
fn a_cookie_outweighs_the_place_it_came_from() {
    let mut lost = waiting(3);
    let backup = lost.clone();
    tick(&mut lost);
    let mut store = backup.clone();
    recover(&mut store, &lost);
    let cookie = Receipt { pass: Some(1), ..receipt(&lost, 1, 1) };
    assert!(matches!(show_one(&mut store, cookie), Admitted(_)));
    assert_eq!(store.dump().w, [2, 3].into_iter().collect());
    // A pass that ran out unclaimed does not come back by its old cookie.
    let mut second = backup;
    for _ in 0..200 {
        tick(&mut second);
    }
    let absent = second.dump().once;
    assert!(absent.contains(1), "called, and did not come");
    let mut store = wiped(&second);
    tell_all(&mut store, NODE, &second);
    assert_eq!(show_one(&mut store, cookie), Restored { seq: 1 });
    assert_eq!(show_one(&mut store, cookie), Absent { seq: 1 });
}

/// Q5: a number that the new history gave is not the old history's.
#[test]
fn an_old_number_above_the_new_histories_first_is_void() {
    let lost = waiting(3);
    let mut store = wiped(&lost);
    tell_all(&mut store, NODE, &lost);
    wait(&mut store);
    let first = store.mark().next_seq;
    store.join(Mark::NONE, &[key(50)]).expect("no mark");
    let old = receipt(&lost, 9, first);
    assert_eq!(show_one(&mut store, old), Ended);
    let standing = store.ledger().standing(old.incarnation, first);
    assert_eq!(standing, Standing::Ended);
}

/// A node hands a receipt on while its replica may learn something by it, and no longer.
#[test]
fn a_receipt_is_wanted_until_it_tells_nothing_new() {
    let mut lost = waiting(3);
    tick(&mut lost);
    let mut store = wiped(&lost);
    let first = receipt(&lost, 1, 1);
    let newer = Receipt { as_of: first.as_of + Millis(1_000), ..first };
    let cookie = Receipt { pass: Some(1), ..first };
    assert!(store.ledger().wants(&first));
    show_one(&mut store, first);
    assert!(!store.ledger().wants(&first), "noted, by whichever node");
    assert!(store.ledger().wants(&newer), "of a second device");
    assert!(store.ledger().wants(&cookie));
    show_one(&mut store, cookie);
    assert!(!store.ledger().wants(&cookie));
    // One that is told of without its owner is wanted after the window too.
    tell_all(&mut store, NODE, &lost);
    wait(&mut store);
    assert!(store.ledger().wants(&receipt(&lost, 2, 2)));
    assert!(!store.ledger().wants(&newer) && !store.ledger().wants(&receipt(&lost, 8, 8)));
}

/// Tokens of a join in the window name the new history; they show no position either.
#[test]
fn no_position_is_told_of_either_history_while_it_recovers() {
    let lost = waiting(3);
    let mut store = wiped(&lost);
    show_one(&mut store, receipt(&lost, 2, 2));
    let incarnations = [lost.mark().incarnation, store.mark().incarnation];
    let standing = incarnations.map(|incarnation| store.ledger().standing(incarnation, 2));
    assert_eq!(standing, [Standing::Recovering; 2]);
    assert_eq!(store.ledger().confirmed_at(), Timestamp::default());
}
