//! How the same text may be spelled: percent-encoding, letters that are taken for each other, lenient cutting.

use unicode_normalization::UnicodeNormalization;

/// Characters whose encoding is kept at first: what they stand for may or may not divide a path.
const STRUCTURAL: [u8; 6] = [b'/', b'\\', b'%', b';', b'?', b'#'];

/// A percent-encoding that is none, or bytes that are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// The byte that an encoding at the beginning of `rest` stands for.
fn encoded(rest: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = rest else { return None };
    let digit = |byte: u8| (byte as char).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Rewrites each encoding by `change`, which says what is put in its place; what is no encoding stays.
fn rewritten(text: &str, mut change: impl FnMut(u8, &mut Vec<u8>)) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match encoded(&bytes[at..]) {
            Some(byte) => {
                change(byte, &mut out);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

fn push_encoded(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// The spelling that is sent on: characters that need no encoding have none, digits are in upper case (RFC 3986, 6.2.2).
/// An upstream that compares what it got with plain text then sees what was judged here.
pub(crate) fn normal(raw: &str) -> Result<String, Undecodable> {
    let bytes = raw.as_bytes();
    let stray = (0..bytes.len()).any(|at| bytes[at] == b'%' && encoded(&bytes[at..]).is_none());
    if stray {
        return Err(Undecodable);
    }
    let text = rewritten(raw, |byte, out| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(byte);
        } else {
            push_encoded(byte, out);
        }
    });
    String::from_utf8(text).map_err(|_| Undecodable)
}

/// Decoded but for what may divide a path.
pub(crate) fn decoded_within_segments(text: &str) -> Result<String, Undecodable> {
    let text = rewritten(text, |byte, out| {
        if STRUCTURAL.contains(&byte) {
            push_encoded(byte, out);
        } else {
            out.push(byte);
        }
    });
    String::from_utf8(text).map_err(|_| Undecodable)
}

/// Decoded once; what is no encoding stays as it is.
pub(crate) fn decoded(text: &str) -> Result<String, Undecodable> {
    String::from_utf8(rewritten(text, |byte, out| out.push(byte))).map_err(|_| Undecodable)
}

/// Letters that one system or another takes for the same: case, composed and decomposed, full width.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper case first: some letters, such as the long s, meet the others only there.
    let cased = text.nfkc().collect::<String>().to_uppercase().to_lowercase();
    cased.nfkc().collect()
}

/// A segment as lenient file systems read it: without its parameters, and without dots and spaces at its end.
pub(crate) fn bare(segment: &str) -> &str {
    let segment = segment.split(';').next().unwrap_or_default();
    segment.trim_end_matches(['.', ' '])
}

/// Whether a segment names this folder or the one above, to somebody.
pub(crate) fn is_dots(segment: &str) -> bool {
    let segment = segment.split(';').next().unwrap_or_default().trim();
    !segment.is_empty() && segment.bytes().all(|byte| byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_spelling_keeps_only_what_needs_encoding() {
        for (raw, want) in [
            ("/a", Ok("/a")),
            ("/%61%2d%7e", Ok("/a-~")),
            ("/%2e%2E", Ok("/..")),
            ("/a%2fb%3b", Ok("/a%2Fb%3B")),
            ("/%ec%98%88", Ok("/%EC%98%88")),
            ("/%2561", Ok("/%2561")),
            ("/%", Err(Undecodable)),
            ("/%4", Err(Undecodable)),
            ("/%zz", Err(Undecodable)),
            ("/%u002e", Err(Undecodable)),
        ] {
            assert_eq!(normal(raw).as_deref(), want.as_ref().map(|text| *text), "{raw}");
        }
    }

    #[test]
    fn decoding_goes_one_step_at_a_time() {
        assert_eq!(decoded("/%252e"), Ok("/%2e".to_owned()));
        assert_eq!(decoded("/100%"), Ok("/100%".to_owned()));
        assert_eq!(decoded_within_segments("/%EC%98%88%2F%20%25"), Ok("/예%2F %25".to_owned()));
        // An overlong slash is no UTF-8, whoever takes it for one.
        assert_eq!(decoded("/%c0%af"), Err(Undecodable));
    }

    #[test]
    fn letters_that_somebody_takes_for_each_other_are_one() {
        for (a, b) in [
            ("TICKETS", "tickets"),
            ("ｔickets", "tickets"),
            ("tic\u{212a}ets", "tickets"),
            ("ticket\u{17f}", "tickets"),
            ("\u{1100}\u{1161}", "가"),
            ("a／b", "a/b"),
            ("．．", ".."),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("tickets"), fold("ticket"));
    }

    #[test]
    fn dots_are_found_however_they_are_dressed() {
        for segment in [".", "..", "...", "..;x=1", ".. ", " .."] {
            assert!(is_dots(segment), "{segment:?}");
        }
        for segment in ["", "a..", ".well-known", "..a", ";.."] {
            assert!(!is_dots(segment), "{segment:?}");
        }
    }
}
