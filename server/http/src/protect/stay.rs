//! How long somebody may stay with what began behind the gate: a tunnel or an event stream. Closes nothing itself.

use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::context::TokioContext;

use super::pulse::Pulse;
use crate::gate::{Holding, LOOK_EVERY};
use crate::state::AppState;

/// Somebody who stays behind the gate, and where rooms live.
pub(super) struct Staying {
    pub(super) holding: Holding,
    pub(super) home: Handle,
}

/// Until the gate would let whoever holds it pass no more, or the server drains. Nobody's is what no gate is before; what
/// moves, by `pulse`, is use of the pass. What a look sets in motion, as a room that is loaded, lives at its home.
pub(super) async fn over(state: AppState, staying: Option<Staying>, pulse: Pulse) {
    tokio::select! {
        // Its browser comes back by itself, to another node.
        () = state.drain.begun() => {}
        () = sent_out(&state, staying, &pulse) => {}
    }
}

async fn sent_out(state: &AppState, staying: Option<Staying>, pulse: &Pulse) {
    let Some(Staying { mut holding, home }) = staying else { return std::future::pending().await };
    let mut moved = pulse.last();
    loop {
        sleep(LOOK_EVERY).await;
        let last = pulse.last();
        let used = std::mem::replace(&mut moved, last) != last;
        // Apart: its future is for stores that do not answer.
        let looked = Box::pin(holding.goes_on(state, used));
        if !TokioContext::new(looked, home.clone()).await {
            tracing::debug!("what was open behind the gate ends with its pass");
            return;
        }
    }
}
