//! The shape of a file: its head, its length, its name. What it says is for words.rs and pages.rs.

use super::{Finding, Source};

/// Above this a file holds more than one concept (STYLE: think twice past 300).
const MAX_LINES: usize = 500;

/// Drawers that fill up with everything; a file is named after the one thing in it.
const BANNED_NAMES: [&str; 11] = [
    "util", "utils", "helper", "helpers", "common", "misc", "types", "manager", "managers",
    "shared", "stuff",
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(head(source));
    findings.extend(length(source));
    findings.extend(name(source));
    findings
}

/// What a file of this kind opens with.
fn opening(ending: &str) -> Option<(&'static [&'static str], &'static str)> {
    Some(match ending {
        "rs" => (&["//!"], "open it with a `//!` line: what it is, and what it is not"),
        "js" | "mjs" | "ts" | "tsx" | "css" => {
            (&["/*", "//"], "open it with a comment: what it is, and what it is not")
        }
        "html" => (&["<!--"], "open it with a comment: what it is, and what it is not"),
        "sql" => (&["--"], "open it with a `--` comment: what it changes and why"),
        _ => return None,
    })
}

fn head(source: &Source) -> Option<Finding> {
    let (openings, fix) = opening(source.ending())?;
    // A page's comment may stand behind its doctype.
    let lines = if source.ending() == "html" { 2 } else { 1 };
    let opened = source
        .text
        .lines()
        .take(lines)
        .any(|line| openings.iter().any(|opening| line.trim_start().starts_with(opening)));
    (!opened).then(|| Finding::new(&source.path, 1, "the file does not say what it is", fix))
}

fn length(source: &Source) -> Option<Finding> {
    opening(source.ending())?;
    let lines = source.text.lines().count();
    (lines > MAX_LINES).then(|| {
        let problem = format!("{lines} lines, more than {MAX_LINES}");
        Finding::new(&source.path, MAX_LINES, problem, "split it along its concepts")
    })
}

fn name(source: &Source) -> Option<Finding> {
    let mut parts = source.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let banned = parts.find(|part| BANNED_NAMES.contains(part))?;
    let problem = format!("`{banned}` says nothing about what is inside");
    Some(Finding::new(&source.path, 1, problem, "name it after the one thing in it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn every_kind_has_its_opening() {
        for (path, text, accepted) in [
            ("a/b.rs", "//! What it is.\n", true),
            ("a/b.rs", "use std::fs;\n//! late\n", false),
            ("a/b.rs", "", false),
            ("w/a.tsx", "export {};\n", false),
            ("w/a.css", "/* What it is. */\n", true),
            ("w/a.mjs", "export {};\n", false),
            ("w/a.html", "<!doctype html>\n<!-- What it is. -->\n", true),
            ("w/a.html", "<!doctype html>\n<html>\n<!-- late -->\n", false),
            ("m/1.sql", "-- What it changes.\n", true),
            ("m/1.sql", "CREATE TABLE a (b);\n", false),
            ("Cargo.toml", "[package]\n", true),
        ] {
            assert_eq!(head(&source(path, text)).is_none(), accepted, "{path}: {text:?}");
        }
    }

    #[test]
    fn a_file_may_have_the_limit_but_no_line_more() {
        assert_eq!(length(&source("a.rs", &"//!\n".repeat(MAX_LINES))), None);
        assert!(length(&source("a.rs", &"//!\n".repeat(MAX_LINES + 1))).is_some());
        assert_eq!(length(&source("Cargo.lock", &"x\n".repeat(MAX_LINES + 1))), None);
    }

    #[test]
    fn drawers_are_banned_as_files_and_as_folders() {
        assert!(name(&source("core/line/src/utils.rs", "")).is_some());
        assert!(name(&source("server/http/src/common/mod.rs", "")).is_some());
        assert_eq!(name(&source("core/line/src/poll.rs", "")), None);
    }
}
