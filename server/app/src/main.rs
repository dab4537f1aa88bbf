//! The `jari` program: reads the command line and runs one command. Everything it does is in the library beside it.

use std::process::ExitCode;

use clap::Parser;
use jari::cli::{Cli, run};

/// Many small allocations from many threads: mimalloc serves joins measurably faster than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    run(Cli::parse())
}
