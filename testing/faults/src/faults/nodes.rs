//! Faults of nodes: dead, standing still, replaced. No balancer is before them here: their people turn to another node
//! themselves, as a browser does whose address has several hosts behind it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::stage::Stage;

/// Longest until a node that was started serves like the others.
const READY_WITHIN: Duration = Duration::from_secs(60);

pub(super) async fn kill(stage: &mut Stage, down: Duration) {
    stage.site.nodes[1].kill().await;
    sleep(down).await;
    stage.site.nodes[1].start_again().await;
}

pub(super) async fn freeze(stage: &mut Stage, span: Duration) {
    stage.site.nodes[1].freeze(true).await;
    sleep(span).await;
    stage.site.nodes[1].freeze(false).await;
}

/// One after the other is told to stop, drains, and is started again.
pub(super) async fn replace_all(stage: &mut Stage) {
    for nth in 0..stage.site.nodes.len() {
        stage.site.nodes[nth].stop().await;
        stage.site.nodes[nth].start_again().await;
        let deadline = Instant::now() + READY_WITHIN;
        while !stage.watch.seen.are_well(stage.site.alive()) {
            if Instant::now() > deadline {
                return stage.broken(format!("node {nth} is not ready within {READY_WITHIN:?}"));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}
