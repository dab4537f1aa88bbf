//! Many at once: parallel joins of one person, and subscribers under load.

use std::sync::Arc;

use jari_line::{Event, JoinOutcome};
use jari_ports::LineStore;
use jari_units::Mark;
use tokio::task::JoinSet;

use super::{Bench, create, dump, subject, subjects};

/// Q1: 10,000 parallel joins of one subject give one place, told to each of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_person_joining_ten_thousand_times_has_one_place() {
    let bench = Bench::new();
    let store = Arc::new(bench.open());
    let id = create(&store, "shop").await;
    store.join(&id, Mark::NONE, subjects(0..5)).await.expect("it answers");
    let mut joins = JoinSet::new();
    for _ in 0..10_000 {
        let (store, id) = (Arc::clone(&store), id.clone());
        joins.spawn(async move { store.join(&id, Mark::NONE, vec![subject(77)]).await });
    }
    let mut joined = 0;
    while let Some(answer) = joins.join_next().await {
        match answer.expect("no panic").expect("it answers").outcome[..] {
            [JoinOutcome::Joined { seq: 6 }] => joined += 1,
            [JoinOutcome::Waiting { seq: 6 }] => {}
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!(joined, 1);
    assert_eq!(dump(&store, &id).await.next_seq, 7);
    let stats = store.stats();
    assert!(stats.commits < 10, "refreshing costs no commit: {stats:?}");
}

/// `read` then `subscribe` from its mark misses nothing and repeats nothing, whenever it happens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_miss_nothing_under_load() {
    const JOINS: u64 = 3_000;
    let bench = Bench::checkpointing(500);
    let store = Arc::new(bench.open());
    let id = create(&store, "shop").await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, id) = (Arc::clone(&store), id.clone());
        tasks.spawn(async move {
            let read = store.read(&id).await.expect("it answers");
            let mut feed = store.subscribe(&id, read.mark.event_no).await.expect("it answers");
            let mut ledger = read.outcome;
            while ledger.mark().next_seq <= JOINS {
                let event = feed.next().await.expect("kept in memory");
                ledger.apply(&event).expect("the next one, no gap and no repetition");
            }
        });
    }
    for worker in 0..10 {
        let (store, id) = (Arc::clone(&store), id.clone());
        tasks.spawn(async move {
            for number in 0..JOINS / 10 {
                let person = vec![subject(worker * JOINS + number)];
                store.join(&id, Mark::NONE, person).await.expect("it answers");
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("no panic, no gap");
    }
}

/// An answer's mark can be subscribed after at once: its event is published before it.
#[tokio::test]
async fn an_answer_never_overtakes_its_event() {
    let bench = Bench::new();
    let store = bench.open();
    let id = create(&store, "shop").await;
    for number in 0..50 {
        let before = store.read(&id).await.expect("it answers").mark.event_no;
        let joined = store.join(&id, Mark::NONE, vec![subject(number)]).await.expect("it answers");
        let mut feed = store.subscribe(&id, before).await.expect("it answers");
        let event = feed.next().await.expect("kept");
        assert_eq!(event.event_no, joined.mark.event_no);
        assert!(matches!(event.event, Event::Joined { .. }));
    }
}
