//! The clause of rooms that want a tick: busy ones at once, idle ones when a time of theirs comes, others never.

use std::slice::from_ref;
use std::sync::Arc;

use jari_line::{Change, ClosedNext, Settings};
use jari_ports::LineStore;
use jari_units::limits::SEQ_MAX;
use jari_units::{Mark, Millis, RoomId};

use crate::Harness;
use crate::clauses::{id, made, subjects};
use crate::history::START;

async fn told(store: &Arc<dyn LineStore>) -> Vec<RoomId> {
    store.due().await.expect("it answers")
}

pub(crate) async fn due(harness: &mut dyn Harness) {
    let (busy, later, idle) = (id("due-busy"), id("due-later"), id("due-idle"));
    let opens_at = Some(START + Millis::from_secs(60));
    made(harness, &later, Settings { opens_at, ..Settings::default() }).await;
    made(harness, &idle, Settings::default()).await;
    let store = made(harness, &busy, Settings::default()).await;
    assert!(told(&store).await.is_empty(), "nobody is there");

    store.join(&busy, Mark::NONE, subjects(1..=2)).await.expect("joined");
    assert_eq!(told(&store).await, from_ref(&busy));
    store.admit(&busy, Mark::NONE).await.expect("ticked");
    assert_eq!(told(&store).await, from_ref(&busy), "people inside are looked after too");
    harness.restart().await;
    let store = harness.store();
    assert_eq!(told(&store).await, from_ref(&busy), "a restart forgets nobody");

    harness.clock().set(START + Millis::from_secs(60));
    assert_eq!(told(&store).await, [busy.clone(), later.clone()], "its opening has come");
    store.admit(&later, Mark::NONE).await.expect("ticked");
    store.leave(&busy, Mark::NONE, subjects(1..=2)).await.expect("left");
    assert!(told(&store).await.is_empty(), "all is done");

    let reopens_at = Some(START + Millis::from_secs(90));
    let closed = ClosedNext { reopens_at, ..ClosedNext::default() };
    store.change(&idle, Mark::NONE, Change::Close(closed)).await.expect("closed");
    harness.clock().set(START + Millis::from_secs(90));
    assert_eq!(told(&store).await, from_ref(&idle), "it opens again");
    store.delete(&idle, SEQ_MAX).await.expect("deleted");
    assert!(told(&store).await.is_empty(), "a deleted room is due no more");
}
