//! Lists the built operator's page for `pages/admin.rs`, where it was built. Builds nothing and fetches nothing itself:
//! `cargo xtask web` does, and needs Node.js; the server compiles without.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that the page is made of, by their endings; all are text.
const ENDINGS: [&str; 5] = ["html", "js", "css", "svg", "txt"];

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let built = here.join("../../web/admin/dist");
    // Cargo cannot watch a folder that is not there, and would compile anew each time. Where it cannot be made, it does.
    let _read_only_is_fine = fs::create_dir_all(&built);
    println!("cargo::rerun-if-changed={}", built.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    gather(&built, "", &mut files);
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("writing to a string");
    }
    list.push(']');
    let out = PathBuf::from(variable("OUT_DIR")).join("admin_files.rs");
    fs::write(out, list).expect("cargo gives a folder that can be written");
}

fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a build script is told by cargo's variables")]
    std::env::var(name).expect("cargo sets it for build scripts")
}

/// Files below `folder` with their names from `prefix` on, as the page's addresses have them.
fn gather(folder: &Path, prefix: &str, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_dir() {
            gather(&path, &name, into);
        } else if ENDINGS.contains(&ending) {
            let path = fs::canonicalize(&path).expect("it was just listed");
            into.push((name, path.to_string_lossy().into_owned()));
        }
    }
}
