//! The direction of dependencies, from cargo's own metadata. Says which crate may know which; nothing about their code.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Finding;
use crate::command::{command, output};

/// Crates that would bring I/O, time, randomness or JSON into the core.
const NOT_IN_CORE: [&str; 20] = [
    "tokio",
    "tokio-util",
    "async-stream",
    "futures",
    "mio",
    "axum",
    "tower",
    "tower-http",
    "hyper",
    "hyper-util",
    "http",
    "reqwest",
    "sqlx",
    "rusqlite",
    "redis",
    "serde_json",
    "rand",
    "getrandom",
    "time",
    "chrono",
];

/// Only ports names async, and only in signatures.
const ASYNC_IN_PORTS: &str = "futures-util";

/// Databases are an adapter's business.
const ONLY_IN_ADAPTERS: [&str; 4] = ["sqlx", "rusqlite", "redis", "rdkafka"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Crate {
    pub(super) name: String,
    /// Its folder, relative to the root.
    pub(super) folder: String,
    pub(super) description: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) dev: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: String,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    description: Option<String>,
    manifest_path: String,
    dependencies: Vec<Declared>,
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    kind: Option<String>,
}

/// The workspace's crates as their manifests declare them.
pub(super) fn crates(root: &Path) -> Result<Vec<Crate>> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    parse(&output(&mut command(root, "cargo", &arguments))?)
}

fn parse(metadata: &str) -> Result<Vec<Crate>> {
    let metadata: Metadata = serde_json::from_str(metadata)
        .context("cargo metadata in a form that tidy does not know")?;
    let prefix = format!("{}/", metadata.workspace_root);
    let crates = metadata.packages.into_iter().map(|package| {
        let manifest =
            package.manifest_path.strip_prefix(&prefix).unwrap_or(&package.manifest_path);
        let folder = manifest.strip_suffix("/Cargo.toml").unwrap_or(manifest).to_owned();
        let dependencies = package.dependencies.into_iter().map(|declared| Dependency {
            name: declared.name,
            dev: declared.kind.as_deref() == Some("dev"),
        });
        Crate {
            name: package.name,
            folder,
            description: package.description,
            dependencies: dependencies.collect(),
        }
    });
    Ok(crates.collect())
}

/// Folders that a crate in `folder` may depend on; a name ending in `/` means everything below it.
fn may_know(folder: &str) -> &'static [&'static str] {
    match folder {
        "core/units" | "xtask" => &[],
        "core/ports" => &["core/"],
        "core/rehearsal" => &["core/units", "core/line", "core/crowd"],
        "server/http" => &["core/", "server/api"],
        "server/app" => &["core/", "adapters/", "server/"],
        _ if folder.starts_with("core/") => &["core/units"],
        _ if folder.starts_with("adapters/") || folder.starts_with("server/") => &["core/"],
        _ if folder.starts_with("testing/") => &["core/", "adapters/", "server/", "testing/"],
        _ => &[],
    }
}

/// What its tests may use besides: the proofs in testing/, and neighbours of its own layer or below.
fn tests_may_know(folder: &str) -> &'static [&'static str] {
    if folder.starts_with("core/") {
        &["core/", "testing/"]
    } else {
        &["core/", "adapters/", "server/", "testing/"]
    }
}

pub(super) fn check(crates: &[Crate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in crates {
        let manifest = format!("{}/Cargo.toml", package.folder);
        if package.description.as_deref().unwrap_or_default().trim().is_empty() {
            let fix = "add `description`: what the crate is for, in a line";
            findings.push(Finding::new(&manifest, 1, "no description", fix));
        }
        for dependency in &package.dependencies {
            findings.extend(
                judge(package, dependency, crates)
                    .map(|(problem, fix)| Finding::new(&manifest, 1, problem, fix)),
            );
        }
    }
    findings
}

fn judge(
    package: &Crate,
    dependency: &Dependency,
    crates: &[Crate],
) -> Option<(String, &'static str)> {
    let (from, to) = (&package.name, &dependency.name);
    let Some(known) = crates.iter().find(|other| other.name == *to) else {
        return outside(package, dependency);
    };
    let is_in = |folders: &[&str]| {
        folders.iter().any(|folder| {
            known.folder == *folder || (folder.ends_with('/') && known.folder.starts_with(folder))
        })
    };
    if is_in(may_know(&package.folder)) || dependency.dev && is_in(tests_may_know(&package.folder))
    {
        return None;
    }
    let fix = "turn the dependency round (ARCHITECTURE.md has the layers), or use a port";
    let kind = if dependency.dev { " in its tests" } else { "" };
    Some((format!("{from} ({}) depends on {to} ({}){kind}", package.folder, known.folder), fix))
}

/// Crates from outside that a layer may not use, tests apart.
fn outside(package: &Crate, dependency: &Dependency) -> Option<(String, &'static str)> {
    if dependency.dev {
        return None;
    }
    let (from, to) = (&package.name, dependency.name.as_str());
    let in_core = package.folder.starts_with("core/");
    let async_here = to == ASYNC_IN_PORTS && package.folder != "core/ports";
    if in_core && (NOT_IN_CORE.contains(&to) || async_here) {
        return Some((
            format!("{from} decides, and {to} touches the world"),
            "hand the value in, or add a port",
        ));
    }
    let database = ONLY_IN_ADAPTERS.contains(&to) && !package.folder.starts_with("adapters/");
    database.then(|| (format!("{from} uses {to} by itself"), "put it behind a port, in an adapter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, dependencies: &[(&str, bool)]) -> Crate {
        let dependencies = dependencies
            .iter()
            .map(|(name, dev)| Dependency { name: (*name).to_owned(), dev: *dev });
        Crate {
            name: folder.replace('/', "-"),
            folder: folder.to_owned(),
            description: Some("x".to_owned()),
            dependencies: dependencies.collect(),
        }
    }

    /// Whether a crate in `from` may have this dependency.
    fn accepted(from: &str, to: &str, dev: bool) -> bool {
        let others = [
            "core/units",
            "core/line",
            "core/crowd",
            "core/ports",
            "core/rehearsal",
            "adapters/embedded",
            "adapters/records",
            "server/api",
            "server/http",
            "server/app",
            "testing/testkit",
        ];
        let mut crates: Vec<_> = others
            .iter()
            .filter(|folder| **folder != from)
            .map(|folder| package(folder, &[]))
            .collect();
        crates.push(package(from, &[(&to.replace('/', "-"), dev)]));
        check(&crates).is_empty()
    }

    #[test]
    fn dependencies_point_one_way() {
        for (from, to, accept) in [
            ("core/line", "core/units", true),
            ("core/units", "core/line", false),
            ("core/ports", "core/line", true),
            ("core/line", "core/ports", false),
            ("core/rehearsal", "core/crowd", true),
            ("core/rehearsal", "core/ports", false),
            ("core/line", "core/rehearsal", false),
            ("adapters/embedded", "core/ports", true),
            ("adapters/embedded", "adapters/records", false),
            ("adapters/embedded", "server/api", false),
            ("server/http", "server/api", true),
            ("server/http", "adapters/embedded", false),
            ("server/app", "adapters/embedded", true),
            ("server/api", "server/http", false),
            ("core/line", "testing/testkit", false),
            ("server/app", "testing/testkit", false),
            ("xtask", "server/app", false),
        ] {
            assert_eq!(accepted(from, to, false), accept, "{from} -> {to}");
        }
    }

    #[test]
    fn tests_may_use_the_proofs_but_the_core_stays_below() {
        assert!(accepted("server/app", "testing/testkit", true));
        assert!(accepted("adapters/embedded", "testing/testkit", true));
        assert!(!accepted("core/line", "adapters/embedded", true));
        assert!(!accepted("core/line", "server/http", true));
    }

    #[test]
    fn the_core_touches_nothing_and_databases_stay_in_adapters() {
        assert!(!accepted("core/line", "tokio", false));
        assert!(!accepted("core/line", "futures-util", false));
        assert!(accepted("core/ports", "futures-util", false));
        assert!(accepted("core/line", "tokio", true));
        assert!(!accepted("server/http", "rusqlite", false));
        assert!(accepted("adapters/embedded", "rusqlite", false));
    }

    #[test]
    fn a_crate_says_what_it_is_for() {
        let mut bare = package("core/units", &[]);
        bare.description = None;
        assert_eq!(check(&[bare]).len(), 1);
    }

    #[test]
    fn metadata_is_read_as_cargo_writes_it() {
        let text = r#"{"workspace_root": "/x", "packages": [{"name": "a", "description": null,
            "manifest_path": "/x/core/a/Cargo.toml", "dependencies": [{"name": "b", "kind": "dev"}, {"name": "c", "kind": null}]}]}"#;
        let crates = parse(text).unwrap();
        assert_eq!((crates[0].folder.as_str(), crates[0].dependencies.len()), ("core/a", 2));
        assert!(crates[0].dependencies[0].dev && !crates[0].dependencies[1].dev);
    }
}
