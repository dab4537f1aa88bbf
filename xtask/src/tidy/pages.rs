//! The pages people read: links lead somewhere, the two READMEs keep step, the map shows every crate. Judges no prose.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::layers::Crate;
use super::{Finding, Source};

const MAP: &str = "ARCHITECTURE.md";
const README: [&str; 2] = ["README.md", "README.ko.md"];

pub(super) fn check(root: &Path, sources: &[Source], crates: &[Crate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.ending() == "md") {
        findings.extend(dead_links(source, |target| root.join(target).exists()));
    }
    findings.extend(orphans(sources));
    findings.extend(readmes(sources));
    findings.extend(map(sources, crates));
    findings
}

fn text<'a>(sources: &'a [Source], path: &str) -> Option<&'a str> {
    sources.iter().find(|source| source.path == path).map(|source| source.text.as_str())
}

/// Relative links whose target, from the page's folder, is not there.
fn dead_links(page: &Source, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let dead = targets(page).filter(|(_, target)| !exists(target));
    let fix = "mend the link or write the page";
    dead.map(|(line, target)| {
        Finding::new(&page.path, line, format!("the link to {target} leads nowhere"), fix)
    })
    .collect()
}

/// Pages that no other page leads to are never found.
fn orphans(sources: &[Source]) -> Vec<Finding> {
    let pages = || sources.iter().filter(|source| source.ending() == "md");
    let linked: HashSet<String> = pages()
        .flat_map(|page| {
            targets(page).map(|(_, target)| target).filter(|target| *target != page.path)
        })
        .collect();
    let orphans =
        pages().filter(|page| page.path.starts_with("docs/") && !linked.contains(&page.path));
    let fix = "link it from docs/README.md or docs/decisions/README.md";
    orphans.map(|page| Finding::new(&page.path, 1, "no page leads here", fix)).collect()
}

/// Lines and what the relative links on them lead to, from the root.
fn targets(page: &Source) -> impl Iterator<Item = (usize, String)> {
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let all =
        prose(&page.text).flat_map(|(number, line)| links(line).map(move |link| (number, link)));
    all.filter_map(move |(number, link)| {
        let file = link.split(['#', '?']).next().unwrap_or_default();
        let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
        (!elsewhere).then(|| (number, resolve(folder, file)))
    })
}

/// Numbered lines outside code fences.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Targets of `[text](target)` and `![text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        rest.split_once(')').map(|(target, _)| target.split(' ').next().unwrap_or(target))
    })
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> =
        if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

/// A heading in one README only means that the other was forgotten.
fn readmes(sources: &[Source]) -> Vec<Finding> {
    let counts = README.map(|path| {
        let headings = |text| prose(text).filter(|(_, line)| line.starts_with('#')).count();
        text(sources, path).map_or(0, headings)
    });
    if counts[0] == counts[1] && counts[0] > 0 {
        return Vec::new();
    }
    let problem = format!("{} headings, {} has {}", counts[1], README[0], counts[0]);
    vec![Finding::new(README[1], 1, problem, "say in both languages what one of them says")]
}

fn map(sources: &[Source], crates: &[Crate]) -> Vec<Finding> {
    let map = text(sources, MAP).unwrap_or_default();
    let crates = crates.iter().map(|package| package.folder.clone());
    let folders: BTreeSet<String> = crates.chain(sources.iter().filter_map(web_folder)).collect();
    let missing = folders.into_iter().filter(|folder| !map.contains(&format!("`{folder}`")));
    let fix = "add it to the code map, with its invariant";
    missing
        .map(|folder| Finding::new(MAP, 1, format!("`{folder}` is not on the map"), fix))
        .collect()
}

/// `web/room` of `web/room/room.js`.
fn web_folder(source: &Source) -> Option<String> {
    let (page, _) = source.path.strip_prefix("web/")?.split_once('/')?;
    Some(format!("web/{page}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn links_are_followed_from_the_page_s_folder() {
        let text = "[a](b.md) [c](../d.md#part) [e](https://example.com/x) [f](#here)\n```\n[g](none.md)\n```\n![h](i.png \"t\")\n";
        let dead = |there: &'static [&'static str]| {
            let found = dead_links(&page("docs/x/a.md", text), |target| there.contains(&target));
            found.iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(dead(&["docs/x/b.md", "docs/d.md", "docs/x/i.png"]), [0_usize; 0]);
        assert_eq!(dead(&["docs/x/b.md"]), [1, 5]);
    }

    #[test]
    fn a_page_is_linked_from_another() {
        let index = page("docs/README.md", "[a](x/a.md)");
        let root = page("README.md", "[docs](docs/README.md)");
        let linked = page("docs/x/a.md", "[myself](a.md)");
        assert_eq!(orphans(&[root.clone(), index, linked.clone()]), []);
        assert_eq!(orphans(&[root, linked]).len(), 1, "its own link does not count");
    }

    #[test]
    fn the_readmes_keep_step() {
        let english = page(README[0], "# A\n## B\n```sh\n# no heading\n```\n");
        let short = page(README[1], "# A\n");
        let same = page(README[1], "# A\n## B\n");
        assert_eq!(readmes(&[english.clone(), same]), []);
        assert_eq!(readmes(&[english.clone(), short]).len(), 1);
        assert_eq!(readmes(&[english]).len(), 1);
    }

    #[test]
    fn the_map_shows_every_crate_and_page() {
        let package = |folder: &str| Crate {
            name: folder.to_owned(),
            folder: folder.to_owned(),
            description: None,
            dependencies: Vec::new(),
        };
        let sources = [page(MAP, "### `core/line`\n")];
        assert_eq!(map(&sources, &[package("core/line")]), []);
        assert_eq!(map(&sources, &[package("core/line"), package("core/units")]).len(), 1);
        let sources = [sources[0].clone(), page("web/a/b.js", ""), page("web/a/c/d.js", "")];
        assert_eq!(map(&sources, &[]).len(), 1);
    }
}
