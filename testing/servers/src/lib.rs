//! Real Redis and Valkey servers for tests: started on free loopback ports in a folder of their own, as an ordinary user,
//! ended by pid with the value that stands for them. A server that cannot be started fails the test.

mod binaries;
mod cluster;
mod output;
mod server;

pub use binaries::Kind;
pub use cluster::Cluster;
pub use server::{Server, free_port};
