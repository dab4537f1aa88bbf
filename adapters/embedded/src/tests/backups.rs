//! Backups of a running and of a stopped store: the copy opens elsewhere and equals what was.

use std::sync::Arc;

use jari_conformance::SetClock;
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
    assert_eq!(dump(&open(&target), &id).await, before);

    store.close();
    let stopped = TempDir::new().expect("a temporary folder");
    backup(bench.dir.path(), &stopped.path().join("copy")).expect("a copy");
    let last = dump(&bench.open(), &id).await;
    assert_eq!(dump(&open(&stopped), &id).await, last);
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
        assert!(copy.next_seq >= known.next_seq, "everyone answered before the copy is in it");
        let in_order =
            (1..copy.next_seq).all(|seq| copy.subjects.contains(&(subject(seq - 1), seq)));
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
