//! Sends what a room gathers in memory: who was heard from, which passes were used, how its site is doing. Runs on every
//! node that serves.

use std::sync::Arc;
use std::time::Duration;

use jari_units::limits::TICK;
use tokio::time::{MissedTickBehavior, interval};

use crate::room::RoomRuntime;

/// Presence is sent every so many turns: a window is 90 s, so 5 s cost nothing and save four in five calls.
const PRESENCE_TURNS: u32 = 5;
/// Uses of passes are sent every so many turns: far below any pass's life.
const USES_TURNS: u32 = 3;

/// Flushes until the room is deleted, and rests while nothing gathers: a room that nobody uses costs nothing. A store that fails is not reported here: the admitter does.
pub(super) async fn run(runtime: Arc<RoomRuntime>) {
    let mut turns = interval(Duration::from_millis(TICK.0));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for turn in 0u32.. {
        runtime.collecting.while_nothing(|| runtime.has_nothing_to_send()).await;
        turns.tick().await;
        let mut sent = Ok(());
        if turn % PRESENCE_TURNS == 0 || runtime.presence.has_returned() {
            sent = runtime.flush_presence().await;
        }
        if turn % USES_TURNS == 0 {
            sent = sent.and(runtime.flush_uses().await);
        }
        sent = sent.and(runtime.tell_site_load().await);
        if let Err(error) = sent {
            let room = runtime.id();
            tracing::debug!(%room, %error, "room {room} could not send what it gathered: {error}");
        }
    }
}
