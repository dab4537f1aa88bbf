//! The files that pages load: each under the hash of its content, so that browsers may keep it for good. No pages.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::bundle;
use super::encoded::Encoded;
use super::language::Language;
use super::security;
use crate::path::Path;

/// Bytes of the hash in the address: enough that two versions of one file never meet.
const HASH_BYTES: usize = 8;

pub(super) const FOR_GOOD: &str = "public, max-age=31536000, immutable";

const STYLE: &str = include_str!("../../../../web/room/room.css");
const ICON: &str = include_str!("../../../../web/room/icon.svg");

#[derive(Debug)]
struct Asset {
    hash: String,
    content_type: &'static str,
    body: Encoded,
}

static ASSETS: LazyLock<HashMap<&'static str, Asset>> = LazyLock::new(|| {
    let script = |language: Language| bundle::script(language.messages_json());
    HashMap::from([
        ("room.css", asset("text/css; charset=utf-8", STYLE.to_owned())),
        ("icon.svg", asset("image/svg+xml", ICON.to_owned())),
        ("proof.js", asset("text/javascript; charset=utf-8", bundle::proof())),
        ("room.ko.js", asset("text/javascript; charset=utf-8", script(Language::Ko))),
        ("room.en.js", asset("text/javascript; charset=utf-8", script(Language::En))),
    ])
});

fn asset(content_type: &'static str, text: String) -> Asset {
    let mut hash = String::new();
    for byte in &digest(&SHA256, text.as_bytes()).as_ref()[..HASH_BYTES] {
        write!(hash, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Asset { hash, content_type, body: Encoded::new(text) }
}

/// Compresses the files now rather than in the first visitor's request.
pub(super) fn prepare() {
    LazyLock::force(&ASSETS);
}

/// `root`: what this server's addresses begin with.
fn href(root: &str, name: &str) -> String {
    format!("{root}/assets/{}/{name}", ASSETS[name].hash)
}

pub(super) fn style_href(root: &str) -> String {
    href(root, "room.css")
}

pub(super) fn icon_href(root: &str) -> String {
    href(root, "icon.svg")
}

/// The work that a room may ask for.
pub(super) fn proof_href(root: &str) -> String {
    href(root, "proof.js")
}

pub(super) fn script_href(root: &str, language: Language) -> String {
    let name = match language {
        Language::Ko => "room.ko.js",
        Language::En => "room.en.js",
    };
    href(root, name)
}

/// `GET /assets/{hash}/{file}`. While nodes are being replaced a page of one may ask the other: it gets the file of that
/// name, to be used once and not kept.
pub(super) async fn get(Path((hash, file)): Path<(String, String)>, asked: HeaderMap) -> Response {
    let Some(asset) = ASSETS.get(file.as_str()) else {
        return security::protect(StatusCode::NOT_FOUND.into_response());
    };
    let caching = if asset.hash == hash { FOR_GOOD } else { "no-store" };
    let mut response = asset.body.response(&asked);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    security::protect(response)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All that a browser loads for one page, compressed, below this.
    const PAGE_MAX_BYTES: usize = 20_000;
    /// Of it, what the HTML itself may take (its own test holds it to that).
    pub(in crate::pages) const HTML_MAX_BYTES: usize = 3_000;

    #[test]
    fn a_page_is_small_in_either_coding() {
        for script in ["room.ko.js", "room.en.js"] {
            // The last one only where the room asks for its work.
            let names = ["room.css", "icon.svg", script, "proof.js"];
            let gzip: usize = names.iter().map(|name| ASSETS[name].body.gzip_len()).sum();
            let brotli: usize = names.iter().map(|name| ASSETS[name].body.brotli_len()).sum();
            assert!(gzip + HTML_MAX_BYTES < PAGE_MAX_BYTES, "{script}: {gzip} bytes");
            assert!(brotli < gzip, "{script}: {brotli} bytes");
        }
    }

    #[tokio::test]
    async fn files_are_kept_for_good_only_under_their_own_hash() {
        let get = |hash: &str, file: &str| {
            get(Path((hash.to_owned(), file.to_owned())), HeaderMap::new())
        };
        let mut parts = style_href("");
        parts = parts.trim_start_matches("/assets/").to_owned();
        let (hash, file) = parts.split_once('/').expect("hash and file");
        let found = get(hash, file).await;
        assert_eq!(found.headers()[CACHE_CONTROL], FOR_GOOD);
        assert_eq!(found.headers()[VARY], "accept-encoding");
        assert_eq!(get("0123", file).await.headers()[CACHE_CONTROL], "no-store");
        assert_eq!(get(hash, "../Cargo.toml").await.status(), StatusCode::NOT_FOUND);
    }
}
