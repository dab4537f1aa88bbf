//! The Redis store on real servers: the suite that every line store must pass, and what only this store has.

mod arrangements;
mod conformance;
mod declared_keys;
mod due_rooms;
mod evicted;
mod failover;
mod faults;
mod leases;
mod losing;
mod node;
mod other_installation;
mod releases;
mod script_calls;
mod several_nodes;
mod taken;
mod tidying;
mod torn;
mod way_and_clock;
