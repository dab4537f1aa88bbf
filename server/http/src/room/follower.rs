//! Keeps a room's replica up with the store: reads it, follows its events, reads again after a gap. What the store has
//! lost, `recovery` brings back.

use std::sync::Arc;
use std::time::Duration;

use jari_ports::{EventFeed, StoreError};
use tokio::time::sleep;

use crate::room::{RoomRuntime, recovery};

/// Between two tries to reach a store that does not answer: at least this, at most twice it.
const RETRY: Duration = Duration::from_millis(500);

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
                pause(&runtime).await;
            }
        }
        read(&runtime).await;
    }
}

/// Until the room was read. What it is a copy of may have to be found out first, and this node is one of those asked.
async fn read(runtime: &Arc<RoomRuntime>) {
    loop {
        let past = runtime.read(recovery::past);
        match recovery::read(runtime.operations(), &runtime.settings(), past).await {
            Ok(live) => return runtime.replace(live),
            Err(error) => {
                runtime.set_following(false);
                let room = runtime.id();
                tracing::debug!(%room, %error, "room {room} cannot be read: {error}");
            }
        }
        pause(runtime).await;
    }
}

async fn pause(runtime: &RoomRuntime) {
    let spread = runtime.jitter().below(RETRY.as_millis() as u64);
    sleep(RETRY + Duration::from_millis(spread)).await;
}

async fn subscribe(runtime: &RoomRuntime) -> Result<Box<dyn EventFeed>, StoreError> {
    let operations = runtime.operations();
    let after = runtime.read(|live| live.ledger().mark().event_no);
    let store = &operations.calls.store;
    let subscribe = store.subscribe(&operations.room.id, after);
    operations.calls.run_on(&operations.health, "subscribe", subscribe).await
}

async fn follow_feed(runtime: &RoomRuntime, feed: &mut dyn EventFeed) {
    loop {
        let event = tokio::select! {
            event = feed.next() => event,
            () = runtime.operations().lost() => return,
        };
        let Ok(event) = event else { return };
        if let Err(error) = runtime.apply(&event) {
            let room = runtime.id();
            tracing::warn!(%room, %error, "room {room}: {error}");
            return;
        }
    }
}
