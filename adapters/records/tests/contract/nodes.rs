//! Notes of nodes: the newest of each, in order of their beginning; no change of what operators define.

use std::sync::Arc;

use jari_ports::{Control, NodeNote};
use jari_units::Timestamp;

const NOW: u64 = 1_700_000_000_000;
const DAY: u64 = 86_400_000;

fn noted(node: u64, lines: &str, since: u64, seen_at: u64) -> NodeNote {
    let place = format!("where {node} finds {lines}");
    let (since, seen_at) = (Timestamp(NOW + since), Timestamp(NOW + seen_at));
    NodeNote { node, lines: lines.to_owned(), place, since, seen_at }
}

pub(crate) async fn the_newest_note_of_each_node_stays(control: Arc<dyn Control>) {
    let revision = control.revision().await.unwrap();
    // As large as a node's number may be.
    let (old, young) = (u64::MAX, 7);
    control.note_node(noted(young, "b", 5, 5)).await.unwrap();
    control.note_node(noted(old, "a", 0, 0)).await.unwrap();
    control.note_node(noted(old, "b", 9, 10)).await.unwrap();
    let wanted = [noted(old, "b", 0, 10), noted(young, "b", 5, 5)];
    assert_eq!(control.nodes().await.unwrap(), wanted, "since its first word");
    control.forget_node(young).await.unwrap();
    control.forget_node(young).await.unwrap();
    assert_eq!(control.nodes().await.unwrap(), wanted[..1]);
    let later = noted(9, "b", 2 * DAY, 2 * DAY);
    control.note_node(later.clone()).await.unwrap();
    assert_eq!(control.nodes().await.unwrap(), [later], "a day of silence");
    assert_eq!(control.revision().await.unwrap(), revision);
}
