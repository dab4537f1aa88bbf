//! Another server takes over that lacks the last moments: at an address that moves, and by Sentinel.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::stage::Stage;

/// What the replica lacks: people come, go in and leave in it.
const LACKS: Duration = Duration::from_millis(1_500);
/// How long the other nodes stay behind the one that had heard nothing, at most: until it has given its people numbers, or
/// has not, as it should.
const COMES_FIRST_BY: Duration = Duration::from_secs(5);
/// People who come to that node first.
const FIRST_COMERS: usize = 10;

/// What happens beside the failover itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum With {
    Nothing,
    /// The last node had heard nothing of what the replica lacks, and is the first to speak to it.
    Unheard,
    /// The last node dies with the primary.
    NodeLost,
}

pub(super) async fn to_a_lagging_replica(stage: &mut Stage, with: With) {
    let last = stage.site.nodes.len() - 1;
    stage.site.link.as_ref().expect("the plan has a replica").hold();
    if with == With::Unheard {
        stage.site.wires[last].hold();
    }
    sleep(LACKS).await;
    stage.site.primary().kill();
    if with == With::NodeLost {
        stage.site.nodes[last].kill().await;
    }
    if let Some(link) = stage.site.link.take() {
        drop(link);
    }
    let replica = &stage.site.servers[1];
    assert_eq!(replica.ask("REPLICAOF NO ONE"), "+OK");
    let port = replica.port();
    let (others, unheard) = stage.site.wires.split_at(last);
    if with == With::Unheard {
        others.iter().for_each(crate::wire::Wire::hold);
    }
    for wire in others.iter().chain(unheard) {
        wire.lead_to(port);
    }
    unheard.iter().for_each(crate::wire::Wire::open);
    if with == With::Unheard {
        stage.crowd.come_to(last, FIRST_COMERS, Duration::ZERO);
        let given = numbers_of_the_last(stage, FIRST_COMERS).await;
        stage.note(format!("{given} of {FIRST_COMERS} got a number from the node that knew least"));
        stage.site.wires.iter().for_each(crate::wire::Wire::open);
    }
}

/// Waits until so many of those who came last have a number; how many do in time.
async fn numbers_of_the_last(stage: &Stage, many: usize) -> usize {
    let deadline = Instant::now() + COMES_FIRST_BY;
    loop {
        let places = stage.crowd.places().await;
        let given = places.iter().rev().take(many).filter(|place| place.seq > 0).count();
        if given == many || Instant::now() > deadline {
            return given;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The replica is not let back to the stream of writes; then the primary dies.
pub(super) async fn by_sentinel(stage: &mut Stage) {
    let [primary, _, sentinel] = stage.site.servers.as_mut_slice() else {
        return stage.broken("the plan has no Sentinel");
    };
    // Refused like this it keeps what it has, and asks again.
    primary.ask("ACL SETUSER default -psync -sync");
    primary.ask("CLIENT KILL TYPE replica");
    sleep(LACKS).await;
    primary.kill();
    tokio::task::block_in_place(|| sentinel.wait_for("+switch-master"));
}
