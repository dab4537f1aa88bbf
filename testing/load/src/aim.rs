//! What every load is told: whom to load, from where, with how much of this machine, and where its report goes.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use crate::dial::Sources;
use crate::process::{self, Usage};
use crate::target::{Target, in_turn};

#[derive(Args, Clone, Debug)]
pub(crate) struct Aim {
    /// The server, on loopback: http://127.0.0.1:8080; given several times, connections go to each in turn
    #[arg(long = "url", value_name = "URL", required = true)]
    pub(crate) urls: Vec<Target>,
    /// The room; it must be open and its server without a join limit
    #[arg(long, default_value = "bench")]
    pub(crate) room: String,
    #[command(flatten)]
    pub(crate) from: Sources,
    /// Threads of this generator; on a small machine each one is taken from the server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) threads: u8,
    /// The server's process, to report its CPU and memory; of several servers each one's
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,
    /// Write the report here too, as JSON
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

impl Aim {
    /// Runs a load on so many threads and tells its report.
    pub(crate) fn run<R, F>(&self, load: F) -> Result<()>
    where
        R: Serialize + std::fmt::Display,
        F: Future<Output = Result<R>>,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.threads.into())
            .enable_all()
            .build()?;
        let report = runtime.block_on(load)?;
        // Thousands of readers are not waited for.
        runtime.shutdown_background();
        self.tell(&report)
    }

    /// Prints a report and writes it where that was asked for.
    pub(crate) fn tell(&self, report: &(impl Serialize + std::fmt::Display)) -> Result<()> {
        writeln!(std::io::stdout(), "{report}")?;
        if let Some(path) = &self.json {
            let text = serde_json::to_vec_pretty(report)?;
            std::fs::write(path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Which server the connection with this number goes to.
    pub(crate) fn target(&self, nth: usize) -> Target {
        in_turn(&self.urls, nth)
    }

    /// What the server has used so far; of several servers all together.
    pub(crate) fn server_usage(&self) -> Option<Usage> {
        let used: Option<Vec<Usage>> = self.pids.iter().map(|pid| process::usage(*pid)).collect();
        used?.into_iter().reduce(Usage::with)
    }

    #[cfg(test)]
    pub(crate) fn at(url: Target) -> Aim {
        Aim {
            urls: vec![url],
            room: "bench".to_owned(),
            from: Sources::default(),
            threads: 1,
            pids: vec![std::process::id()],
            json: None,
        }
    }
}
