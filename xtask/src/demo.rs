//! `cargo xtask run`: builds the binary and becomes `jari demo`. What the demo does is in server/app.

use std::os::unix::process::CommandExt;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{build, command};
use crate::web;

#[derive(Args, Debug)]
pub struct RunArgs {
    /// Optimise everything: starts minutes later, for crowds far above the default 2,000
    #[arg(long)]
    release: bool,
    /// Passed on to `jari demo`, for example `--crowd 500 --rate 10`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    demo: Vec<String>,
}

/// Starts the demo in place of this process, so that Ctrl-C reaches it alone.
///
/// The development profile is the default because it starts soonest: it shares what the tests have built, its
/// dependencies are optimised a little, and a crowd of 2,000 asks only a few hundred requests a second.
///
/// # Errors
/// Where the server does not build or cannot be started.
pub fn run(root: &Path, args: &RunArgs) -> Result<()> {
    web::build_where_possible(root);
    let program = build(root, &["jari"], args.release)?.join("jari");
    let mut demo = command(root, &program.to_string_lossy(), &["demo"]);
    demo.args(&args.demo).stdin(std::process::Stdio::inherit());
    Err(demo.exec()).context("cannot start jari")
}
