//! Nothing is left in the store: under running nodes, and with all nodes gone too.

use std::time::Duration;

use tokio::time::sleep;

use crate::stage::Stage;

/// What is lost is known to a node with the next tick.
const NOTICED: Duration = Duration::from_secs(2);

pub(super) async fn flush(stage: &mut Stage) {
    assert_eq!(stage.site.primary().ask("FLUSHALL"), "+OK");
    sleep(NOTICED).await;
}

/// Only what people hold is left: the server comes back empty, and the nodes know nothing.
pub(super) async fn with_all_nodes(stage: &mut Stage) {
    for node in &mut stage.site.nodes {
        node.kill().await;
    }
    stage.site.primary().kill();
    tokio::task::block_in_place(|| stage.site.primary().start_again());
    for node in &mut stage.site.nodes {
        node.start_again().await;
    }
    sleep(NOTICED).await;
}
