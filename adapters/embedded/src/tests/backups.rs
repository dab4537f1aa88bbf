//! Backups of a running and of a stopped store: the copy opens elsewhere and equals what was.

use std::sync::Arc;

use jari_conformance::SetClock;
use jari_line::{
    Change, Dump, JoinOutcome, Loss, ReattachOutcome, Receipt, RecoverOutcome, Settings,
};
use jari_ports::LineStore;
use jari_units::{Mark, Millis};
use tempfile::TempDir;

use super::{Bench, START, create, dump, join, subject};
use crate::{BackupError, EmbeddedStore, backup};

fn open(dir: &TempDir) -> EmbeddedStore {
    EmbeddedStore::open(&dir.path().join("copy"), SetClock::at(START)).expect("a sound copy")
}

#[tokio::test]
async fn a_copy_of_a_running_store_equals_it() {
    let bench = Bench::checkpointing(50);
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..240 {
        join(&store, &id, number).await;
    }
    bench.clock.advance(Millis(1_000));
    store.admit(&id, Mark::NONE).await.expect("it answers");
    let target = TempDir::new().expect("a temporary folder");
    backup(bench.dir.path(), &target.path().join("copy")).expect("a copy");
    let before = dump(&store, &id).await;
    join(&store, &id, 999).await;
    assert_eq!(places(dump(&open(&target), &id).await), places(before));

    store.close();
    let stopped = TempDir::new().expect("a temporary folder");
    backup(bench.dir.path(), &stopped.path().join("copy")).expect("a copy");
    let last = dump(&bench.open(), &id).await;
    assert_eq!(places(dump(&open(&stopped), &id).await), places(last));
}

/// Who waits and who is inside: a restored copy begins a new history of them.
fn places(dump: Dump) -> impl PartialEq + std::fmt::Debug {
    (dump.w, dump.passes, dump.subjects)
}

/// What people were told after a backup comes back by their receipts; whom nobody vouches for had gone; no number is
/// given twice, and the copy is restored once.
#[tokio::test]
async fn a_restored_backup_asks_people_what_they_hold() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 1..=10 {
        join(&store, &id, number).await;
    }
    store.change(&id, Mark::NONE, Change::Pause).await.expect("it answers");
    let target = TempDir::new().expect("a temporary folder");
    backup(bench.dir.path(), &target.path().join("copy")).expect("a copy");
    // An hour goes by, in which some leave and others come.
    for number in 11..=20 {
        join(&store, &id, number).await;
    }
    store.leave(&id, Mark::NONE, vec![subject(2), subject(12)]).await.expect("it answers");
    for _ in 0..720 {
        bench.clock.advance(Millis(5_000));
        store.admit(&id, Mark::NONE).await.expect("it answers");
    }
    let lost = dump(&store, &id).await;
    store.close();

    let open = || {
        let dir = target.path().join("copy");
        EmbeddedStore::open(&dir, bench.clock.clone()).expect("a sound copy")
    };
    let restored = open();
    assert!(restored.read(&id).await.expect("it answers").outcome.is_recovering());
    assert_eq!(join(&restored, &id, 99).await, JoinOutcome::Recovering);
    let receipt = |number| Receipt {
        subject: subject(number),
        incarnation: lost.mark.incarnation,
        seq: number,
        as_of: lost.clocks.now,
        pass: None,
    };
    let shown = restored.reattach(&id, Mark::NONE, [3, 5, 15].map(receipt).to_vec()).await;
    use ReattachOutcome::{Restored, Waiting};
    let want = [Waiting { seq: 3 }, Waiting { seq: 5 }, Restored { seq: 15 }];
    assert_eq!(shown.expect("it answers").outcome, want);
    // A crash in the window changes nothing: the copy is not restored once more.
    let before = dump(&restored, &id).await;
    restored.close();
    let restored = open();
    assert_eq!(dump(&restored, &id).await, before);
    for _ in 0..31 {
        bench.clock.advance(Millis(1_000));
        restored.admit(&id, Mark::NONE).await.expect("it answers");
    }
    let after = dump(&restored, &id).await;
    assert_eq!(after.w, [3, 5, 15].into_iter().collect());
    let new = join(&restored, &id, 99).await;
    assert!(matches!(new, JoinOutcome::Joined { seq } if seq > 20), "{new:?}");
    let places = restored.join(&id, Mark::NONE, vec![subject(15), subject(3)]).await;
    use JoinOutcome::Waiting as Waits;
    assert_eq!(places.expect("it answers").outcome, [Waits { seq: 15 }, Waits { seq: 3 }]);
}

/// A backup of a room that has recovered, with its rows before and after, and its checkpoint in either history.
#[tokio::test]
async fn recovered_rooms_are_backed_up_whole() {
    for checkpoint_after in [3, 7, 1_000] {
        let bench = Bench::checkpointing(checkpoint_after);
        let store = bench.open();
        let id = create(&store, "shop").await;
        for number in 1..=5 {
            join(&store, &id, number).await;
        }
        let settings = Settings::default();
        let began = store.recover(&id, settings, Loss::Declared, 1).await.expect("it answers");
        assert_eq!(began.outcome, RecoverOutcome::Began);
        for _ in 0..4 {
            bench.clock.advance(Millis(1_000));
            store.admit(&id, Mark::NONE).await.expect("it answers");
        }
        let before = dump(&store, &id).await;
        let target = TempDir::new().expect("a temporary folder");
        backup(bench.dir.path(), &target.path().join("copy")).expect("a copy");
        assert_eq!(places(dump(&open(&target), &id).await), places(before.clone()));
        store.close();
        let store = bench.open();
        assert_eq!(dump(&store, &id).await, before, "{checkpoint_after}");
    }
}

/// Copies taken while people join and checkpoints are written: each holds everyone up to some moment, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_under_load_are_whole() {
    let bench = Bench::checkpointing(40);
    let store = Arc::new(bench.open());
    let id = create(&store, "shop").await;
    let joining = {
        let (store, id) = (Arc::clone(&store), id.clone());
        tokio::spawn(async move {
            for number in 0.. {
                if store.join(&id, Mark::NONE, vec![subject(number)]).await.is_err() {
                    return;
                }
            }
        })
    };
    for _ in 0..5 {
        let target = TempDir::new().expect("a temporary folder");
        let (from, to) = (bench.dir.path().to_owned(), target.path().join("copy"));
        let known = store.read(&id).await.expect("it answers").mark;
        let copied = tokio::task::spawn_blocking(move || backup(&from, &to)).await;
        copied.expect("no panic").expect("a copy");
        let copy = dump(&open(&target), &id).await;
        let people = copy.subjects.len() as u64;
        assert!(people >= known.next_seq - 1, "everyone answered before the copy is in it");
        let in_order = (1..=people).all(|seq| copy.subjects.contains(&(subject(seq - 1), seq)));
        assert!(in_order, "places in order of joining");
    }
    store.close();
    joining.await.expect("no panic");
}

#[tokio::test]
async fn backups_refuse_what_would_lose_something() {
    let bench = Bench::new();
    let target = TempDir::new().expect("a temporary folder");
    let to = target.path().join("copy");
    let none = backup(bench.dir.path(), &to).expect_err("nothing there");
    assert!(matches!(none, BackupError::NoStore { .. }), "{none}");
    let store = bench.open();
    let id = create(&store, "shop").await;
    backup(bench.dir.path(), &to).expect("a copy");
    let again = backup(bench.dir.path(), &to).expect_err("occupied");
    assert!(matches!(again, BackupError::Occupied { .. }), "{again}");
    store.close();
    let cut = "UPDATE journal SET body = x'00'";
    bench.sqlite("journal.db").execute(cut, []).expect("the row");
    let elsewhere = target.path().join("elsewhere");
    let damaged = backup(bench.dir.path(), &elsewhere).expect_err("damaged");
    assert!(matches!(damaged, BackupError::Copy(_)), "{damaged}");
    assert!(!elsewhere.join("journal.db").exists(), "half a copy would look like a whole one");
    drop(id);
}
