//! Restarts: what was answered is there, checkpoints shorten the journal, incarnations rise, time goes on.

use jari_line::{AdmitNow, Change, JoinOutcome, Settings};
use jari_ports::LineStore;
use jari_units::{Mark, Millis, Timestamp};

use super::{Bench, START, create, dump, join, room, subjects};

fn rows(bench: &Bench) -> i64 {
    bench
        .sqlite("journal.db")
        .query_row("SELECT count(*) FROM journal", [], |row| row.get(0))
        .expect("the table")
}

/// A2: dropped without a word, everything answered is there again.
#[tokio::test]
async fn what_was_answered_survives() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    store.join(&id, Mark::NONE, subjects(0..700)).await.expect("it answers");
    bench.clock.advance(Millis(1_000));
    store.admit(&id, Mark::NONE).await.expect("it answers");
    store.change(&id, Mark::NONE, Change::Announce("soon".into())).await.expect("it answers");
    let before = dump(&store, &id).await;
    drop(store);
    let store = bench.open();
    assert_eq!(dump(&store, &id).await, before);
    assert_eq!(store.rooms().await, Ok(vec![id]));
}

#[tokio::test]
async fn checkpoints_cover_the_journal_and_rows_go() {
    let bench = Bench::checkpointing(100);
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..1_000 {
        join(&store, &id, number).await;
    }
    super::checkpoints_written(&store, 5).await;
    let before = dump(&store, &id).await;
    store.close();
    assert!(rows(&bench) < 700, "{} rows are left", rows(&bench));
    let store = bench.open();
    assert_eq!(dump(&store, &id).await, before);
    // What the restart found of no use goes with the next commits.
    for number in 1_000..1_010 {
        join(&store, &id, number).await;
    }
    store.close();
    assert!(rows(&bench) < 220, "{} rows are left", rows(&bench));
}

#[tokio::test]
async fn what_no_checkpoint_covers_is_counted_until_one_does() {
    let bench = Bench::checkpointing(100);
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..30 {
        join(&store, &id, number).await;
    }
    store.close();
    let store = bench.open();
    // Whoever is answered after another call knows that the first one's work is counted.
    for _ in 0..2 {
        store.rooms().await.expect("it answers");
    }
    let ahead = store.stats().ahead;
    assert_eq!(ahead.events, 31, "one creation and thirty joins");
    assert!(ahead.bytes > 30 * 16, "{ahead:?}");
    for number in 30..100 {
        join(&store, &id, number).await;
    }
    super::checkpoints_written(&store, 1).await;
    store.rooms().await.expect("it answers");
    let ahead = store.stats().ahead;
    assert!(ahead.events <= 1, "{ahead:?}");
}

#[tokio::test]
async fn a_deleted_room_leaves_nothing_but_its_incarnation() {
    let bench = Bench::checkpointing(10);
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..30 {
        join(&store, &id, number).await;
    }
    super::checkpoints_written(&store, 1).await;
    let old = dump(&store, &id).await.mark;
    assert_eq!(store.delete(&id, old.incarnation).await, Ok(true));
    assert_eq!(store.delete(&id, old.incarnation).await, Ok(false));
    let other = create(&store, "other").await;
    store.close();
    // The clock went back below the old incarnation while the store was down.
    bench.clock.set(Timestamp(START.0 - 60_000));
    let store = bench.open();
    assert_eq!(store.rooms().await, Ok(vec![other]));
    let again = store.create(&id, Settings::default()).await.expect("it answers");
    assert!(again.outcome && again.mark.incarnation > old.incarnation);
    assert_eq!(join(&store, &id, 1).await, JoinOutcome::Joined { seq: 1 });
    join(&store, &id, 2).await;
    store.close();
    let journal = bench.sqlite("journal.db");
    let left: i64 = journal
        .query_row(
            "SELECT count(*) FROM journal WHERE room = 'shop' AND incarnation = ?1",
            [old.incarnation as i64],
            |row| row.get(0),
        )
        .expect("the table");
    assert_eq!(left, 0, "rows of the deleted room");
    let checkpoints: i64 = bench
        .sqlite("checkpoints.db")
        .query_row("SELECT count(*) FROM part", [], |row| row.get(0))
        .expect("the table");
    assert_eq!(checkpoints, 0, "the deleted room's checkpoint");
}

/// A4: a clock stepped back, while running or while down, neither stops the line nor gives time twice.
#[tokio::test]
async fn time_never_runs_backwards() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    let mut seen = vec![START];
    let mut tick = async |store: &crate::EmbeddedStore| {
        store.admit(&id, Mark::NONE).await.expect("it answers");
        seen.push(dump(store, &id).await.clocks.now);
    };
    bench.clock.advance(Millis(1_000));
    tick(&store).await;
    bench.clock.set(Timestamp(START.0 - 300_000));
    tick(&store).await;
    bench.clock.advance(Millis(1_000));
    tick(&store).await;
    store.close();
    bench.clock.set(Timestamp(START.0 - 600_000));
    let store = bench.open();
    tick(&store).await;
    bench.clock.advance(Millis(1_000));
    tick(&store).await;
    let steps: Vec<u64> = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(steps, [1_000, 0, 900, 0, 900], "a tenth slower while it is ahead");
}

/// 15 minutes of downtime with 1,000 waiting: nobody becomes absent because of it.
#[tokio::test]
async fn downtime_makes_nobody_absent() {
    let bench = Bench::new();
    let store = bench.open();
    let id = room("shop");
    let settings = Settings { rate_milli: 1_000, burst: 1, ..Settings::default() };
    store.create(&id, settings).await.expect("it answers");
    store.join(&id, Mark::NONE, subjects(0..500)).await.expect("it answers");
    store.join(&id, Mark::NONE, subjects(500..1_000)).await.expect("it answers");
    bench.clock.advance(Millis(1_000));
    store.admit(&id, Mark::NONE).await.expect("it answers");
    drop(store);
    bench.clock.advance(Millis::from_mins(15));
    let store = bench.open();
    for _ in 0..60 {
        store.admit(&id, Mark::NONE).await.expect("it answers");
        bench.clock.advance(Millis(1_000));
    }
    let after = dump(&store, &id).await;
    assert_eq!(after.totals.absent, 0);
    assert_eq!(after.totals.admitted, after.serving, "called in order, none skipped");
    assert!(after.totals.admitted >= 55, "the line moves on: {}", after.totals.admitted);
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    store.close();
    let refused = store.admit_now(&id, Mark::NONE, AdmitNow::Count(1)).await;
    let error = refused.expect_err("closed");
    assert_eq!(error.to_string(), "the line store is unavailable: it is closed");
    store.close();
}
