//! Who is inside: the site's own sessions, each with the pass it stands for. In memory; asks Jari nothing but by the batch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::Person;
use crate::jari::{Jari, Verified, secret};

/// Passes in one call: Jari takes no more.
const BATCH_MAX: usize = 500;

#[derive(Debug, Default)]
pub struct Sessions {
    by_id: Mutex<HashMap<String, Person>>,
    /// Passes whose owners were here since the last touch.
    used: Mutex<HashSet<String>>,
}

impl Sessions {
    /// A new session for a pass; one that the pass had before ends, so that one pass is one person.
    pub fn begin(&self, verified: Verified) -> String {
        let Verified { pass, subject } = verified;
        let id = secret();
        let mut by_id = self.by_id.lock();
        by_id.retain(|_, person| person.pass != pass);
        by_id.insert(id.clone(), Person { pass, subject });
        id
    }

    /// Whose session it is; noted as a use of their pass.
    pub fn find(&self, id: &str) -> Option<Person> {
        let person = self.by_id.lock().get(id).cloned()?;
        self.used.lock().insert(person.pass.clone());
        Some(person)
    }

    /// Ends the session of a pass.
    pub fn forget(&self, pass: &str) {
        self.by_id.lock().retain(|_, person| person.pass != pass);
        self.used.lock().remove(pass);
    }

    /// Touches the passes that were used, all together, and ends the sessions of those that are not good any more; for ever.
    pub async fn keep_touching(self: Arc<Self>, jari: Arc<Jari>, every: Duration) {
        let mut every = tokio::time::interval(every);
        loop {
            every.tick().await;
            let used: Vec<String> = std::mem::take(&mut *self.used.lock()).into_iter().collect();
            for batch in used.chunks(BATCH_MAX) {
                match jari.touch(batch.to_vec()).await {
                    Ok(gone) => gone.iter().for_each(|pass| self.forget(pass)),
                    // They go with the next call: who is inside stays inside while Jari is away.
                    Err(_) => self.used.lock().extend(batch.iter().cloned()),
                }
            }
        }
    }
}
