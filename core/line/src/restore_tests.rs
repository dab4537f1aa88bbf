//! Merging tellings: each place takes the furthest step that anybody tells of.

use jari_units::{Millis, Timestamp, limits};

use super::*;
use crate::join::tests::{key, room, room_with, subjects};
use crate::recover::tests::{NODE, past, recover, tell_all, tick, wait};
use crate::{Change, JoinOutcome, Loss, Past, ReattachOutcome, Receipt, Settings, Standing};

fn set(seqs: &[Seq]) -> SeqSet {
    seqs.iter().collect()
}

/// A recovery of a room of which nothing is left, begun by whoever knew `known`.
fn emptied(known: &Room) -> Room {
    let now = known.ledger().clocks.now + Millis(1_000);
    let loss = Loss::Seen(past(known));
    Room::recover_lost(&loss, known.ledger().settings().clone(), now, 0).outcome
}

/// One step of a place each, in the order of its life: in line, inside, out unclaimed, inside again, ended.
fn lives() -> Vec<(&'static str, Part)> {
    let pass = |grant| Pass {
        grant,
        deadline: Millis(100_000),
        granted_at: Millis(1),
        claimed_at: None,
        paying_since: None,
        landed: None,
    };
    let part = |waiting: &[Seq], once: &[Seq], passes: Vec<(Seq, Pass)>| Part {
        known: set(&[1]),
        waiting: set(waiting),
        once: set(once),
        passes,
    };
    vec![
        ("in line", part(&[1], &[], vec![])),
        ("inside", part(&[], &[], vec![(1, pass(1))])),
        ("out unclaimed", part(&[1], &[1], vec![])),
        ("inside again", part(&[], &[1], vec![(1, pass(2))])),
        ("ended", part(&[], &[], vec![])),
    ]
}

/// Every pair of steps, in both orders: the later one counts.
#[test]
fn the_furthest_step_counts_whoever_tells_first() {
    let mut known = room();
    known.join(Mark::NONE, &subjects(1..=1)).expect("no mark");
    let head = known.ledger().tellings(known.mark()).next().expect("one part").head;
    let state = |room: &Room| {
        let dump = room.dump();
        (dump.w, dump.once, dump.passes)
    };
    let tell = |room: &mut Room, part: &Part| {
        let telling =
            Telling { head: head.clone(), seen: Mark::NONE, part: part.clone(), done: false };
        room.restore(Mark::NONE, NODE, &telling).expect("no mark");
    };
    let lives = lives();
    for (earlier, one) in lives.iter().enumerate() {
        for other in &lives[earlier..] {
            let mut alone = emptied(&known);
            tell(&mut alone, &other.1);
            for order in [[one, other], [other, one]] {
                let mut room = emptied(&known);
                order.iter().for_each(|(_, part)| tell(&mut room, part));
                assert_eq!(state(&room), state(&alone), "{} and {}", one.0, other.0);
                let before = room.mark();
                order.iter().for_each(|(_, part)| tell(&mut room, part));
                assert_eq!(room.mark(), before, "told again, nothing changes");
            }
        }
    }
}

/// One pass, told at two moments: claimed, slid and paying count.
#[test]
fn a_pass_is_as_far_as_anybody_saw_it() {
    let first = Pass {
        grant: 1,
        deadline: Millis(50),
        granted_at: Millis(10),
        claimed_at: None,
        paying_since: None,
        landed: None,
    };
    let later = Pass {
        deadline: Millis(900),
        claimed_at: Some(Millis(20)),
        paying_since: Some(Millis(30)),
        ..first
    };
    assert_eq!((merged_pass(&first, &later), merged_pass(&later, &first)), (later, later));
    let again = Pass { grant: 2, ..first };
    assert_eq!((merged_pass(&later, &again), merged_pass(&again, &later)), (again, again));
}

#[test]
fn outcomes_in_order_of_precedence() {
    let mut known = room();
    known.join(Mark::NONE, &subjects(1..=3)).expect("no mark");
    let telling = known.ledger().tellings(known.mark()).next().expect("one part");
    let mut store = emptied(&known);
    let restore = |room: &mut Room, telling: &Telling| {
        room.restore(Mark::NONE, NODE, telling).expect("no mark").outcome
    };
    // Of the history that recovers itself, and of a life before the one that was lost.
    let own = store.ledger().tellings(store.mark()).next().expect("a head");
    let stranger = Room::create(Settings::default(), Timestamp(5), 0).outcome;
    let strange = stranger.ledger().tellings(stranger.mark()).next().expect("a head");
    for foreign in [own, strange] {
        assert_eq!(restore(&mut store, &foreign), RestoreOutcome::Foreign);
    }
    assert_eq!(restore(&mut store, &telling), RestoreOutcome::Merged);
    wait(&mut store);
    assert_eq!(restore(&mut store, &telling), RestoreOutcome::Late);
}

/// FLUSHALL: everybody is back in order, those inside count, nobody who ended is in front.
#[test]
fn a_lost_room_comes_back_from_a_replica() {
    let mut lost = room_with(Settings { capacity: 3, ..Settings::default() });
    lost.join(Mark::NONE, &subjects(1..=9)).expect("no mark");
    tick(&mut lost);
    lost.leave(Mark::NONE, &[key(2), key(6)]).expect("no mark");
    let mut store = emptied(&lost);
    tell_all(&mut store, NODE, &lost);
    wait(&mut store);
    let (is, was) = (store.dump(), lost.dump());
    assert_eq!((is.w, is.passes, is.serving, is.served), (was.w, was.passes, 3, 3));
    let incarnation = lost.mark().incarnation;
    for seq in 1..=9 {
        let (is, was) =
            (store.ledger().standing(incarnation, seq), lost.ledger().standing(incarnation, seq));
        match (is, was) {
            (Standing::Admitted(_), Standing::Admitted(_)) => {}
            _ => assert_eq!(is, was, "{seq}"),
        }
    }
    assert_eq!(store.ledger().room_for_more(store.ledger().passes().live()), 1);
}

/// A pass of the old history is the same pass in the new one.
#[test]
fn passes_go_on_under_their_old_ids() {
    let mut lost = room();
    lost.join(Mark::NONE, &subjects(1..=1)).expect("no mark");
    tick(&mut lost);
    let grant = lost.ledger().grant_of(1).expect("called");
    let mut store = emptied(&lost);
    tell_all(&mut store, NODE, &lost);
    let touched = store.touch(Mark::NONE, &[grant.id]).expect("no mark").outcome;
    assert!(matches!(touched[..], [crate::PassOutcome::Live(live)] if live.claimed));
    wait(&mut store);
    let ended = store.end_pass(Mark::NONE, &[grant.id]).expect("no mark").outcome;
    assert_eq!(ended, [crate::EndOutcome::Ended]);
}

/// A large room is told in calls of bounded size, and whole.
#[test]
fn tellings_are_bounded_and_whole() {
    let passes = limits::RESTORE_PASSES_MAX as u64 * 2 + 5;
    let wide = Settings { max_waiting: 1_000_000, ..Settings::default() };
    let mut lost = room_with(wide);
    let people = limits::RESTORE_NUMBERS_MAX + 5_000;
    for first in (1..=people).step_by(512) {
        lost.join(Mark::NONE, &subjects(first..=(first + 511).min(people))).expect("no mark");
    }
    for first in (1..=passes).step_by(200) {
        let whom = crate::AdmitNow::Subjects(subjects(first..=(first + 199).min(passes)));
        lost.admit_now(Mark::NONE, &whom).expect("no mark");
    }
    let tellings: Vec<_> = lost.ledger().tellings(lost.mark()).collect();
    assert!(tellings.len() >= 4, "{}", tellings.len());
    for telling in &tellings {
        assert!(telling.part.known.len() <= limits::RESTORE_NUMBERS_MAX);
        assert!(telling.part.passes.len() <= limits::RESTORE_PASSES_MAX);
    }
    let done: Vec<_> = tellings.iter().map(|telling| telling.done).collect();
    assert_eq!(done.iter().filter(|done| **done).count(), 1);
    assert_eq!(done.last(), Some(&true));
    let mut store = emptied(&lost);
    tell_all(&mut store, NODE, &lost);
    assert_eq!((store.dump().w, store.dump().passes), (lost.dump().w, lost.dump().passes));
}

/// A room that never gave a number still has a pause to tell of.
#[test]
fn an_empty_room_tells_its_head() {
    let mut lost = room();
    lost.change(Mark::NONE, Change::Pause).expect("no mark");
    let mut store = emptied(&lost);
    tell_all(&mut store, NODE, &lost);
    assert!(store.ledger().control().paused);
}

/// Lost again while it recovers: what was unknown is not taken for ended.
#[test]
fn a_recovery_cut_short_by_another_loss_loses_nobody() {
    let mut lost = room();
    lost.join(Mark::NONE, &subjects(1..=10)).expect("no mark");
    let mut store = emptied(&lost);
    let fell_back = store.clone();
    let receipt = Receipt {
        subject: key(4),
        incarnation: lost.mark().incarnation,
        seq: 4,
        as_of: lost.ledger().clocks.now,
        pass: None,
    };
    store.reattach(Mark::NONE, &[receipt]).expect("no mark");
    let mut again = fell_back;
    assert_eq!(recover(&mut again, &store), crate::RecoverOutcome::Began);
    let shown = again.reattach(Mark::NONE, &[receipt]).expect("no mark").outcome;
    assert_eq!(shown, [ReattachOutcome::Restored { seq: 4 }]);
    tell_all(&mut again, NODE, &lost);
    wait(&mut again);
    assert_eq!(again.ledger().waiting(), 10);
    let joined = again.join(Mark::NONE, &[key(4)]).expect("no mark").outcome;
    assert_eq!(joined, [JoinOutcome::Waiting { seq: 4 }]);
}

/// Numbers beyond what began the recovery: whoever has seen more raises them.
#[test]
fn a_node_that_saw_more_raises_the_numbers() {
    let mut lost = room();
    lost.join(Mark::NONE, &subjects(1..=10)).expect("no mark");
    let lagging = lost.clone();
    lost.join(Mark::NONE, &subjects(11..=400)).expect("no mark");
    let mut store = emptied(&lagging);
    let mut telling = lagging.ledger().tellings(lagging.mark()).next().expect("one part");
    telling.seen = lost.mark();
    store.restore(Mark::NONE, NODE, &telling).expect("no mark");
    assert_eq!(store.mark().next_seq, 401 + limits::SEQ_JUMP);
    let unknown = Past { mark: lost.mark(), origin: None };
    let again = store.recover(&Loss::Seen(unknown), Settings::default(), Timestamp(0));
    assert_eq!(again.outcome, crate::RecoverOutcome::UnderWay);
}

/// Ended wins over what a replica knew before, in the window too.
#[test]
fn who_leaves_in_the_window_has_left() {
    let mut lost = room();
    lost.join(Mark::NONE, &subjects(1..=5)).expect("no mark");
    tick(&mut lost);
    let mut store = emptied(&lost);
    let receipt = |seq: Seq| Receipt {
        subject: key(seq),
        incarnation: lost.mark().incarnation,
        seq,
        as_of: lost.ledger().clocks.now,
        pass: (seq < 3).then_some(1),
    };
    store.reattach(Mark::NONE, &[1, 2, 4].map(receipt)).expect("no mark");
    store.change(Mark::NONE, Change::Block(key(2))).expect("no mark");
    store.leave(Mark::NONE, &[key(1), key(4)]).expect("no mark");
    tell_all(&mut store, NODE, &lost);
    let again = store.reattach(Mark::NONE, &[1, 4].map(receipt)).expect("no mark").outcome;
    assert_eq!(again, [ReattachOutcome::Ended; 2]);
    wait(&mut store);
    assert_eq!(store.ledger().inside(), set(&[3, 5]));
    assert!(store.dump().w.is_empty());
}

/// A pass that nobody could use for the length of an outage is good for a claim window from its end.
#[test]
fn no_pass_runs_out_because_of_the_loss() {
    let mut lost = room();
    lost.join(Mark::NONE, &subjects(1..=2)).expect("no mark");
    tick(&mut lost);
    let claim_window = Settings::default().claim_window;
    for _ in 0..claim_window.0 / 1_000 - 1 {
        tick(&mut lost);
    }
    assert_eq!(lost.ledger().grant_of(1).expect("inside").remaining, Millis(1_000));
    let mut store = emptied(&lost);
    // Let in by name before anybody told the time.
    let receipt = Receipt {
        subject: key(2),
        incarnation: lost.mark().incarnation,
        seq: 2,
        as_of: lost.ledger().clocks.now,
        pass: None,
    };
    store.reattach(Mark::NONE, &[receipt]).expect("no mark");
    store.change(Mark::NONE, Change::Allow(key(2))).expect("no mark");
    tell_all(&mut store, NODE, &lost);
    wait(&mut store);
    for seq in [1, 2] {
        let grant = store.ledger().grant_of(seq).expect("inside");
        assert_eq!((grant.remaining, grant.claimed), (claim_window, false), "{seq}");
    }
}
