//! How several generators begin at the same moment: each says that it is ready and waits to be told. Measures nothing.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context, Result, ensure};
use clap::Args;

/// What a generator says when it has prepared everything.
pub(crate) const READY: &str = "ready";
/// What it then waits for.
pub(crate) const GO: &str = "go";

#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct StartSignal {
    /// Prepare, print "ready", and begin only when "go" comes on the standard input
    #[arg(long)]
    wait: bool,
}

impl StartSignal {
    /// Returns when it may begin; at once where nobody is to be waited for.
    pub(crate) async fn wait(self) -> Result<()> {
        if !self.wait {
            return Ok(());
        }
        tokio::task::spawn_blocking(|| {
            let mut out = std::io::stdout();
            writeln!(out, "{READY}")?;
            out.flush()?;
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line)?;
            ensure!(line.trim() == GO, "told {:?} instead of {GO}", line.trim());
            Ok(())
        })
        .await
        .context("the wait for the start was cut")?
    }
}
