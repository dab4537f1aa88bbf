//! `If-Match`: a change that is meant for one version of a definition, and is not made of another (RFC 9110, 13.1.1).

use http::HeaderMap;
use http::header::IF_MATCH;
use jari_api::Code;

use crate::problem_response::Refusal;

/// Refuses where the caller names versions and `version` is none of them; 0 is the version of what is not there.
///
/// # Errors
/// 412 `precondition_failed` with the version.
pub(super) fn match_version(headers: &HeaderMap, version: u64) -> Result<(), Refusal> {
    let mut lines = headers.get_all(IF_MATCH).iter().peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    let is = version.to_string();
    // A list may be on several lines. Whatever is no text names no version.
    let mut named = lines.filter_map(|line| line.to_str().ok()).flat_map(tags);
    let fits = named.any(|tag| match tag {
        // Any version, but one there has to be.
        "*" => version > 0,
        tag => tag == is,
    });
    if fits { Ok(()) } else { Err(Refusal::new(Code::PreconditionFailed).with("version", version)) }
}

/// The tags of a list, without their quotes; whoever writes none means the same. A weak tag (`W/"3"`) keeps its quotes: it
/// fits nothing here.
fn tags(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let items = line.split(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    items.map(str::trim).map(|tag| unquoted(tag).unwrap_or(tag)).collect()
}

fn unquoted(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let value = |line: &&str| HeaderValue::from_str(line).expect("visible text");
        lines.iter().map(|line| (IF_MATCH, value(line))).collect()
    }

    #[test]
    fn one_tag_of_a_list_is_enough_with_quotes_or_without() {
        assert!(match_version(&HeaderMap::new(), 3).is_ok());
        for (lines, good) in [
            (&["\"3\""][..], true),
            (&["3"], true),
            (&["\"1\", \"3\""], true),
            (&["\"3\",\"1\""], true),
            (&["1 , 3"], true),
            (&["\"1\"", "\"3\""], true),
            (&["\"2\""], false),
            (&["\"1\", \"2\"", "\"4\""], false),
            (&["\"33\", \"1\""], false),
            // One tag with commas in it.
            (&["\"1,3,2\""], false),
            (&["W/\"3\""], false),
            (&[""], false),
            (&["\"3"], false),
        ] {
            let told = match_version(&headers(lines), 3);
            assert_eq!(told.is_ok(), good, "{lines:?}");
        }
    }

    #[test]
    fn a_star_is_any_version_and_zero_is_none() {
        for (line, version, good) in [
            ("*", 1, true),
            (" * ", 7, true),
            ("*", 0, false),
            ("\"0\"", 0, true),
            ("\"0\"", 1, false),
            ("\"0\", \"2\"", 2, true),
        ] {
            assert_eq!(match_version(&headers(&[line]), version).is_ok(), good, "{line} {version}");
        }
    }
}
