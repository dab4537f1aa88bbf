//! attend: a node says that it serves a room, so that a recovery knows whom to wait for.

use jari_units::{Mark, NodeId, Timestamp, limits};

use crate::ledger::Ledger;
use crate::{Done, Event, LostHistory, Room};

impl Room {
    /// Notes a node, at most once in `ATTEND_EVERY`.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn attend(&mut self, mark: Mark, node: NodeId) -> Result<Done<()>, LostHistory> {
        self.guard(mark)?;
        let now = self.ledger.clocks.now;
        let last = self.ledger.descent.nodes.get(&node);
        let due = last.is_none_or(|at| now.since(*at) >= limits::ATTEND_EVERY);
        Ok(self.commit((), due.then_some(Event::Attended { node, at: now })))
    }
}

impl Ledger {
    pub(crate) fn attended(&mut self, node: NodeId, at: Timestamp) {
        let nodes = &mut self.descent.nodes;
        nodes.insert(node, at);
        if nodes.len() > limits::NODES_MAX {
            let oldest = nodes.iter().min_by_key(|(node, at)| (**at, **node));
            if let Some(oldest) = oldest.map(|(node, _)| *node) {
                nodes.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::tests::room;

    #[test]
    fn a_node_is_noted_once_in_a_while_and_the_longest_silent_is_forgotten() {
        let mut room = room();
        let attend = |room: &mut Room, node| room.attend(Mark::NONE, node).expect("no mark").event;
        assert!(attend(&mut room, 7).is_some());
        assert!(attend(&mut room, 7).is_none(), "just noted");
        for second in 1..=20 {
            room.admit(Mark::NONE, Timestamp(1_000_000 + second * 1_000), None).expect("no mark");
        }
        assert!(attend(&mut room, 7).is_some());
        (100..100 + limits::NODES_MAX as u64).for_each(|node| _ = attend(&mut room, node));
        let nodes = &room.ledger().descent().nodes;
        assert_eq!(nodes.len(), limits::NODES_MAX);
        assert!(!nodes.contains_key(&7));
    }
}
