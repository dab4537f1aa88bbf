//! `jari-faults`: parses the command line, runs the faults that are wanted, tells and writes what came of them. Makes no
//! fault by itself.
#![expect(clippy::print_stdout, reason = "a command-line tool: what it prints is its result")]

mod caps;
mod clocks;
mod crowd;
mod faults;
mod found;
mod node;
mod person;
mod row;
mod scene;
mod seen;
mod site;
mod stage;
mod table;
mod truth;
mod watch;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use futures_util::{StreamExt, stream};
use jari_servers::Postgres;

use crate::faults::Fault;
use crate::row::Row;
use crate::site::{Ground, open_folder};

/// People of a run, where its fault and the command say nothing else: enough that every second somebody comes, is let in
/// and leaves.
const PEOPLE: usize = 300;
const PEOPLE_QUICK: usize = 60;
/// Threads for the crowd and the watchers; starting a server holds one up.
const THREADS: usize = 6;
const DAY: Duration = Duration::from_secs(86_400);

/// Makes faults on real servers and nodes of this machine, under a bounded crowd, and checks that nobody lost their place,
/// that the order held, and that no cap was exceeded. Ends with 1 where something did not hold.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// The program under test
    #[arg(long, value_name = "FILE")]
    jari: PathBuf,
    /// Only this fault; may be given several times
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Fault>,
    /// People at the start of each run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=20_000))]
    people: Option<u32>,
    /// One fault of each family, with few people
    #[arg(long, conflicts_with = "only")]
    quick: bool,
    /// How many runs go on at once; each has servers and nodes of its own
    #[arg(long, value_name = "N", default_value_t = 1)]
    at_once: usize,
    /// Where faults.json and faults.md are written
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    // Ends with the thread that started it: that is this one.
    let postgres = Postgres::start();
    let folder = open_folder()?;
    // An ordinary user may not be able to go where it was built.
    let program = folder.path().join("jari");
    std::fs::copy(&cli.jari, &program)
        .with_context(|| format!("cannot copy {}", cli.jari.display()))?;
    let ground = || Ground { program: program.clone(), records: postgres.database() };
    let grounds = cli.faults().into_iter().map(|fault| (fault, ground())).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        // Nodes end with the thread that started them, so that none outlives a run that is killed.
        .thread_keep_alive(DAY)
        .enable_all()
        .build()
        .context("cannot start")?;
    let rows = runtime.block_on(run_all(&cli, grounds));
    if let Some(out) = &cli.out {
        write(out, &rows, cli.usual())?;
    }
    let broken: Vec<_> = rows.iter().filter(|row| !row.holds()).map(|row| &*row.name).collect();
    println!("{} runs, {} hold", rows.len(), rows.len() - broken.len());
    if broken.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("something did not hold: {}", broken.join(", "));
    Ok(ExitCode::FAILURE)
}

impl Cli {
    fn faults(&self) -> Vec<Fault> {
        match (self.quick, self.only.as_slice()) {
            (true, _) => Fault::QUICK.to_vec(),
            (false, []) => Fault::all().collect(),
            (false, only) => only.to_vec(),
        }
    }

    fn usual(&self) -> usize {
        let usual = if self.quick { PEOPLE_QUICK } else { PEOPLE };
        self.people.map_or(usual, |people| people as usize)
    }
}

/// In the order asked for, each told as it ends.
async fn run_all(cli: &Cli, grounds: Vec<(Fault, Ground)>) -> Vec<Row> {
    let (asked, usual) = (cli.people.map(|people| people as usize), cli.usual());
    let runs = grounds.into_iter().map(|(fault, ground)| async move {
        // A thread of its own: servers are waited for on it, and what is asked of them does not travel between threads.
        let (own, here) = (ground, tokio::runtime::Handle::current());
        let run = tokio::task::spawn_blocking(move || here.block_on(fault.run(own, asked, usual)));
        let why = match run.await {
            Ok(Ok(row)) => {
                println!("{}", table::plain(&row));
                return row;
            }
            Ok(Err(error)) => format!("{error:#}"),
            Err(panic) => panic.to_string(),
        };
        let row = Row::failed(&fault.name(), fault.title(), why);
        println!("{}", table::plain(&row));
        row
    });
    stream::iter(runs).buffered(cli.at_once.max(1)).collect().await
}

fn write(out: &Path, rows: &[Row], people: usize) -> Result<()> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join("faults.json"), serde_json::to_vec_pretty(rows)?)?;
    std::fs::write(out.join("faults.md"), table::markdown(rows, people))?;
    Ok(())
}
