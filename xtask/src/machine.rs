//! What this machine is: the one place that reads the environment and asks who we are.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command::{command, output, succeeds};

/// Whether this is a CI run (`CI` is set to anything but nothing, 0 or false).
#[must_use]
pub fn is_ci() -> bool {
    #[expect(clippy::disallowed_methods, reason = "this module owns the tasks' environment")]
    let ci = std::env::var("CI").unwrap_or_default();
    !matches!(ci.as_str(), "" | "0" | "false")
}

/// # Errors
/// Where `id` cannot be started.
pub fn is_root(root: &Path) -> Result<bool> {
    Ok(output(&mut command(root, "id", &["-u"]))?.trim() == "0")
}

/// `program` as root: itself, or through sudo where that asks for no password. `None` where neither can be.
pub(crate) fn as_root(root: &Path, program: &str, args: &[&str]) -> Result<Option<Command>> {
    if is_root(root)? {
        return Ok(Some(command(root, program, args)));
    }
    if succeeds(&mut command(root, "sudo", &["-n", "true"])) {
        let mut sudo = command(root, "sudo", &["-n", "--preserve-env=DEBIAN_FRONTEND", program]);
        sudo.args(args);
        return Ok(Some(sudo));
    }
    Ok(None)
}

/// `program` as an ordinary user: `nobody` where we are root, else as we are. It ends with us, also where we are
/// killed. The program and every folder it uses must be reachable for others.
pub(crate) fn as_ordinary_user(root: &Path, program: &Path) -> Result<Command> {
    let mut setpriv = command(root, "setpriv", &["--pdeathsig=KILL", "--no-new-privs"]);
    if is_root(root)? {
        setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    setpriv.arg(program);
    Ok(setpriv)
}
