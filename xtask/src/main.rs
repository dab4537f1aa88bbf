//! `cargo xtask ...`: parses the command line and calls one task. Holds no task itself.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::{bench, conformance, demo, faults, openapi, root, test, tidy, web};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project tasks", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build and start the demo: a room, a protected page and a simulated crowd
    Run(demo::RunArgs),
    /// Everything that must hold before a change is in: checks, tests, the kill -9 run, the page in a browser
    Test(test::TestArgs),
    /// Check what the compiler does not: layers, file heads and sizes, names, words, links
    Tidy,
    /// Build the operator's page for the server to embed; needs Node.js
    Web,
    /// Measure the product on this machine: `bench line`, `bench redis`, `bench k6`
    Bench(bench::BenchArgs),
    /// Make faults on real servers and nodes under a crowd, and check order and caps
    Faults(faults::FaultsArgs),
    /// Write docs/reference/openapi.json from the server's handlers
    Openapi(openapi::OpenapiArgs),
    /// Write docs/reference/conformance.md: which clauses hold on which stores, and the sizes of the histories
    Conformance(conformance::ConformanceArgs),
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell where the error output is closed.
            let _closed = writeln!(io::stderr(), "xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let root = root();
    match task {
        Task::Run(args) => demo::run(&root, &args),
        Task::Test(args) => test::run(&root, &args),
        Task::Tidy => tidy::run(&root),
        Task::Web => web::build(&root),
        Task::Bench(args) => bench::run(&root, &args),
        Task::Faults(args) => faults::run(&root, &args),
        Task::Openapi(args) => openapi::run(&root, &args),
        Task::Conformance(args) => conformance::run(&root, &args),
    }
}
