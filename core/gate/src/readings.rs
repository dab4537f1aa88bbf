//! All texts that an upstream could take a path for: decoded so or so often, folded, divided, cut. Judges none of them.

use std::collections::BTreeSet;

use crate::pattern::Letters;
use crate::spelling::{bare, decoded, decoded_within_segments, fold, is_dots};
use crate::target::Unclear;

/// How often a path may have been encoded. Nobody means more than two; beyond this it is a game.
const DECODE_MAX: usize = 4;

/// One reading, to be compared with patterns in the same letters.
pub(crate) type Reading = (Letters, String);

/// Texts of one depth of decoding that a path may have once hosts are cut off its beginning. Nobody means more than one host.
const HOSTS_MAX: usize = 16;
/// Readings of a path at most: each is compared with every rule.
const READINGS_MAX: usize = 384;

/// Leniencies that upstreams have or have not, each alone or with others. A host is cut off twice: segments that become
/// bare may leave two slashes at the beginning that were none before.
const LENIENT: [fn(&str) -> String; 6] = [
    backslashes_divide,
    query_is_cut,
    host_is_cut,
    segments_are_bare,
    host_is_cut,
    slashes_collapse,
];

/// All readings of a path in its normal spelling; plain paths have two.
pub(crate) fn readings(normal: &str) -> Result<Vec<Reading>, Unclear> {
    if is_plain(normal) {
        let folded = normal.to_ascii_lowercase();
        return Ok(vec![(Letters::AsTheyAre, normal.to_owned()), (Letters::Folded, folded)]);
    }
    Ok(odd_readings(normal)?.into_iter().collect())
}

/// Whether nobody could read a path in another way but for its letters: nothing is encoded, divides or is cut off. Most paths
/// are so, and are not taken apart.
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~.".contains(&byte);
    let ends_bare = |segment: &str| !segment.ends_with('.');
    path.bytes().all(plain) && !path.contains("//") && path.split('/').all(ends_bare)
}

fn odd_readings(normal: &str) -> Result<BTreeSet<Reading>, Unclear> {
    let mut readings = BTreeSet::new();
    let first = decoded_within_segments(normal).map_err(|_| Unclear::Encoding)?;
    let mut texts = BTreeSet::from([first]);
    for _ in 0..=DECODE_MAX {
        add_without_hosts(&mut texts)?;
        for text in &texts {
            read(text, &mut readings)?;
            if readings.len() > READINGS_MAX {
                return Err(Unclear::TooMany);
            }
        }
        let next: Result<BTreeSet<_>, _> = texts.iter().map(|text| decoded(text)).collect();
        let next = next.map_err(|_| Unclear::Encoding)?;
        if next == texts {
            return Ok(readings);
        }
        texts = next;
    }
    Err(Unclear::Encoding)
}

/// Adds what is left of each text once the host is off, which some take off before they decode the rest.
fn add_without_hosts(texts: &mut BTreeSet<String>) -> Result<(), Unclear> {
    let mut left: Vec<String> = texts.iter().cloned().collect();
    while let Some(text) = left.pop() {
        if !may_name_a_host(&text) {
            continue;
        }
        let mut spellings = vec![backslashes_divide(&text), text];
        if !spellings[0].is_ascii() {
            spellings.extend([fold(&spellings[0]), fold(&spellings[1])]);
        }
        for spelled in spellings {
            let rest = host_is_cut(&spelled);
            if rest != spelled && texts.insert(rest.clone()) {
                left.push(rest);
            }
        }
        if texts.len() > HOSTS_MAX {
            return Err(Unclear::TooMany);
        }
    }
    Ok(())
}

/// Adds the readings of a text that is decoded far enough.
fn read(text: &str, readings: &mut BTreeSet<Reading>) -> Result<(), Unclear> {
    if text.chars().any(char::is_control) {
        return Err(Unclear::Control);
    }
    let folded = fold(text);
    // A full-width sign that becomes one would begin an encoding that nobody here decoded.
    if folded.matches('%').count() != text.matches('%').count() {
        return Err(Unclear::Encoding);
    }
    for (letters, text) in [(Letters::AsTheyAre, text), (Letters::Folded, &folded)] {
        // Browsers and RFC 3986 take dots out before they ask: who sends them wants them to be read differently.
        if text.split(['/', '\\', '?', '#']).any(is_dots) {
            return Err(Unclear::Dots);
        }
        let mut texts = BTreeSet::from([text.to_owned()]);
        for lenient in LENIENT {
            let more: Vec<_> = texts.iter().map(|text| lenient(text)).collect();
            texts.extend(more);
        }
        readings.extend(texts.into_iter().map(|text| (letters, text)));
    }
    Ok(())
}

fn backslashes_divide(text: &str) -> String {
    text.replace('\\', "/")
}

/// An encoded '?' that is decoded before the path is divided from the query.
fn query_is_cut(text: &str) -> String {
    text.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Whether a host could come first for somebody: two slashes, however they lean and whatever letters they are folded from.
fn may_name_a_host(text: &str) -> bool {
    let slash = |c: char| fold(c.encode_utf8(&mut [0; 4])).starts_with(['/', '\\']);
    text.chars().nth(1).is_some_and(slash)
}

/// What is left for who takes the path for an address without a scheme (RFC 3986, 4.2), as `new URL(path, base)` does: two
/// slashes or more, a host, and only then the path.
fn host_is_cut(text: &str) -> String {
    let from_host = text.trim_start_matches(['/', '\\']);
    if text.len() - from_host.len() < 2 {
        return text.to_owned();
    }
    match from_host.find(['/', '?', '#']).map(|end| &from_host[end..]) {
        Some(rest) if rest.starts_with('/') => rest.to_owned(),
        rest => format!("/{}", rest.unwrap_or_default()),
    }
}

fn segments_are_bare(text: &str) -> String {
    text.split('/').map(bare).collect::<Vec<_>>().join("/")
}

fn slashes_collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !(c == '/' && out.ends_with('/')) {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str) -> Result<Vec<String>, Unclear> {
        let texts: BTreeSet<_> = readings(path)?.into_iter().map(|(_, text)| text).collect();
        Ok(texts.into_iter().collect())
    }

    #[test]
    fn a_plain_path_is_read_in_its_letters_and_folded() {
        assert_eq!(texts("/a/b.css"), Ok(vec!["/a/b.css".to_owned()]));
        assert_eq!(texts("/A"), Ok(vec!["/A".to_owned(), "/a".to_owned()]));
    }

    #[test]
    fn a_plain_path_is_read_as_if_it_were_taken_apart() {
        for path in ["/", "/a", "/A/b.css", "/a/", "/~a/-_/B.c.D", "/.well-known/x"] {
            assert!(is_plain(path), "{path}");
            let apart = odd_readings(path).expect("readable");
            assert_eq!(readings(path), Ok(apart.into_iter().collect()), "{path}");
        }
        for path in ["//a", "/a//b", "/a.", "/a./b", "/.", "/..", "/a;b", "/a%20b", "/a\\b", "/예"]
        {
            assert!(!is_plain(path), "{path}");
        }
    }

    #[test]
    fn what_may_divide_is_read_both_ways() {
        assert_eq!(
            texts("/a%2Fb"),
            Ok(vec!["/a%2Fb".to_owned(), "/a%2fb".to_owned(), "/a/b".to_owned()])
        );
        assert!(texts("/a%255Cb").expect("readable").contains(&"/a/b".to_owned()));
        assert!(texts("/a;x=1/b").expect("readable").contains(&"/a/b".to_owned()));
        assert!(texts("//a").expect("readable").contains(&"/a".to_owned()));
        assert!(texts("/a%3Fb").expect("readable").contains(&"/a".to_owned()));
        assert!(texts("/a./b").expect("readable").contains(&"/a/b".to_owned()));
    }

    #[test]
    fn a_host_may_come_first() {
        for path in [
            "//h/a",
            "///h/a",
            "/\\h/a",
            "/\\/h\\a",
            "//h\\x/a",
            "//x:1@y/a",
            "//[::1]/a",
            "/%2Fh/a",
            "/%5Ch%5Ca",
            "/%252F%255Ch/a",
            "//h%2Fx/%2561",
            "//h/%2561",
            "//h//g/a",
            "/;x/h/a",
            "//h/;x/g/a",
            "/%EF%BC%8Fh/a",
        ] {
            assert!(texts(path).expect("readable").contains(&"/a".to_owned()), "{path}");
        }
        assert!(texts("//h").expect("readable").contains(&"/".to_owned()));
        assert!(texts("//h%3Fa/b").expect("readable").contains(&"/".to_owned()));
        // One slash names none.
        assert!(!texts("/h/a").expect("readable").contains(&"/a".to_owned()));
        let hosts = "//h".repeat(HOSTS_MAX + 1);
        assert_eq!(texts(&hosts), Err(Unclear::TooMany));
    }

    #[test]
    fn what_nobody_means_is_unclear() {
        for (path, want) in [
            ("/a/../b", Unclear::Dots),
            ("/a/./b", Unclear::Dots),
            ("/a/..", Unclear::Dots),
            ("/a/%252e%252e/b", Unclear::Dots),
            ("/a%2F..", Unclear::Dots),
            ("/a%5C..%5Cb", Unclear::Dots),
            ("/a/..;/b", Unclear::Dots),
            ("/a/%EF%BC%8E%EF%BC%8E/b", Unclear::Dots),
            ("/a%00", Unclear::Control),
            ("/a%2500", Unclear::Control),
            ("/a%0A", Unclear::Control),
            ("/a%7F", Unclear::Control),
            ("/a%C0%AF", Unclear::Encoding),
            ("/a%FF", Unclear::Encoding),
            ("/a%25252525252f", Unclear::Encoding),
            ("/a%EF%BC%852f", Unclear::Encoding),
        ] {
            assert_eq!(readings(path), Err(want), "{path}");
        }
    }
}
