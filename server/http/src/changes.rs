//! Changes of definitions, groups and keys come one after the other. Knows no endpoint.
//!
//! Each of them is written twice: to control, then to this node's memory. Two whose writes cross would leave the two
//! apart until the next start: a room that control has and nobody can reach, a revoked key that still opens.

use tokio::sync::{Mutex, MutexGuard};

/// Whose turn it is to change a definition.
#[derive(Debug, Default)]
pub struct Changes(Mutex<()>);

impl Changes {
    /// Waits for the changes before this one. Hold it from the first look at what is to be changed until memory has it;
    /// take it only for a caller that is known and whose call is read, so that nobody outside can hold it up.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.lock().await
    }
}
