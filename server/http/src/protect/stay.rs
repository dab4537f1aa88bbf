//! How long somebody may stay with what began behind the gate: a tunnel or an event stream. Closes nothing itself.

use tokio::time::sleep;

use super::pulse::Pulse;
use crate::gate::{Holding, LOOK_EVERY};
use crate::state::AppState;

/// Until the gate would let whoever holds it pass no more, or the server drains. Nobody's is what no gate is before; what
/// moves, by `pulse`, is use of the pass.
pub(super) async fn over(state: AppState, holding: Option<Holding>, pulse: Pulse) {
    tokio::select! {
        // Its browser comes back by itself, to another node.
        () = state.drain.begun() => {}
        () = sent_out(&state, holding, &pulse) => {}
    }
}

async fn sent_out(state: &AppState, holding: Option<Holding>, pulse: &Pulse) {
    let Some(mut holding) = holding else { return std::future::pending().await };
    let mut moved = pulse.last();
    loop {
        sleep(LOOK_EVERY).await;
        let last = pulse.last();
        let used = std::mem::replace(&mut moved, last) != last;
        // Apart: its future is for stores that do not answer.
        if !Box::pin(holding.goes_on(state, used)).await {
            tracing::debug!("what was open behind the gate ends with its pass");
            return;
        }
    }
}
