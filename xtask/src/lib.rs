//! The project's tasks, as a library so that tests can call them. Nothing of the product is in here, and the product
//! uses none of it.
#![expect(clippy::print_stdout, reason = "a command-line tool: what it prints is its result")]

pub mod bench;
mod command;
pub mod demo;
pub mod machine;
pub mod openapi;
pub mod test;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The repository's root, wherever the command is typed.
///
/// # Panics
/// Never: this crate lies one folder below the root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies below the root").to_owned()
}
