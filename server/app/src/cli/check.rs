//! `jari check`: the configuration in effect, or everything that is wrong with it.

use std::io::Write as _;

use clap::Args;
use jari_config::Config;

use super::config_args::ConfigArgs;
use super::{Failure, print};
use crate::lines_apart::{self, Found};

const EXAMPLES: &str = "\
Examples:
  jari check
  jari check --config /etc/jari/jari.toml
  JARI__HTTP__LISTEN=0.0.0.0:80 jari check > jari.toml   # the output is a configuration file

Where store.url is set, Redis and the records are asked whether other nodes of these records have their
lines elsewhere. Servers that do not answer are no failure: the error output says that they were not asked.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let config = args.config.load().map_err(|errors| Failure::failed(errors.to_string()))?;
    // What only the stores and the files themselves tell, as a start would say it.
    let lines = crate::lines::check(&config).map_err(|error| error.to_string());
    let records = crate::records::check(&config).map_err(|error| format!("records.url: {error}"));
    let protect = config.protect.as_ref().map_or(Ok(()), crate::protect::check);
    let protect = protect.map_err(|error| error.to_string());
    let wrong: Vec<_> = [lines.err(), records.err(), protect.err()].into_iter().flatten().collect();
    if !wrong.is_empty() {
        return Err(Failure::failed(wrong.join("\n")));
    }
    ask(&config)?;
    print(&config.explain())
}

/// What only the servers know.
fn ask(config: &Config) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    match runtime.block_on(lines_apart::find(config)) {
        Found::Fits => Ok(()),
        Found::Wrong(text) => Err(Failure::failed(text)),
        Found::Unknown(why) => {
            // Nobody is left to tell where the error output is closed.
            let _ = writeln!(
                std::io::stderr(),
                "jari: whether other nodes have their lines elsewhere was not checked: {why}"
            );
            Ok(())
        }
    }
}
