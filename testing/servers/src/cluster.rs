//! Three primaries that share the slots.

use crate::server::free_port;
use crate::{Kind, Server};

/// The slots of each primary.
const SLOTS: [(u16, u16); 3] = [(0, 5_460), (5_461, 10_922), (10_923, 16_383)];

/// A running Cluster of three primaries without replicas.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// # Panics
    /// Where it cannot be started, with what its servers said.
    #[must_use]
    pub fn start(kind: Kind) -> Cluster {
        let buses = SLOTS.map(|_| free_port());
        let start = |bus: &u16| {
            let bus = bus.to_string();
            let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            Server::start_with(kind, &[&cluster[..], &["--appendonly", "no"]].concat())
        };
        let nodes: Vec<Server> = buses.iter().map(start).collect();
        for (epoch, (node, (first, last))) in nodes.iter().zip(SLOTS).enumerate() {
            expect_ok(node, &format!("CLUSTER SET-CONFIG-EPOCH {}", epoch + 1));
            expect_ok(node, &format!("CLUSTER ADDSLOTSRANGE {first} {last}"));
        }
        for (node, bus) in nodes.iter().zip(&buses).skip(1) {
            expect_ok(&nodes[0], &format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port()));
        }
        for node in &nodes {
            node.wait_for("Cluster state changed: ok");
        }
        Cluster { nodes }
    }

    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }
}

fn expect_ok(node: &Server, command: &str) {
    let answer = node.ask(command);
    assert_eq!(answer, "+OK", "{command}");
}
