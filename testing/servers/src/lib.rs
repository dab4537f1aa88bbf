//! Real servers for tests: each on a free port of the loopback address, in a folder of its own, as an ordinary user, and
//! ended by its number when it is dropped.
//!
//! A server that cannot be started fails the test: none is skipped. Knows nothing of Jari, so that an adapter's tests need
//! not build the server.

mod balancer;
mod binaries;
mod cluster;
mod output;
mod postgres;
mod process;
mod proxy;
mod server;

pub use balancer::{Balancer, BalancerKind};
pub use binaries::{Kind, fake_clock};
pub use cluster::Cluster;
pub use postgres::{Postgres, PostgresBuilder};
pub use process::lasting_port;
pub use proxy::Proxy;
pub use server::{Server, free_port};
