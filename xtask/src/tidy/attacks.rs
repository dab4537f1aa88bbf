//! The table of attacks keeps step with the tests: each test that it names is there, and each attack that is tested is on it.
//! Whether a test passes is the tests' own business.

use std::collections::BTreeSet;

use super::{Finding, Source};

const PAGE: &str = "docs/reference/attacks.md";
/// What the name of a test has in it that tries an attack, behind the number.
const MARK: &str = "_attack_";
const BEGIN: &str = "issue_";

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else {
        return vec![Finding::new(PAGE, 1, "there is no such page", "write the table of attacks")];
    };
    let rust = || sources.iter().filter(|source| source.ending() == "rs");
    let tests: BTreeSet<&str> = rust().flat_map(functions).map(|(_, name)| name).collect();
    let named: Vec<(usize, &str)> = page.lines().flat_map(named).collect();
    let mut findings = Vec::new();
    for (line, name) in named.iter().filter(|(_, name)| !tests.contains(name)) {
        let problem = format!("there is no test `{name}`");
        findings.push(Finding::new(PAGE, *line, problem, "name the test that tries this"));
    }
    for source in rust() {
        let attacks = functions(source).filter(|(_, name)| is_attack(name));
        for (line, name) in attacks.filter(|(_, name)| !named.iter().any(|(_, of)| of == name)) {
            let problem = format!("`{name}` is not on {PAGE}");
            let fix = "add it to the row of what it tries, or a row of its own";
            findings.push(Finding::new(&source.path, line, problem, fix));
        }
    }
    findings
}

fn is_attack(name: &str) -> bool {
    name.starts_with(BEGIN) && name.contains(MARK)
}

/// Functions that a file has, with their lines.
fn functions(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.lines().filter_map(|(number, line)| {
        let code = line.trim_start();
        let code = code.strip_prefix("async ").unwrap_or(code);
        let rest = code.strip_prefix("fn ")?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        Some((number, &rest[..end]))
    })
}

/// Names of tests in the last cell of a row.
fn named((number, line): (usize, &str)) -> impl Iterator<Item = (usize, &str)> {
    let row = line.strip_prefix('|').and_then(|row| row.trim_end().strip_suffix('|'));
    let cell = row.and_then(|row| row.rsplit('|').next()).unwrap_or_default();
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(move |name| (number, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn lines(page: &str, test: &str) -> Vec<(String, usize)> {
        let sources = [source(PAGE, page), source("a/tests/b.rs", test)];
        let found = check(&sources).into_iter();
        found.map(|finding| (finding.file, finding.line)).collect()
    }

    #[test]
    fn the_page_and_the_tests_keep_step() {
        let test = "//! x\n#[tokio::test]\nasync fn issue_5_attack_a() {}\nfn other() {}\n";
        let row = |tests: &str| format!("# Attacks\n\n| `GET` | 0 | {tests} |\n");
        assert_eq!(lines(&row("`issue_5_attack_a`, `other`"), test), []);
        let page = (PAGE.to_owned(), 3);
        assert_eq!(lines(&row("`issue_5_attack_a`, `gone`"), test), [page]);
        let here = ("a/tests/b.rs".to_owned(), 3);
        assert_eq!(lines(&row("`other`"), test), [here]);
        // What a comment keeps for later is no row.
        assert_eq!(lines("<!-- | a | `gone` | -->\n", "fn issue_5_a() {}\n"), []);
    }

    #[test]
    fn the_page_is_there() {
        assert_eq!(check(&[]).len(), 1);
    }
}
