//! The words of the web pages: every text in both languages, with the same places to fill in, and none that nobody
//! shows. Judges no wording.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source};

const KOREAN: &str = "messages.ko.json";
const ENGLISH: &str = "messages.en.json";

/// Endings of files in which a text can be named.
const NAMING: [&str; 5] = ["js", "ts", "tsx", "html", "rs"];

type Texts = BTreeMap<String, String>;

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for korean in sources.iter().filter(|source| source.name() == KOREAN) {
        let folder = korean.path.strip_suffix(KOREAN).unwrap_or_default();
        let english = format!("{folder}{ENGLISH}");
        let english = sources.iter().find(|source| source.path == english);
        findings.extend(pair(korean, english));
        findings.extend(unused(korean, folder, sources));
    }
    findings
}

fn texts(source: &Source) -> Option<Texts> {
    serde_json::from_str(&source.text).ok()
}

fn pair(korean: &Source, english: Option<&Source>) -> Vec<Finding> {
    let find = |problem: String, fix| vec![Finding::new(&korean.path, 1, problem, fix)];
    let (Some(ko), Some(en)) = (texts(korean), english.and_then(texts)) else {
        return find("no two languages of texts".to_owned(), "write both files, as JSON of texts");
    };
    let all: BTreeSet<&String> = ko.keys().chain(en.keys()).collect();
    let different = all.into_iter().filter(|key| match (ko.get(*key), en.get(*key)) {
        (Some(ko), Some(en)) => places(ko) != places(en),
        _ => true,
    });
    let fix = "say it in both languages, with the same {places}";
    different
        .map(|key| Finding::new(&korean.path, 1, format!("`{key}` differs in English"), fix))
        .collect()
}

/// Names in braces.
fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

/// Texts that no file names, whole or by a beginning that it completes: `"a.b"`, `{{t.a.b}}`, `` `a.${x}` ``.
fn unused(korean: &Source, folder: &str, sources: &[Source]) -> Vec<Finding> {
    // A page of plain files is put together by the server, which names some of its texts.
    let served = "server/http/src/pages/";
    let naming: Vec<_> = sources
        .iter()
        .filter(|source| source.path.starts_with(folder) || source.path.starts_with(served))
        .filter(|source| NAMING.contains(&source.ending()))
        .collect();
    let named = |key: &str| {
        let beginnings = key.match_indices('.').map(|(at, _)| &key[..=at]);
        let mut forms = vec![format!("\"{key}\""), format!("{{{{t.{key}}}}}")];
        forms.extend(beginnings.flat_map(|part| [format!("`{part}${{"), format!("\"{part}{{")]));
        naming.iter().any(|source| forms.iter().any(|form| source.text.contains(form)))
    };
    let texts = texts(korean).unwrap_or_default();
    let fix = "take the text out of both files";
    let unused = texts.keys().filter(|key| !named(key));
    unused
        .map(|key| Finding::new(&korean.path, 1, format!("`{key}` is shown nowhere"), fix))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn every_text_is_in_both_languages_with_the_same_places_and_shown() {
        let page = source("web/a/page.tsx", "say(\"sum\"); say(`state.${state}`);");
        for (ko, en, want) in [
            (r#"{"sum": "{n}명"}"#, r#"{"sum": "{n}"}"#, 0),
            (r#"{"sum": "{n}명"}"#, r#"{"sum": "{m}"}"#, 1),
            (r#"{"sum": "명", "state.open": "열림"}"#, r#"{"sum": ""}"#, 1),
            (r#"{"sum": "명", "state.open": "a"}"#, r#"{"sum": "", "state.open": "b"}"#, 0),
            (r#"{"sum": "명", "other": "a"}"#, r#"{"sum": "", "other": "b"}"#, 1),
            (r#"{"sum": 1}"#, r#"{"sum": ""}"#, 1),
        ] {
            let (ko, en) =
                (source("web/a/messages.ko.json", ko), source("web/a/messages.en.json", en));
            let found = check(&[ko.clone(), en.clone(), page.clone()]);
            assert_eq!(found.len(), want, "{} {} {found:?}", ko.text, en.text);
        }
        assert_eq!(check(&[source("web/a/messages.ko.json", "{}")]).len(), 1);
    }
}
