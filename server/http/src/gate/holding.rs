//! Whoever was let through and stays, such as at the end of a WebSocket or an event stream: they may stay only as long as a new request of
//! theirs would pass. Closes nothing itself.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use jari_line::Mode;
use jari_pass::PassToken;
use jari_ports::{RoomDefinition, StoreError};
use jari_units::RoomId;
use jari_units::limits::TICK;

use super::{Live, Passage, known, on_store_failure, use_pass, while_recovering, without_store};
use crate::directory::RoomEntry;
use crate::identity;
use crate::problem_response::Refusal;
use crate::room::BatchError;
use crate::state::AppState;

/// Between two looks: a pass ends with a tick, and who was sent out holds on no longer. Its use is told once a look too, which
/// is several times within the shortest pass.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(TICK.0);

/// Somebody who stays behind a gate.
#[derive(Debug)]
pub(crate) struct Holding {
    room: RoomId,
    /// With the end that the store acknowledged last. `None`: they were let through without one.
    pass: Option<PassToken>,
}

impl Holding {
    /// Of whom `passage` let through to `room`, with a request of these headers.
    pub(crate) fn of(
        state: &AppState,
        room: &RoomId,
        headers: &HeaderMap,
        passage: &Passage,
    ) -> Self {
        let issued_at = state.clock.now();
        let pass = match *passage {
            Passage::Admitted { pass, subject, expires_at, .. } => {
                Some(PassToken { room: room.clone(), pass, subject, issued_at, expires_at })
            }
            // Nobody asked for one, but they may have it.
            Passage::Unchecked { .. } | Passage::Refused { .. } => {
                identity::pass(state, room, headers).ok()
            }
        };
        Holding { room: room.clone(), pass }
    }

    /// Whether they may stay. `used`: something moved since the last look, which is use of the pass.
    pub(crate) async fn goes_on(&mut self, state: &AppState, used: bool) -> bool {
        let Some(entry) = state.rooms.get(&self.room) else { return false };
        let room = entry.definition();
        if matches!(room.settings.mode, Mode::Off | Mode::Shadow) {
            return true;
        }
        match on_store_failure(state, &entry, &room) {
            Ok(None) => {}
            Ok(Some(_)) => return true,
            Err(_) => return false,
        }
        match &mut self.pass {
            Some(pass) => holds(state, &entry, &room, pass, used).await,
            None => false,
        }
    }
}

/// Whether a pass is still good, as the gate finds it.
async fn holds(
    state: &AppState,
    entry: &Arc<RoomEntry>,
    room: &RoomDefinition,
    pass: &mut PassToken,
    used: bool,
) -> bool {
    match look(state, entry, pass, used).await {
        Ok(Some(live)) => {
            pass.issued_at = state.clock.now();
            pass.expires_at = live.expires_at;
            true
        }
        Ok(None) => false,
        Err(BatchError::Store(error)) if error.is_away() => {
            lets_through(&without_store(state, room, pass))
        }
        Err(BatchError::Store(StoreError::LostHistory(_) | StoreError::UnknownRoom(_))) => {
            lets_through(&while_recovering(state, room, pass))
        }
        // This server's own trouble, which nobody is sent out for.
        Err(_) => pass.expires_at > state.clock.now(),
    }
}

/// Uses the pass, or only looks at it. `None`: it has ended.
async fn look(
    state: &AppState,
    entry: &Arc<RoomEntry>,
    pass: &PassToken,
    used: bool,
) -> Result<Option<Live>, BatchError> {
    let runtime = entry.runtime().await?;
    let now = state.clock.now();
    let confirmed = runtime.is_following() || pass.expires_at > now;
    match known(&runtime, pass.pass, now).filter(|_| confirmed && !used) {
        Some(live) => Ok(Some(live)),
        None => use_pass(state, &runtime, pass).await,
    }
}

fn lets_through(told: &Result<Passage, Refusal>) -> bool {
    matches!(told, Ok(Passage::Admitted { .. } | Passage::Unchecked { .. }))
}
