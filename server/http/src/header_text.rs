//! Headers that anybody may have written bytes into: the elements of a list, of which one that is no text hides none beside
//! it, and addresses. What they say is their readers' business.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderValue};

/// The elements of all lines of a header, in order, without the blanks around them; `None` for one that is no visible ASCII.
///
/// Whoever sends a header may write any byte into an element of their own, and proxies, browsers and scripts of a site append
/// to the same line. So a line is never read, or left out, as a whole.
pub(crate) fn elements(
    headers: &HeaderMap,
    name: impl AsHeaderName,
    separator: u8,
) -> impl Iterator<Item = Option<&str>> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(move |line| parts(line, separator))
}

/// The elements of one line.
pub(crate) fn parts(line: &HeaderValue, separator: u8) -> impl Iterator<Item = Option<&str>> {
    line.as_bytes().split(move |byte| *byte == separator).map(text)
}

/// An address, in which a byte that is no ASCII is written as `%` and two digits, as browsers do: sites and clients exist that
/// write the letters themselves, in whatever encoding they have. `None` where it has control characters.
pub(crate) fn address(value: &HeaderValue) -> Option<Cow<'_, str>> {
    if let Some(text) = text(value.as_bytes()) {
        return Some(Cow::Borrowed(text));
    }
    let mut written = String::with_capacity(value.len() * 3);
    for byte in value.as_bytes() {
        match byte {
            b' '..=b'~' => written.push(char::from(*byte)),
            0x80.. => write!(written, "%{byte:02X}").expect("a String takes everything"),
            _ => return None,
        }
    }
    Some(Cow::Owned(written))
}

fn text(part: &[u8]) -> Option<&str> {
    visible(part.trim_ascii())
}

/// Texts that share one piece of memory: values made of them cost nothing more to copy.
pub(crate) fn in_one_piece<const N: usize>(texts: [&str; N]) -> [Bytes; N] {
    let mut rest = Bytes::from(texts.concat());
    texts.map(|text| rest.split_to(text.len()))
}

/// Bytes as text; `None` where they are no visible ASCII.
pub(crate) fn visible(bytes: &[u8]) -> Option<&str> {
    let is_visible = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
    // To the end in any case, which is quicker: many bytes are looked at together.
    let all = bytes.iter().fold(true, |all, byte| all & is_visible(*byte));
    if all { std::str::from_utf8(bytes).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_ascii() {
        for (said, want) in [
            (&b"/a?b=%EC"[..], Some("/a?b=%EC")),
            ("http://a/예".as_bytes(), Some("http://a/%EC%98%88")),
            (b"/\xff/\xb1", Some("/%FF/%B1")),
            (b"/\xff\t", None),
        ] {
            let value = HeaderValue::from_bytes(said).expect("a value");
            assert_eq!(address(&value).as_deref(), want);
        }
    }

    #[test]
    fn an_element_that_is_no_text_hides_none_beside_it() {
        let mut headers = HeaderMap::new();
        for line in [&b"a, \xff,b"[..], "홍;c=1 ,, d".as_bytes(), b""] {
            headers.append("x-list", HeaderValue::from_bytes(line).expect("a value"));
        }
        let read: Vec<_> = elements(&headers, "x-list", b',').collect();
        assert_eq!(
            read,
            [Some("a"), None, Some("b"), None, Some(""), Some("d"), Some("")],
            "a, none, b; none, empty, d; empty"
        );
    }
}
