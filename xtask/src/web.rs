//! `cargo xtask web`: builds the operator's page from `web/admin`, for the server to embed. The server compiles without;
//! its `/admin` then says to come here.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::command::{command, run};
use crate::node;

const PAGE: &str = "web/admin";
/// Written last by the build.
const BUILT: &str = "dist/index.html";
/// Folders that are made, not written.
const MADE: [&str; 2] = ["dist", "node_modules"];

/// Builds the page where it is older than its sources.
///
/// # Errors
/// Where there is no Node.js, its packages cannot be had, or the page does not compile.
pub fn build(root: &Path) -> Result<()> {
    node::require(root).context("the operator's page is built with it")?;
    let folder = root.join(PAGE);
    node::packages(&folder)?;
    let built = modified(&folder.join(BUILT));
    if built.is_some() && built >= newest(&folder)? {
        println!("the operator's page is built");
        return Ok(());
    }
    run(&mut command(&folder, "npm", &["run", "--silent", "build"]))
}

/// Builds the page, or says why the server will be without it: that is no reason not to start.
pub(crate) fn build_where_possible(root: &Path) {
    if let Err(error) = build(root) {
        println!("/admin will only say how it is built: {error:#}");
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|file| file.modified()).ok()
}

/// When a source was last changed, added or removed.
fn newest(folder: &Path) -> Result<Option<SystemTime>> {
    let mut latest = modified(folder);
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && MADE.iter().any(|made| entry.file_name() == *made) {
            continue;
        }
        let time = if is_folder { newest(&entry.path())? } else { modified(&entry.path()) };
        latest = latest.max(time);
    }
    Ok(latest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_build_made_is_no_source() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path();
        for made in ["src", "dist", "node_modules"] {
            fs::create_dir(path.join(made)).expect("it is ours");
        }
        fs::write(path.join("src/page.ts"), "").expect("it is ours");
        let before = newest(path).expect("it can be read");
        let later = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 33);
        let date = |file: &str| {
            let file = fs::File::create(path.join(file)).expect("it is ours");
            file.set_modified(later).expect("it is ours");
        };
        date("dist/index.html");
        assert_eq!(newest(path).expect("it can be read"), before);
        date("src/page.ts");
        assert_eq!(newest(path).expect("it can be read"), Some(later));
    }
}
