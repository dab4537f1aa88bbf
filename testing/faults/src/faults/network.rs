//! Faults of the network between nodes and the server: gone for a while, for all or for one, and slow.

use std::time::Duration;

use tokio::time::sleep;

use crate::stage::Stage;

/// What every answer takes longer, half of it on either way.
const LATENCY: Duration = Duration::from_millis(200);

/// Nothing arrives on any wire; what was sent arrives afterwards.
pub(super) async fn cut(stage: &mut Stage, span: Duration) {
    for wire in &stage.site.wires {
        wire.hold();
    }
    sleep(span).await;
    for wire in &stage.site.wires {
        wire.open();
    }
}

/// One node alone is cut off; it says so at `/readyz`, where a balancer would hear it. Here its people stay with it.
pub(super) async fn cut_one(stage: &mut Stage, span: Duration) {
    stage.site.wires[1].hold();
    sleep(span).await;
    stage.site.wires[1].open();
}

pub(super) async fn slow(stage: &mut Stage, span: Duration) {
    for wire in &stage.site.wires {
        wire.slow(LATENCY / 2);
    }
    sleep(span).await;
    for wire in &stage.site.wires {
        wire.slow(Duration::ZERO);
    }
}
