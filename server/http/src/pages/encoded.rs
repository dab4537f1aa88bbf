//! A body compressed once and sent many times, in the form that the browser takes. Caches nothing itself.

use std::io::Write as _;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue};

/// Brotli's window, as a power of two: the largest page is far below 64 KB.
const BROTLI_WINDOW: u32 = 16;
const BROTLI_BUFFER: usize = 4_096;
/// Done once per body, so the best is affordable.
const BROTLI_QUALITY: u32 = 11;
/// A tenth larger in a thirtieth of the time: for large bodies that few people load.
const BROTLI_QUALITY_QUICK: u32 = 5;

/// One body in the three forms that browsers ask for.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    identity: Bytes,
    gzip: Bytes,
    brotli: Bytes,
}

impl Encoded {
    pub(super) fn new(text: String) -> Encoded {
        Encoded::at(BROTLI_QUALITY, text)
    }

    /// The same, sooner and a little larger.
    pub(super) fn quickly(text: String) -> Encoded {
        Encoded::at(BROTLI_QUALITY_QUICK, text)
    }

    fn at(quality: u32, text: String) -> Encoded {
        let (gzip, brotli) = (gzip(text.as_bytes()), brotli(quality, text.as_bytes()));
        Encoded { identity: text.into(), gzip: gzip.into(), brotli: brotli.into() }
    }

    #[cfg(test)]
    pub(super) fn brotli_len(&self) -> usize {
        self.brotli.len()
    }

    #[cfg(test)]
    pub(super) fn gzip_len(&self) -> usize {
        self.gzip.len()
    }

    /// A 200 with the body in the best form that `asked` takes; the caller adds the content type and caching.
    pub(super) fn response(&self, asked: &HeaderMap) -> Response {
        let (body, coding) = match coding(asked) {
            Coding::Brotli => (&self.brotli, Some("br")),
            Coding::Gzip => (&self.gzip, Some("gzip")),
            Coding::Identity => (&self.identity, None),
        };
        let mut response = Response::new(Body::from(body.clone()));
        if let Some(coding) = coding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        response
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("writing to memory cannot fail");
    encoder.finish().expect("writing to memory cannot fail")
}

fn brotli(quality: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder =
        brotli::CompressorWriter::new(&mut out, BROTLI_BUFFER, quality, BROTLI_WINDOW);
    encoder.write_all(bytes).expect("writing to memory cannot fail");
    drop(encoder);
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Brotli,
    Gzip,
    Identity,
}

/// The best coding among those taken (RFC 9110, 12.5.3): `q=0` refuses one; our order decides among the rest.
fn coding(asked: &HeaderMap) -> Coding {
    let taken = |name: &str| {
        asked
            .get_all(ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|item| {
                let mut parts = item.split(';').map(str::trim);
                let named = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case(name));
                named && !parts.any(refuses)
            })
    };
    if taken("br") {
        Coding::Brotli
    } else if taken("gzip") {
        Coding::Gzip
    } else {
        Coding::Identity
    }
}

fn refuses(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_best_coding_that_is_not_refused() {
        for (value, want) in [
            ("gzip, deflate, br, zstd", Coding::Brotli),
            ("gzip", Coding::Gzip),
            ("GZIP;q=0.5, br;q=0", Coding::Gzip),
            ("br; q=0.0, gzip; q=0", Coding::Identity),
            ("brotli", Coding::Identity),
            ("", Coding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(coding(&headers), want, "{value:?}");
        }
        assert_eq!(coding(&HeaderMap::new()), Coding::Identity);
    }

    #[test]
    fn all_forms_give_the_same_text() {
        let text = "대기실 ".repeat(1_000);
        for body in [Encoded::new(text.clone()), Encoded::quickly(text.clone())] {
            let mut unzipped = String::new();
            flate2::read::GzDecoder::new(&body.gzip[..])
                .read_to_string(&mut unzipped)
                .expect("gzip");
            let mut unbrotlied = String::new();
            brotli::Decompressor::new(&body.brotli[..], BROTLI_BUFFER)
                .read_to_string(&mut unbrotlied)
                .expect("brotli");
            assert!(unzipped == text && unbrotlied == text && body.identity == text);
            assert!(body.brotli.len() < text.len() / 10);
        }
    }
}
