//! Three primaries that share the slots.

use crate::server::free_port;
use crate::{Kind, Server};

/// The slots of each primary.
const SLOTS: [(u16, u16); 3] = [(0, 5_460), (5_461, 10_922), (10_923, 16_383)];

/// A running Cluster of three primaries, at first without replicas.
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

    /// Sends each primary a command that is answered with OK.
    ///
    /// # Panics
    /// Where one refuses.
    pub fn tell_all(&self, command: &str) {
        self.nodes.iter().for_each(|node| expect_ok(node, command));
    }

    /// Of `keys`, one of a primary that has none of the slots of `others`, and is not the one that is asked where slots are: it
    /// may be killed.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn apart(&self, keys: impl IntoIterator<Item = String>, others: &[&str]) -> String {
        self.find(keys, |at| at != 0 && others.iter().all(|other| self.owner_of(other).1 != at))
    }

    /// Of `keys`, one of another primary than `other`'s.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn apart_from(&self, keys: impl IntoIterator<Item = String>, other: &str) -> String {
        self.find(keys, |at| self.owner_of(other).1 != at)
    }

    /// Of `keys`, one of the same primary as `other`'s.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn together(&self, keys: impl IntoIterator<Item = String>, other: &str) -> String {
        self.find(keys, |at| self.owner_of(other).1 == at)
    }

    fn find(&self, keys: impl IntoIterator<Item = String>, fits: impl Fn(usize) -> bool) -> String {
        let found = keys.into_iter().find(|key| fits(self.owner_of(key).1));
        found.expect("enough keys for every primary")
    }

    /// The primary that has the slot of `key`.
    ///
    /// # Panics
    /// Where a node does not answer.
    #[must_use]
    pub fn primary_of(&mut self, key: &str) -> &mut Server {
        let at = self.owner_of(key).1;
        &mut self.nodes[at]
    }

    /// Starts a replica of the primary that has the slot of `key`, and waits until it has everything.
    ///
    /// # Panics
    /// Where it does not come to that, with what it said.
    #[must_use]
    pub fn add_replica_of(&self, kind: Kind, key: &str) -> Server {
        let primary = &self.nodes[self.owner_of(key).1];
        let bus = free_port().to_string();
        let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--appendonly", "no"];
        let replica = Server::start_with(kind, &cluster);
        let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", replica.port());
        expect_ok(primary, &meet);
        replica.wait_for("Cluster state changed: ok");
        expect_ok(&replica, &format!("CLUSTER REPLICATE {}", primary.ask("CLUSTER MYID")));
        replica.wait_for("sync: Finished with success");
        replica
    }

    /// The slot of a key, and which of the primaries has it.
    fn owner_of(&self, key: &str) -> (u16, usize) {
        let number = |answer: &str| answer.trim_start_matches(':').parse::<u16>();
        let slot = number(&self.nodes[0].ask(&format!("CLUSTER KEYSLOT {key}"))).expect("a slot");
        let owns = |(first, last): (u16, u16)| (first..=last).contains(&slot);
        (slot, SLOTS.into_iter().position(owns).expect("every slot is somewhere"))
    }

    /// Moves the slot of `key` with all its keys to another node, as an operator does who spreads a Cluster anew.
    ///
    /// # Panics
    /// Where a node refuses.
    pub fn move_slot_of(&self, key: &str) {
        let (slot, at) = self.owner_of(key);
        let (from, to) = (&self.nodes[at], &self.nodes[(at + 1) % self.nodes.len()]);
        let (from_id, to_id) = (from.ask("CLUSTER MYID"), to.ask("CLUSTER MYID"));
        expect_ok(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}"));
        expect_ok(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}"));
        let tag = &key[..=key.find('}').expect("the key has a hash tag")];
        for kept in from.ask_list(&format!("CLUSTER GETKEYSINSLOT {slot} 1000")) {
            assert!(kept.starts_with(tag), "{kept} is in the slot by chance");
            expect_ok(from, &format!("MIGRATE 127.0.0.1 {} {kept} 0 5000", to.port()));
        }
        for node in [to, from] {
            expect_ok(node, &format!("CLUSTER SETSLOT {slot} NODE {to_id}"));
        }
    }
}

fn expect_ok(node: &Server, command: &str) {
    let answer = node.ask(command);
    assert_eq!(answer, "+OK", "{command}");
}
