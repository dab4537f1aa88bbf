//! Whether all nodes of these records have the same lines: two with different ones, by another `store.key_prefix` or server,
//! would each serve every room, and one person would have two places. Each node notes itself in control; the later one of two
//! that do not agree does not start while the other is there, or is not ready. Moves nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jari_api::Utc;
use jari_ports::{Clock, Control, ControlError, LineStore, NodeNote, StoreError};
use jari_units::limits::NODE_FRESH;
use jari_units::{NodeId, Timestamp};
use parking_lot::Mutex;
use thiserror::Error;

use crate::starting::Starting;
use crate::state::AppState;

/// A node notes itself this often: several times in what counts as fresh.
const NOTED_EVERY: Duration = Duration::from_secs(10);

/// A start that waits for another node to be forgotten looks this often whether it is there after all.
const START_LOOKS_EVERY: Duration = Duration::from_secs(1);

/// Looks in a row that must find the same while a node runs: after a store was emptied the others' notes are a look old.
const LOOKS: u32 = 2;

/// Another node of these records has other lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) text: String,
    /// This node came later: the other one's lines are taken for the right ones.
    pub(crate) is_ours_wrong: bool,
    /// When any node with other lines was heard of last.
    heard_at: Timestamp,
}

impl Apart {
    /// From when on nobody is there who has other lines, unless somebody is heard of again.
    fn until(&self) -> Timestamp {
        self.heard_at + NODE_FRESH
    }
}

#[derive(Debug, Error)]
enum LookError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub(crate) struct OneLine {
    node: NodeId,
    since: Timestamp,
    /// What stands in the store, as far as this node has seen it, and where that is.
    lines: Mutex<Option<(String, String)>>,
    /// Looks in a row that found another node's lines.
    found: AtomicU32,
    apart: Mutex<Option<Apart>>,
}

impl OneLine {
    pub(crate) fn new(node: NodeId, since: Timestamp) -> Self {
        let (lines, found, apart) = Default::default();
        OneLine { node, since, lines, found, apart }
    }

    /// The first look. A store that does not answer is looked at later. Whoever was killed says no goodbye: so another node with
    /// other lines is waited for, until it is heard of again, or was silent for so long that it is forgotten.
    ///
    /// # Errors
    /// Control's; the inner one where another node of these records has other lines, which this one then must not touch.
    pub(crate) async fn start(
        &self,
        store: &dyn LineStore,
        control: &dyn Control,
        clock: &dyn Clock,
        starting: &Starting,
    ) -> Result<Result<(), String>, ControlError> {
        loop {
            let first = match self.look(store, control, clock.now()).await {
                Ok(Some(apart)) if apart.is_ours_wrong => apart,
                Ok(_) | Err(LookError::Store(_)) => return Ok(Ok(())),
                Err(LookError::Control(error)) => return Err(error),
            };
            // Until it serves, this node has no lines.
            control.forget_node(self.node).await?;
            let is_there = self.wait(&first, control, clock, starting).await?;
            starting.goes_on();
            if is_there {
                return Ok(Err(first.text));
            }
            tracing::info!(
                "the nodes with other lines were not heard of any more: this one starts"
            );
        }
    }

    /// Whether any node with other lines is heard of again before all of them are forgotten.
    async fn wait(
        &self,
        first: &Apart,
        control: &dyn Control,
        clock: &dyn Clock,
        starting: &Starting,
    ) -> Result<bool, ControlError> {
        let (text, until) = (&first.text, Utc(first.until()));
        let waits = format!(
            "this node waits until {until}, and starts then, unless another one is heard of again. {text}"
        );
        tracing::warn!("{waits}");
        starting.waits_for(waits);
        loop {
            tokio::time::sleep(START_LOOKS_EVERY).await;
            match apart(&self.ours(clock.now()), &control.nodes().await?) {
                None => return Ok(false),
                Some(now) if now.heard_at > first.heard_at => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// This node's note, once it knows its lines.
    fn ours(&self, now: Timestamp) -> NodeNote {
        let (lines, place) = self.lines.lock().clone().unwrap_or_default();
        NodeNote { node: self.node, lines, place, since: self.since, seen_at: now }
    }

    /// What has been found, if it was found often enough.
    pub(crate) fn apart(&self) -> Option<Apart> {
        self.apart.lock().clone()
    }

    /// Notes this node, and compares it with the others.
    async fn look(
        &self,
        store: &dyn LineStore,
        control: &dyn Control,
        now: Timestamp,
    ) -> Result<Option<Apart>, LookError> {
        let Some(place) = store.place() else { return Ok(None) };
        let notes = control.nodes().await?;
        let seen = self.lines.lock().as_ref().map(|(lines, _)| lines.clone());
        let lines =
            store.identity(seen.unwrap_or_else(|| wanted(&notes, &place, self.node))).await?;
        *self.lines.lock() = Some((lines, place));
        let ours = self.ours(now);
        control.note_node(ours.clone()).await?;
        Ok(apart(&ours, &notes))
    }

    async fn watch(&self, state: &AppState) {
        match self.look(&*state.store, &*state.control, state.clock.now()).await {
            Ok(found) => self.note(found),
            // Whoever is away is told of elsewhere, and says nothing of others.
            Err(error) => {
                tracing::debug!(%error, "whether all nodes have the same lines is not known: {error}");
            }
        }
    }

    fn note(&self, found: Option<Apart>) {
        let looks = if found.is_some() { self.found.load(Ordering::Relaxed) + 1 } else { 0 };
        self.found.store(looks.min(LOOKS), Ordering::Relaxed);
        let now = found.filter(|_| looks >= LOOKS);
        let before = std::mem::replace(&mut *self.apart.lock(), now.clone());
        match (before, now) {
            (None, Some(Apart { text, .. })) => tracing::error!("{text}"),
            (Some(_), None) => {
                tracing::info!("all nodes of these records have the same lines again");
            }
            _ => {}
        }
    }
}

/// What this node would have its lines called: as whoever found them at the same place, should the store have lost it.
fn wanted(notes: &[NodeNote], place: &str, node: NodeId) -> String {
    let there = notes.iter().filter(|note| note.place == place);
    let newest = there.max_by_key(|note| note.seen_at);
    newest.map_or_else(|| format!("{node:016x}"), |note| note.lines.clone())
}

/// The first of the other nodes that were heard of lately and have other lines.
fn apart(ours: &NodeNote, notes: &[NodeNote]) -> Option<Apart> {
    let now = ours.seen_at;
    let ago = |note: &NodeNote| now.since(note.seen_at).max(note.seen_at.since(now));
    let others = notes.iter().filter(|note| note.node != ours.node && note.lines != ours.lines);
    let others: Vec<_> = others.filter(|note| ago(note) < NODE_FRESH).collect();
    let other = others.iter().min_by_key(|note| (note.since, note.node))?;
    let heard_at = others.iter().map(|note| note.seen_at).max()?;
    let text = format!(
        "another node of these records has its lines elsewhere: {} (heard of {} s ago), this node's are {}. Each room would be \
         served twice, and one person would have two places: set the same store.url and store.key_prefix for all nodes, or \
         give this one records of its own (records.url). Where the lines were moved on purpose, stop the others first; one \
         that was killed is forgotten {} s after it was heard of, at {}",
        other.place,
        ago(other).0 / 1_000,
        ours.place,
        NODE_FRESH.0 / 1_000,
        Utc(other.seen_at + NODE_FRESH),
    );
    let is_ours_wrong = (other.since, other.node) < (ours.since, ours.node);
    Some(Apart { text, is_ours_wrong, heard_at })
}

/// What a node that has its lines at `place`, and would start now, would say of the other nodes of its records; `lines` is what
/// stands in its store. Nothing where all have the same.
#[must_use]
pub fn lines_apart(
    place: &str,
    lines: Option<String>,
    notes: &[NodeNote],
    now: Timestamp,
) -> Option<String> {
    // It has no number yet; nobody has this one.
    let node = NodeId::MAX;
    let lines = lines.unwrap_or_else(|| wanted(notes, place, node));
    let ours = NodeNote { node, lines, place: place.to_owned(), since: now, seen_at: now };
    apart(&ours, notes).map(|apart| apart.text)
}

/// Looks now and then, for ever.
pub(crate) async fn run(state: &AppState) {
    loop {
        tokio::time::sleep(NOTED_EVERY).await;
        state.one_line.watch(state).await;
    }
}

impl AppState {
    /// Forgets that this node has lines: another one may have them elsewhere at once.
    ///
    /// # Errors
    /// Control's.
    pub async fn forget_lines(&self) -> Result<(), ControlError> {
        match self.store.place() {
            Some(_) => self.control.forget_node(self.one_line.node).await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn note(node: NodeId, lines: &str, since: u64, ago: u64) -> NodeNote {
        let (place, lines) = (format!("prefix {lines}"), lines.to_owned());
        NodeNote { node, lines, place, since: Timestamp(since), seen_at: Timestamp(NOW.0 - ago) }
    }

    #[test]
    fn the_later_of_two_nodes_with_different_lines_is_wrong() {
        let ours = note(1, "a", 50, 0);
        let found = |notes: &[NodeNote]| apart(&ours, notes).map(|apart| apart.is_ours_wrong);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[note(2, "a", 10, 0)]), None, "the same lines");
        assert_eq!(found(&[note(2, "b", 10, 0)]), Some(true));
        assert_eq!(found(&[note(2, "b", 60, 0)]), Some(false));
        assert_eq!(found(&[note(2, "b", 10, NODE_FRESH.0 - 1)]), Some(true));
        assert_eq!(found(&[note(2, "b", 10, NODE_FRESH.0)]), None, "it is gone");
        assert_eq!(found(&[note(1, "b", 10, 5)]), None, "this node itself, before");
        assert_eq!(found(&[note(2, "b", 60, 0), note(3, "c", 10, 0)]), Some(true));
        let text = apart(&ours, &[note(2, "b", 10, 4_000)]).expect("found").text;
        // And until when one that was killed counts.
        let named = ["prefix b (heard of 4 s ago)", "prefix a", "at 2023-11-14T22:14:16.000Z"];
        assert!(named.into_iter().all(|named| text.contains(named)), "{text}");
        let two = [note(2, "b", 10, 40_000), note(3, "b", 20, 5_000)];
        let until = apart(&ours, &two).expect("found").until();
        assert_eq!(until, Timestamp(NOW.0 + 55_000), "whoever was heard of last counts");
    }

    #[test]
    fn a_store_that_nobody_named_yet_is_another_one() {
        let told = |place: &str, lines: Option<&str>, notes: &[NodeNote]| {
            lines_apart(place, lines.map(str::to_owned), notes, NOW).is_some()
        };
        let there = [note(2, "b", 10, 100)];
        assert!(told("prefix a", None, &there));
        assert!(told("prefix a", Some("a"), &there));
        assert!(!told("another way to it", Some("b"), &there));
        assert!(!told("prefix b", None, &there), "it was emptied");
        assert!(!told("prefix a", None, &[note(2, "b", 10, NODE_FRESH.0)]), "nobody is there");
    }

    #[test]
    fn lines_that_a_store_has_lost_get_their_name_back() {
        let notes = [note(2, "b", 10, 9_000), note(3, "b", 10, 100)];
        assert_eq!(wanted(&notes, "prefix b", 7), "b");
        assert_eq!(wanted(&notes, "prefix a", 7), "0000000000000007");
    }

    #[test]
    fn what_is_found_once_may_be_old() {
        let watch = OneLine::new(1, NOW);
        let found = || apart(&note(1, "a", 50, 0), &[note(2, "b", 10, 0)]);
        watch.note(found());
        assert_eq!(watch.apart(), None);
        watch.note(None);
        watch.note(found());
        assert_eq!(watch.apart(), None, "not in a row");
        watch.note(found());
        assert_eq!(watch.apart(), found());
        watch.note(None);
        assert_eq!(watch.apart(), None);
    }
}
