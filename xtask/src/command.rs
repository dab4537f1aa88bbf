//! Starting other programs and hearing how they ended. Knows no step, and of programs only how ours are built.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// `program` with `args`, to be started in the repository's root.
pub(crate) fn command(root: &Path, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root).stdin(Stdio::null());
    command
}

/// What a person would type for it.
fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Shows the command, lets its output through, and fails unless it ended with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Builds programs of ours by name, and says in which folder they are.
///
/// In development they are built for the whole workspace: with the features that the tests have, so that nothing which
/// these have built is built once more. What is released is built as users build it.
pub(crate) fn build(root: &Path, programs: &[&str], optimised: bool) -> Result<PathBuf> {
    let mut cargo = command(root, "cargo", &["build", "--locked"]);
    cargo.args(if optimised { ["--release"] } else { ["--workspace"] });
    for program in programs {
        cargo.args(["--bin", program]);
        if optimised {
            cargo.args(["--package", program]);
        }
    }
    run(&mut cargo)?;
    Ok(root.join(if optimised { "target/release" } else { "target/debug" }))
}

/// Whether the command can be started and ends with 0; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// What the command prints to stdout; its stderr goes through.
///
/// # Errors
/// Where it cannot be started, ends with anything but 0, or prints something that is not UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
}
