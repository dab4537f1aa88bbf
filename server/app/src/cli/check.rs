//! `jari check`: the configuration in effect, or everything that is wrong with it.

use clap::Args;

use super::config_args::ConfigArgs;
use super::{Failure, print};

const EXAMPLES: &str = "\
Examples:
  jari check
  jari check --config /etc/jari/jari.toml
  JARI__HTTP__LISTEN=0.0.0.0:80 jari check > jari.toml   # the output is a configuration file";

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
    print(&config.explain())
}
