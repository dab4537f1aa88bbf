//! What may not stand in a file: loose ends, shortcuts, and traces of somebody's machine. Knows lines, not syntax.

use super::{Finding, Source};

/// Written in two halves so that this file passes its own check.
const LOOSE_ENDS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const LEFTOVERS: [&str; 3] =
    [concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")];
const UNWRAP: &str = concat!(".unw", "rap()");
const ALLOW: [&str; 2] = [concat!("allow(", "clippy"), concat!("expect(", "clippy")];
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
const REGISTRY_HOSTS: [&str; 4] = [
    concat!("registry.", "npmjs"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("files.", "pythonhosted"),
];

/// Lines between an attribute's start and its reason, where rustfmt breaks it.
const ATTRIBUTE_LINES: usize = 6;

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = anywhere(source);
    if source.ending() == "rs" {
        findings.extend(in_rust(source));
    }
    findings
}

fn anywhere(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in source.lines() {
        let mut find =
            |problem: String, fix| findings.push(Finding::new(&source.path, number, problem, fix));
        if let Some(word) = LOOSE_ENDS.iter().find(|word| holds_word(line, word)) {
            find(
                format!("`{word}`: a loose end"),
                "do it, or open an issue and leave the line out",
            );
        }
        if let Some(path) = MACHINE_PATHS.iter().find(|path| holds_path(line, path)) {
            find(format!("`{path}`: a path of one machine"), "use a relative path or an argument");
        }
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| line.contains(*host)) {
            let fix =
                "leave registry hosts to each machine (npm: omit-lockfile-registry-resolved=true)";
            find(format!("`{host}`: a registry's host"), fix);
        }
    }
    findings
}

fn in_rust(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let tests_from = if is_test(source) {
        0
    } else {
        lines.iter().position(|line| line.trim() == "#[cfg(test)]").unwrap_or(lines.len())
    };
    let mut findings = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        let mut find = |problem: String, fix| {
            findings.push(Finding::new(&source.path, index + 1, problem, fix));
        };
        if let Some(word) = LEFTOVERS.iter().find(|word| code.contains(*word)) {
            find(format!("`{word}`: left over"), "finish the code or take the line out");
        }
        if index < tests_from && code.contains(UNWRAP) {
            find(
                format!("`{UNWRAP}` outside tests"),
                "return an error, or `expect` with the reason why it holds",
            );
        }
        if ALLOW.iter().any(|allow| code.contains(allow)) && !has_reason(&lines, index) {
            find(
                "a lint is silenced without a reason".to_owned(),
                "add `reason = \"...\"` to the attribute",
            );
        }
    }
    findings
}

/// Test files by the places where tests live.
fn is_test(source: &Source) -> bool {
    let name = source.name();
    source.path.contains("/tests/") || name == "tests.rs" || name.ends_with("_tests.rs")
}

/// Whether the attribute at `index` holds a reason.
fn has_reason(lines: &[&str], index: usize) -> bool {
    let attribute = lines.iter().skip(index).take(ATTRIBUTE_LINES);
    let mut text = String::new();
    for line in attribute {
        text.push_str(line.trim());
        if line.trim_end().ends_with(")]") {
            break;
        }
    }
    text.contains("reason =")
}

/// Whole words only: a name that merely contains the letters is no loose end.
fn holds_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].iter().flatten().any(|c| c.is_alphanumeric() || *c == '_')
    })
}

/// A path starts the text it stands in: `/x/` inside a URL or a longer path is something else.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "._-*}/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<usize> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        check(&source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_unwrap_is_for_tests_only() {
        let text = format!(
            "//! x\nfn a() {{ b(){UNWRAP}; }}\n#[cfg(test)]\nmod tests {{ c(){UNWRAP} }}\n"
        );
        assert_eq!(problems("core/a/src/lib.rs", &text), [2]);
        assert_eq!(problems("core/a/tests/a.rs", &text), [0_usize; 0]);
        assert_eq!(problems("core/a/src/a_tests.rs", &text), [0_usize; 0]);
        assert_eq!(problems("a.rs", &format!("//! x\n// why not {UNWRAP}\n")), [0_usize; 0]);
    }

    #[test]
    fn a_silenced_lint_has_its_reason() {
        let allow = ALLOW[0];
        assert_eq!(problems("a.rs", &format!("#[{allow}::x)]\nfn a() {{}}\n")), [1]);
        assert_eq!(problems("a.rs", &format!("#[{allow}::x, reason = \"y\")]\n")), [0_usize; 0]);
        assert_eq!(
            problems("a.rs", &format!("#[{allow}::x,\n    reason = \"y\"\n)]\n")),
            [0_usize; 0]
        );
    }

    #[test]
    fn loose_ends_are_whole_words() {
        assert_eq!(problems("a.md", &format!("one\n{}: later\n", LOOSE_ENDS[0])), [2]);
        assert_eq!(problems("a.md", &format!("{}LIST\n", LOOSE_ENDS[0])), [0_usize; 0]);
        assert_eq!(problems("a.rs", &format!("//! x\n{}x)\n", LEFTOVERS[0])), [2]);
    }

    #[test]
    fn machine_paths_and_registry_hosts_are_traces() {
        let path = MACHINE_PATHS[0];
        assert_eq!(problems("a.toml", &format!("dir = \"{path}jari\"\n")), [1]);
        assert_eq!(problems("a.md", &format!("https://example.com{path}here\n")), [0_usize; 0]);
        assert_eq!(
            problems("a.json", &format!("\"resolved\": \"https://{}.org/x\"\n", REGISTRY_HOSTS[0])),
            [1]
        );
    }
}
