//! What other nodes changed in control: noticed by its revision, then taken into this node's memory. Writes nothing to
//! control.

use std::time::Duration;

use jari_ports::{ControlError, SigningKey};

use crate::changes::Turn;
use crate::key_ring::key_ring;
use crate::one_line;
use crate::state::{AppState, StartError};

/// How often the revision is asked for: a revoked key or a slowed room should not outlive its change by more than a
/// breath, and one small query a second is nothing to a database.
const EVERY: Duration = Duration::from_secs(1);

/// Up to so much longer, by chance, so that nodes that were started together do not ask in step.
const SPREAD_MS: u64 = 250;

/// Looks every second, for ever, and now and then whether all nodes have the same lines. Control down: memory stays as it is,
/// and visitors notice nothing.
pub async fn run(state: AppState) {
    tokio::join!(follow(&state), one_line::run(&state));
}

async fn follow(state: &AppState) {
    let mut failing = false;
    loop {
        let spread = Duration::from_millis(state.jitter.below(SPREAD_MS));
        tokio::time::sleep(EVERY + spread).await;
        match look(state).await {
            Ok(()) if failing => {
                tracing::info!("control and store agree with this node again");
                failing = false;
            }
            Err(error) if !failing => {
                tracing::warn!(%error, "changes of definitions and keys wait: {error}");
                failing = true;
            }
            Ok(()) | Err(_) => {}
        }
    }
}

async fn look(state: &AppState) -> Result<(), StartError> {
    if state.control.revision().await? != state.changes.seen() {
        drop(state.turn().await?);
    }
    state.rooms.settle_owed().await?;
    Ok(())
}

impl AppState {
    /// An operator's turn: after the changes before it on this node, and with memory as control has it now.
    pub(crate) async fn turn(&self) -> Result<Turn<'_>, ControlError> {
        let mut turn = self.changes.turn().await;
        // Before the rest: what is read then is at least as new.
        let revision = self.control.revision().await?;
        if revision != self.changes.seen() {
            let groups = self.control.groups().await?;
            self.rooms.adopt(self.control.rooms().await?, groups).await;
            self.tenants.replace(self.control.tenants().await?);
            self.api_keys.reload().await?;
            self.site_keys.reload().await?;
            self.tenant_limits.set(&self.control.tenants().await?);
            self.renew_key_ring(&self.control.signing_keys().await?);
            turn.caught_up(revision);
        }
        Ok(turn)
    }

    /// Keys that make no ring leave the one in use: tokens go on to be signed and opened.
    fn renew_key_ring(&self, keys: &[SigningKey]) {
        match key_ring(keys) {
            Ok(ring) => self.ring.store(ring.into()),
            Err(error) => {
                tracing::error!(%error, "the signing keys in control cannot be used, the old ones stay: {error}");
            }
        }
    }
}
