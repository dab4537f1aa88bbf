//! Jari put together: the adapters, the server and the command line. The only crate that names adapters.

mod adapter_metrics;
mod backup;
mod bootstrap;
mod certificate;
pub mod cli;
pub mod demo;
mod file_size;
mod hangups;
mod lines;
mod lines_apart;
mod logging;
mod machine;
mod open_files;
mod options;
mod protect;
mod records;
mod serve;
mod store_wait;
mod tls;
mod traces;

pub use machine::{SystemClock, SystemEntropy};
pub use protect::ProtectedSite;
pub use records::RecordsError;
pub use serve::{Running, ServeError, ServeOptions, serve};
pub use tls::TlsError;
