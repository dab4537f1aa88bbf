//! A disk that refuses: nothing acknowledged is lost, nothing refused comes back, and the store recovers by itself.

use jari_line::JoinOutcome;
use jari_ports::{FeedLost, LineStore, StoreError};
use jari_units::Mark;

use super::{Bench, create, dump, join, subjects};

/// Fills the disk, as the journal sees it, until a join is refused; the people who got a place.
async fn join_until_full(
    store: &crate::EmbeddedStore,
    id: &jari_units::RoomId,
) -> (u64, StoreError) {
    for batch in 0.. {
        let people = subjects(batch * 500..(batch + 1) * 500);
        if let Err(error) = store.join(id, Mark::NONE, people).await {
            return (batch * 500, error);
        }
    }
    unreachable!("the disk is bounded")
}

/// A2, A3: with the disk full no answer lies, and after space is freed the line is where its answers said.
#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let bench = Bench::new();
    bench.tuning.set_journal_pages_max(200);
    let store = bench.open();
    let id = create(&store, "shop").await;
    let read = store.read(&id).await.expect("it answers");
    let mut feed = store.subscribe(&id, read.mark.event_no).await.expect("it answers");
    let (held, error) = join_until_full(&store, &id).await;
    assert!(held > 0, "some were answered before the disk was full");
    let StoreError::Unavailable(text) = &error else { panic!("{error}") };
    assert!(text.contains("journal.db") && text.contains("free space in"), "{text}");
    for _ in 0..3 {
        let refused = store.read(&id).await.expect_err("memory is ahead of the disk");
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused}");
    }
    assert!(store.stats().unavailable);

    bench.tuning.set_journal_pages_max(0);
    while store.read(&id).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(!store.stats().unavailable);
    let after = dump(&store, &id).await;
    assert_eq!(after.next_seq, held + 1, "exactly the acknowledged");
    assert_eq!(join(&store, &id, held).await, JoinOutcome::Joined { seq: held + 1 });
    assert_eq!(join(&store, &id, 3).await, JoinOutcome::Waiting { seq: 4 });

    // The subscriber heard of everything durable and of nothing else, without a gap.
    let mut expected = read.mark.event_no;
    for _ in 0..=held / 500 {
        expected += 1;
        assert_eq!(feed.next().await.map(|event| event.event_no), Ok(expected));
    }
    let before = dump(&store, &id).await;
    drop(store);
    assert_eq!(feed.next().await, Err(FeedLost));
    assert_eq!(dump(&bench.open(), &id).await, before);
}

/// A2: what is written to a removed file is on no disk, so nobody is told that it is; put back, the file is used again.
#[tokio::test]
async fn a_journal_removed_while_in_use_is_refused_until_it_is_back() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    join(&store, &id, 0).await;
    let (data, away) = (bench.dir.path(), bench.dir.path().join("away"));
    std::fs::create_dir(&away).expect("a folder");
    let files = ["journal.db", "journal.db-wal", "journal.db-shm"];
    for file in files {
        std::fs::rename(data.join(file), away.join(file)).expect("the file");
    }
    let refused = store.join(&id, Mark::NONE, subjects(1..2)).await.expect_err("it is gone");
    let StoreError::Unavailable(text) = &refused else { panic!("{refused}") };
    assert!(text.contains("journal.db was removed"), "{text}");
    // Longer than the first retry: no empty journal is made in its place meanwhile.
    tokio::time::sleep(3 * crate::limits::RETRY_FIRST).await;
    store.join(&id, Mark::NONE, subjects(1..2)).await.expect_err("it is still gone");
    assert!(!data.join("journal.db").exists());

    for file in files {
        std::fs::rename(away.join(file), data.join(file)).expect("the file");
    }
    while store.read(&id).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(join(&store, &id, 0).await, JoinOutcome::Waiting { seq: 1 });
}

/// A checkpoint that cannot be written costs nothing but a longer journal.
#[tokio::test]
async fn a_checkpoint_that_fails_loses_nothing() {
    let bench = Bench::checkpointing(20);
    let store = bench.open();
    let id = create(&store, "shop").await;
    // Another connection holds the checkpoint file's lock longer than the thread waits for it.
    let holder = bench.sqlite("checkpoints.db");
    holder.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    for number in 0..60 {
        join(&store, &id, number).await;
    }
    while store.stats().checkpoints_failed == 0 {
        store.rooms().await.expect("it answers");
        tokio::task::yield_now().await;
    }
    drop(holder);
    let before = dump(&store, &id).await;
    drop(store);
    assert_eq!(dump(&bench.open(), &id).await, before);
}
