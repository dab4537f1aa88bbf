//! Contradictions that a run met, by what they break. Judges nothing: the checkers do.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Texts kept of one kind: the first ones tell what is wrong, the rest only how often.
const TEXTS_MAX: usize = 20;

/// What a contradiction breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// An acknowledged place or pass is gone, or has become another.
    Kept,
    /// Two people on one number, a number out of order, a call out of order, a position that grew, somebody back in front.
    Order,
    /// More inside than there is room for, or let in faster than the rate allows.
    Cap,
    /// Somebody who asked all the time counts as absent.
    Absent,
    /// The run itself did not go as it should: not well in time, the line stands still.
    Run,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Broken {
    pub(crate) count: u64,
    pub(crate) texts: Vec<String>,
}

/// Everything that was met; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found(Arc<Mutex<BTreeMap<Kind, Broken>>>);

impl Found {
    pub(crate) fn note(&self, kind: Kind, text: String) {
        let mut all = self.0.lock();
        let broken = all.entry(kind).or_default();
        broken.count += 1;
        if broken.texts.len() < TEXTS_MAX {
            broken.texts.push(text);
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> Broken {
        self.0.lock().get(&kind).cloned().unwrap_or_default()
    }
}
