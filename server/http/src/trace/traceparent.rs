//! The caller's `traceparent` (W3C Trace Context, section 3.2). Judges its form, never what it asks for.

use http::HeaderMap;

const HEADER: &str = "traceparent";
/// `00-` + 32 + `-` + 16 + `-` + 2. A later version may go on after it.
const LENGTH: usize = 55;

/// What a caller says of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traceparent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) sampled: bool,
}

impl Traceparent {
    /// Reads the header; one that is not well formed, or given twice, is none.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut given = headers.get_all(HEADER).iter();
        let value = given.next()?;
        if given.next().is_some() {
            return None;
        }
        Traceparent::parse(value.as_bytes())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (head, rest) = text.split_at_checked(LENGTH)?;
        let [version] = hex(&head[..2])?;
        let goes_on = matches!(rest.first(), None | Some(b'-'));
        if version == 0xff || !goes_on || (version == 0 && !rest.is_empty()) {
            return None;
        }
        if [head[2], head[35], head[52]] != [b'-'; 3] {
            return None;
        }
        let (trace, span, [flags]) =
            (hex::<16>(&head[3..35])?, hex::<8>(&head[36..52])?, hex(&head[53..])?);
        if trace == [0; 16] || span == [0; 8] {
            return None;
        }
        Some(Traceparent { trace, span, sampled: flags & 1 == 1 })
    }
}

/// Lower-case digits only, as the standard has it.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn parse(text: &str) -> Option<(bool, u8, u8)> {
        let of = Traceparent::parse(text.as_bytes())?;
        Some((of.sampled, of.trace[0], of.span[7]))
    }

    #[test]
    fn the_standards_own_example_is_read_and_broken_ones_are_not() {
        for (text, read) in [
            (format!("00-{TRACE}-{SPAN}-01"), Some((true, 0x0a, 0x31))),
            (format!("00-{TRACE}-{SPAN}-00"), Some((false, 0x0a, 0x31))),
            (format!("00-{TRACE}-{SPAN}-03"), Some((true, 0x0a, 0x31))),
            (format!("01-{TRACE}-{SPAN}-01-more"), Some((true, 0x0a, 0x31))),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("01-{TRACE}-{SPAN}-01more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00_{TRACE}-{SPAN}-01"), None),
            (format!("00-{TRACE}-{SPAN}-0"), None),
            (format!("00-{TRACE}-{SPAN}-0x"), None),
            (String::new(), None),
        ] {
            assert_eq!(parse(&text), read, "{text}");
        }
    }

    #[test]
    fn two_of_them_are_none() {
        let mut headers = HeaderMap::new();
        let value = format!("00-{TRACE}-{SPAN}-01").parse().expect("ASCII");
        headers.append(HEADER, value);
        assert!(Traceparent::of(&headers).is_some());
        let again = headers[HEADER].clone();
        headers.append(HEADER, again);
        assert_eq!(Traceparent::of(&headers), None);
    }
}
