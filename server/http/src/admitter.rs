//! Ticks the rooms. One task a room, so that a slow one delays no other; what a tick does is the store's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use jari_line::AdmitOutcome;
use jari_units::limits::TICK;
use jari_units::{RoomId, Timestamp};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep};

use crate::directory::RoomEntry;
use crate::room::{Live, RoomRuntime};
use crate::state::AppState;
use crate::trace::{self, OpenSpan};

const TICK_EVERY: Duration = Duration::from_millis(TICK.0);
/// After a failed tick: at least this, at most twice it. Short against the 5 s that make a lull.
const RETRY: Duration = Duration::from_millis(1_000);

/// Ticks every room of the directory, new ones too, until the server has drained or the future is dropped.
pub async fn run(state: AppState) {
    // Dropped with this future, and with it every room's task.
    let mut tasks = JoinSet::new();
    let mut running: HashMap<RoomId, Arc<RoomEntry>> = HashMap::new();
    let mut turns = interval(TICK_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        running.retain(|_, entry| !entry.is_deleted());
        for entry in state.rooms.list() {
            let id = entry.definition().id.clone();
            if let Entry::Vacant(vacant) = running.entry(id) {
                vacant.insert(entry.clone());
                tasks.spawn(tick_room(state.clone(), entry));
            }
        }
        while let Some(ended) = tasks.try_join_next() {
            if let Err(error) = ended {
                tracing::error!(%error, "a room's ticks ended: {error}");
            }
        }
    }
}

async fn tick_room(state: AppState, entry: Arc<RoomEntry>) {
    // Rooms do not tick all at once: their ticks are spread over the second.
    let spread = Duration::from_millis(state.jitter.below(TICK.0));
    let mut turns = interval_at(Instant::now() + spread, TICK_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = entry.deleted() => return,
            _ = turns.tick() => {}
        }
        let ticked = match entry.runtime().await {
            Ok(room) => tick(&state, &room).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ticked {
            let room = &entry.definition().id;
            tracing::warn!(%room, %error, "room {room} did not tick: {error}");
            sleep(RETRY + Duration::from_millis(state.jitter.below(RETRY.as_millis() as u64)))
                .await;
        }
    }
}

async fn tick(state: &AppState, room: &RoomRuntime) -> Result<(), jari_ports::StoreError> {
    let now = state.clock.now();
    // A store that was down is asked by every tick, also of idle rooms: only an answer shows that it is back.
    if state.store_health.down_for().is_none() && !room.read(|live| is_due(live, now)) {
        return Ok(());
    }
    let start = Instant::now();
    let span = state.tracer.as_ref().and_then(|tracer| tracer.begin("tick"));
    let outcome = traced_tick(span, room).await?;
    state.metrics.ticked(start.elapsed());
    report(room.id(), &outcome);
    Ok(())
}

async fn traced_tick(
    span: Option<OpenSpan>,
    room: &RoomRuntime,
) -> Result<AdmitOutcome, jari_ports::StoreError> {
    let outcome = trace::work(span.as_ref().map(OpenSpan::within), room.tick()).await;
    if let Some(mut span) = span {
        span.room(room.id());
        match &outcome {
            Ok(outcome) => {
                span.number("jari.called", outcome.called);
                span.number("jari.ended", outcome.ended);
            }
            Err(_) => span.fail(),
        }
    }
    outcome
}

/// An idle room stands still until one of its times comes, once its limit group has back what it lent.
fn is_due(live: &Live, now: Timestamp) -> bool {
    let ledger = live.ledger();
    !ledger.is_idle() || ledger.holds_quota() || ledger.next_boundary().is_some_and(|at| at <= now)
}

fn report(room: &RoomId, outcome: &AdmitOutcome) {
    if outcome.mass_absence {
        tracing::error!(
            %room,
            "room {room}: most people next in turn were not heard from; nobody was called. Can they reach Jari?"
        );
    } else if outcome.lull_began {
        tracing::warn!(%room, "room {room}: a tick came late; nobody's silence counts for a while");
    }
}
