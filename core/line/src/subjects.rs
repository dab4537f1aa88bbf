//! Who has which place: the index by subject, the block list and the allow list.
//!
//! The index is sharded by the key's first byte and shared by `Arc`, so that a checkpoint copies nothing and growth
//! never moves more than one shard at once (doubling one map of a million people stalls the line for 100 ms and more).

use std::collections::BTreeSet;
use std::sync::Arc;

use jari_units::{Seq, SubjectKey};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

const SHARDS: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Subjects {
    shards: Vec<Arc<FxHashMap<SubjectKey, Seq>>>,
    pub(crate) blocked: Arc<BTreeSet<SubjectKey>>,
    pub(crate) allowed: Arc<BTreeSet<SubjectKey>>,
    /// The shard that the next tick clears of ended places.
    prune_next: usize,
}

impl Default for Subjects {
    fn default() -> Self {
        Subjects {
            shards: vec![Arc::default(); SHARDS],
            blocked: Arc::default(),
            allowed: Arc::default(),
            prune_next: 0,
        }
    }
}

impl Subjects {
    pub(crate) fn seq(&self, subject: &SubjectKey) -> Option<Seq> {
        self.shards[usize::from(subject.0[0])].get(subject).copied()
    }

    pub(crate) fn set(&mut self, subject: SubjectKey, seq: Seq) {
        Arc::make_mut(&mut self.shards[usize::from(subject.0[0])]).insert(subject, seq);
    }

    /// Forgets ended places in one shard. Nobody can tell: an ended place and an unknown one are the same answer.
    pub(crate) fn prune(&mut self, is_live: impl Fn(Seq) -> bool) {
        let shard = &mut self.shards[self.prune_next];
        if shard.values().any(|seq| !is_live(*seq)) {
            let shard = Arc::make_mut(shard);
            shard.retain(|_, seq| is_live(*seq));
            if shard.capacity() > 4 * shard.len() {
                shard.shrink_to(2 * shard.len());
            }
        }
        self.prune_next = (self.prune_next + 1) % SHARDS;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SubjectKey, Seq)> + '_ {
        self.shards.iter().flat_map(|shard| shard.iter().map(|(key, seq)| (*key, *seq)))
    }
}
