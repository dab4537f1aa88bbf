//! The project's tasks, as a library so that tests can call them. Nothing of the product is in here, and the product
//! uses none of it.
#![expect(clippy::print_stdout, reason = "a command-line tool: what it prints is its result")]

pub mod bench;
mod command;
pub mod conformance;
pub mod demo;
pub mod faults;
pub mod machine;
mod marks;
mod node;
pub mod openapi;
pub mod test;
pub mod tidy;
pub mod web;

use std::path::PathBuf;

/// The repository's root, wherever the command is typed.
///
/// # Panics
/// Never: this crate lies one folder below the root.
#[must_use]
pub fn root() -> PathBuf {
    // Cargo tells it at run time; what was compiled in may be another checkout that shares this target folder.
    #[expect(clippy::disallowed_methods, reason = "xtask is where cargo's own variables are read")]
    let xtask = std::env::var("CARGO_MANIFEST_DIR");
    let xtask = PathBuf::from(xtask.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned()));
    xtask.parent().expect("xtask lies below the root").to_owned()
}
