//! The command line: what there is to ask for, and how each command ends. The commands' work is in the modules below.

mod admin_client;
mod audit;
mod backup;
mod check;
mod config_args;
mod difference;
mod failure;
mod group;
mod key;
mod openapi;
mod progress;
mod rehearse;
mod room;
mod room_fields;
mod serve;
mod span;
mod stats;
mod table;
mod tenant;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use failure::Failure;

use crate::demo::DemoArgs;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  it failed or was refused; one line on the error output says why and what to do
  2  the command line is wrong
  3  the server cannot be reached
  4  the server does not accept the API key";

/// Jari: a virtual waiting room.
///
/// People who come to a busy site wait here in order, see their place, and are let in as fast as the site can take.
#[derive(Debug, Parser)]
#[command(name = "jari", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server: the visitors' pages, the API and the line itself.
    Serve(Box<serve::ServeArgs>),
    /// Show a room with a simulated crowd, in one command.
    Demo(DemoArgs),
    /// Play a crowd through a copy of a room's settings in virtual time: how long do people wait?
    Rehearse(Box<rehearse::RehearseArgs>),
    /// Make, change and steer rooms, through a running server.
    Room(Box<room::RoomArgs>),
    /// Let several rooms share what the site behind them can take.
    Group(group::GroupArgs),
    /// Keep the rooms and keys of several organisers apart.
    Tenant(tenant::TenantArgs),
    /// Make, list and revoke API keys.
    Key(key::KeyArgs),
    /// Show who changed what, newest first.
    Audit(audit::AuditArgs),
    /// Check that records are what was written: the audit trail's chain of hashes.
    Verify(verify::VerifyArgs),
    /// Check the configuration and print the one in effect, with where each value came from.
    Check(check::CheckArgs),
    /// Copy the data of a running or stopped server.
    Backup(backup::BackupArgs),
    /// Print the OpenAPI document of the HTTP API.
    Openapi,
}

/// Runs a command to its end.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let outcome = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => crate::demo::run(&args).map_err(Failure::from),
        Command::Rehearse(args) => rehearse::run(&args),
        Command::Room(args) => room::run(*args),
        Command::Group(args) => group::run(args),
        Command::Tenant(args) => tenant::run(args),
        Command::Key(args) => key::run(args),
        Command::Audit(args) => audit::run(&args),
        Command::Verify(args) => verify::run(args),
        Command::Check(args) => check::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Openapi => openapi::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody is left to tell where the error output is closed.
            let _ = writeln!(std::io::stderr(), "jari: {failure}");
            failure.exit_code()
        }
    }
}

/// Writes a command's answer to the standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // `jari room list | head -1` is done when head is.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => {
            other.map_err(|error| Failure::failed(format!("cannot write the answer: {error}")))
        }
    }
}

/// A runtime for a command that makes a few calls.
fn small_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The long help of a command and of all below it.
    fn help(command: &mut clap::Command, path: &str, text: &mut String) {
        let path = format!("{path}{}", command.get_name());
        text.push_str(&format!("$ {path} --help\n{}\n", command.clone().render_long_help()));
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            help(below, &format!("{path} "), text);
        }
    }

    #[test]
    fn every_commands_help_is_as_documented() {
        let mut text = String::new();
        let mut command = Cli::command();
        command.build();
        help(&mut command, "", &mut text);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
