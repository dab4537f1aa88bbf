//! Ticks the rooms that want it and are this node's to tick. One task a room while it does, so that a slow one delays no
//! other and an idle one costs nothing; what a tick does is the store's.

use std::collections::HashMap;
use std::time::Duration;

use jari_line::AdmitOutcome;
use jari_ports::StoreError;
use jari_units::RoomId;
use jari_units::limits::TICK;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep};

use crate::directory::DueRoom;
use crate::leases;
use crate::room::{Live, RoomRuntime};
use crate::state::AppState;
use crate::trace::{self, OpenSpan};

const TICK_EVERY: Duration = Duration::from_millis(TICK.0);
/// How often the store is asked which rooms want ticks: whoever comes to an idle room should hardly notice that it was.
const LOOK_EVERY: Duration = Duration::from_millis(TICK.0 / 4);
/// After a store that did not answer: at least this, at most twice it. Short against the 5 s that make a lull.
const RETRY: Duration = Duration::from_millis(1_000);

/// Ticks every room that is due and this node's, until the future is dropped.
pub async fn run(state: AppState) {
    tokio::join!(leases::keep(&state), look(&state));
}

async fn look(state: &AppState) {
    let mut ticking = Ticking::default();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        looks.tick().await;
        ticking.reap();
        match state.rooms.due().await {
            Ok(due) => {
                failing = false;
                ticking.start(state, due);
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "the store does not say which rooms want ticks: {error}");
                }
                failing = true;
                pause(state).await;
            }
        }
    }
}

/// The rooms at work. Dropped with [`run`], and with it every room's task.
#[derive(Default)]
struct Ticking {
    tasks: JoinSet<()>,
    rooms: HashMap<RoomId, Id>,
}

impl Ticking {
    fn start(&mut self, state: &AppState, due: Vec<DueRoom>) {
        let ours = |due: &DueRoom| {
            let id = &due.entry.definition().id;
            !self.rooms.contains_key(id) && is_ours(state, id, due.missing)
        };
        let due: Vec<_> = due.into_iter().filter(ours).collect();
        // Many that begin at once do not tick all at once; one alone need not wait.
        let spread_ms = if due.len() > 1 { TICK.0 } else { 1 };
        for room in due {
            let id = room.entry.definition().id.clone();
            let first = Duration::from_millis(state.jitter.below(spread_ms));
            let task = self.tasks.spawn(tick_room(state.clone(), room, first));
            self.rooms.insert(id, task.id());
        }
    }

    fn reap(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            let id = match ended {
                Ok((id, ())) => id,
                Err(error) => {
                    tracing::error!(%error, "a room's ticks ended: {error}");
                    error.id()
                }
            };
            self.rooms.retain(|_, task| *task != id);
        }
    }
}

async fn pause(state: &AppState) {
    sleep(RETRY + Duration::from_millis(state.jitter.below(RETRY.as_millis() as u64))).await;
}

/// A room that the store has lost is nobody's to tick, and shows the loss to whoever does: its holder may not know that
/// there is anybody in it.
fn is_ours(state: &AppState, room: &RoomId, missing: bool) -> bool {
    missing || state.leases.holds(room)
}

/// Until the room wants no more ticks, is gone, or is another admitter's. Whoever holds the lease when a tick begins may have
/// lost it by its end, and two may tick at once: what a tick may do is in the room's state.
async fn tick_room(state: AppState, DueRoom { entry, missing }: DueRoom, first: Duration) {
    let mut turns = interval_at(Instant::now() + first, TICK_EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for turn in 0_u64.. {
        tokio::select! {
            () = entry.deleted() => return,
            _ = turns.tick() => {}
        }
        let room = &entry.definition().id;
        // The looks tell whether it is missing still.
        if !is_ours(&state, room, missing && turn == 0) {
            return;
        }
        let ticked = match entry.runtime().await {
            Ok(room) => tick(&state, &room, turn == 0).await,
            Err(error) => Err(error),
        };
        match ticked {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%room, %error, "room {room} did not tick: {error}");
                pause(&state).await;
            }
        }
    }
}

/// Whether the room wanted it.
async fn tick(state: &AppState, room: &RoomRuntime, named: bool) -> Result<bool, StoreError> {
    if !room.read(|live| is_due(live, named)) {
        return Ok(false);
    }
    let start = Instant::now();
    let span = state.tracer.as_ref().and_then(|tracer| tracer.begin("tick"));
    let outcome = traced_tick(span, room).await?;
    state.metrics.ticked(start.elapsed());
    report(room.id(), &outcome);
    Ok(true)
}

async fn traced_tick(
    span: Option<OpenSpan>,
    room: &RoomRuntime,
) -> Result<AdmitOutcome, StoreError> {
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

/// Somebody is there, or a time of the room's has come: which the store says by its clock when it names the room. This
/// node's own clock is not asked: it may be minutes off, and nobody else ticks what this node holds.
fn is_due(live: &Live, named: bool) -> bool {
    let ledger = live.ledger();
    ledger.next_tick().is_some_and(|at| named || at <= ledger.clocks().now)
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
