//! Keeps a room's replica up with the store: reads it, follows its events, reads again after a gap. Makes a room that
//! the store has lost anew from its definition.

use std::sync::Arc;
use std::time::Duration;

use jari_line::Settings;
use jari_ports::{EventFeed, StoreError};
use tokio::time::sleep;

use crate::room::{Live, RoomRuntime};

/// Between two tries to reach a store that does not answer: at least this, at most twice it.
const RETRY: Duration = Duration::from_millis(500);

/// Reads a room, making it first where the store has none.
///
/// # Errors
/// The store's.
pub(crate) async fn read_or_create(
    runtime: &super::operations::Operations,
    settings: &Settings,
) -> Result<Live, StoreError> {
    let (calls, room) = (&runtime.calls, &runtime.room);
    let read = match calls.run("read", calls.store.read(room)).await {
        Err(StoreError::UnknownRoom(_)) => {
            tracing::warn!(%room, "room {room} is not in the store; making it anew");
            calls.run("create", calls.store.create(room, settings.clone())).await?;
            calls.run("read", calls.store.read(room)).await?
        }
        other => other?,
    };
    runtime.note(read.mark);
    Ok(Live::new(read.outcome))
}

/// Follows the room until it is deleted.
pub(crate) async fn follow(runtime: Arc<RoomRuntime>) {
    loop {
        let room = runtime.id();
        match subscribe(&runtime).await {
            Ok(mut feed) => {
                runtime.set_following(true);
                follow_feed(&runtime, &mut *feed).await;
                tracing::debug!(%room, "room {room} is read again: its feed had a gap");
            }
            Err(error) => {
                runtime.set_following(false);
                tracing::warn!(%room, %error, "room {room} cannot be followed: {error}");
                let spread = runtime.jitter().below(RETRY.as_millis() as u64);
                sleep(RETRY + Duration::from_millis(spread)).await;
            }
        }
        if let Ok(live) = read_or_create(runtime.operations(), &runtime.settings()).await {
            runtime.replace(live);
        }
    }
}

async fn subscribe(runtime: &RoomRuntime) -> Result<Box<dyn EventFeed>, StoreError> {
    let operations = runtime.operations();
    let after = runtime.read(|live| live.ledger().mark().event_no);
    let store = &operations.calls.store;
    operations.calls.run("subscribe", store.subscribe(&operations.room, after)).await
}

async fn follow_feed(runtime: &RoomRuntime, feed: &mut dyn EventFeed) {
    while let Ok(event) = feed.next().await {
        if let Err(error) = runtime.apply(&event) {
            let room = runtime.id();
            tracing::warn!(%room, %error, "room {room}: {error}");
            return;
        }
    }
}
