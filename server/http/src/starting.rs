//! A node that does not serve yet: what its start waits for, told to whoever asks the operators' listener meanwhile. Waits for
//! nothing itself.

use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::state::AppState;

/// From the first moment of a start on, and then for as long as the node serves.
#[derive(Debug, Default)]
pub struct Starting {
    waits_for: Mutex<Option<String>>,
    app: OnceLock<AppState>,
}

impl Starting {
    /// What cannot go on now, and why; for people.
    pub fn waits_for(&self, text: impl Into<String>) {
        *self.waits_for.lock() = Some(text.into());
    }

    /// It is there.
    pub fn goes_on(&self) {
        *self.waits_for.lock() = None;
    }

    /// The start is over.
    pub fn serves(&self, state: AppState) {
        // A node starts once.
        let _ = self.app.set(state);
    }

    pub(crate) fn app(&self) -> Option<&AppState> {
        self.app.get()
    }

    /// What `/readyz` says until it serves.
    pub(crate) fn told(&self) -> String {
        match &*self.waits_for.lock() {
            None => "starting\n".to_owned(),
            Some(text) => format!("starting: {text}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_told_until_it_is_there() {
        let starting = Starting::default();
        assert_eq!(starting.told(), "starting\n");
        starting.waits_for("waits for the records");
        assert_eq!(starting.told(), "starting: waits for the records\n");
        starting.goes_on();
        assert_eq!(starting.told(), "starting\n");
    }
}
