//! The repository's own text files. What .gitignore names, and binary files, are not among them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Endings of files that people write and read here.
const TEXT: [&str; 17] = [
    "rs", "toml", "md", "js", "mjs", "ts", "tsx", "css", "html", "sql", "json", "yml", "yaml",
    "sh", "lock", "svg", "txt",
];

/// Files without an ending that are read too.
const NAMED: [&str; 8] = [
    "run",
    ".npmrc",
    ".gitignore",
    ".gitattributes",
    ".editorconfig",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "Dockerfile",
];

#[derive(Clone, Debug)]
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
}

impl Source {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(super) fn ending(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, ending)| ending)
    }

    /// Lines with their numbers from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Walks the tree, so that it works in an archive without git as well as in a clone.
pub(super) fn read(root: &Path) -> Result<Vec<Source>> {
    let ignored = ignored_folders(&fs::read_to_string(root.join(".gitignore")).unwrap_or_default());
    let mut sources = Vec::new();
    walk(root, "", &ignored, &mut sources)?;
    Ok(sources)
}

/// Folder names in .gitignore; patterns with a star name files and do not matter here.
fn ignored_folders(gitignore: &str) -> Vec<String> {
    let names = gitignore.lines().map(|line| line.trim().trim_matches('/'));
    let mut folders: Vec<_> =
        names.filter(|name| !name.is_empty() && !name.contains('*')).map(str::to_owned).collect();
    folders.push(".git".to_owned());
    folders
}

fn walk(folder: &Path, prefix: &str, ignored: &[String], into: &mut Vec<Source>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !ignored.contains(&name) {
                walk(&entry.path(), &path, ignored, into)?;
            }
        } else if is_text(&name) {
            let text =
                fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path}"))?;
            into.push(Source { path, text });
        }
    }
    Ok(())
}

fn is_text(name: &str) -> bool {
    NAMED.contains(&name) || name.rsplit_once('.').is_some_and(|(_, ending)| TEXT.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_gitignore_are_left_out() {
        let names = ignored_folders("/target\nnode_modules/\n*.profraw\n\n");
        assert_eq!(names, ["target", "node_modules", ".git"]);
    }

    #[test]
    fn binary_files_are_not_read() {
        assert!(is_text("lib.rs") && is_text("run") && is_text("room.html"));
        assert!(!is_text("page.png") && !is_text("journal.db") && !is_text("x.snap"));
    }
}
