//! `GET /admin`: the operator's page as `cargo xtask web` built it, or a page that says how to build it. Shows nothing of
//! any room by itself: its script asks the API with the operator's key.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::assets::FOR_GOOD;
use super::encoded::Encoded;
use super::security::protect;
use crate::path::Path;

/// Name and text of each built file; none where the page was not built.
type Files = &'static [(&'static str, &'static str)];

const BUILT: Files = include!(concat!(env!("OUT_DIR"), "/admin_files.rs"));
const INDEX: &str = "index.html";
/// What the authors of the packages in the page ask of those who pass them on.
const LICENSES: &str = "licenses.txt";
/// What the builder names by its content lies below this.
const HASHED: &str = "assets/";
const UNBUILT: &str = include_str!("../../../../web/admin/unbuilt.html");

/// The page's files, compressed at the first request: operators are few, and no server should start later for them.
static PAGE: OnceLock<Page> = OnceLock::new();

#[derive(Debug)]
struct Page(BTreeMap<&'static str, Encoded>);

impl Page {
    fn new(files: Files) -> Self {
        let built = files.iter().any(|(name, _)| *name == INDEX);
        let files = if built { files } else { &[(INDEX, UNBUILT)] };
        let encoded =
            files.iter().map(|(name, text)| (*name, Encoded::quickly((*text).to_owned())));
        Page(encoded.collect())
    }

    fn index(&self, asked: &HeaderMap) -> Response {
        self.file(INDEX, asked, "no-cache")
    }

    fn asset(&self, name: &str, asked: &HeaderMap) -> Response {
        self.file(&format!("{HASHED}{name}"), asked, FOR_GOOD)
    }

    fn file(&self, name: &str, asked: &HeaderMap, caching: &'static str) -> Response {
        let Some(body) = self.0.get(name) else {
            return protect(StatusCode::NOT_FOUND.into_response());
        };
        let mut response = body.response(asked);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        protect(response)
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        _ => "image/svg+xml",
    }
}

/// Compressing the whole page takes tens of milliseconds: not on a thread that serves visitors.
async fn page() -> Option<&'static Page> {
    let ready = || PAGE.get_or_init(|| Page::new(BUILT));
    match PAGE.get() {
        Some(page) => Some(page),
        None => tokio::task::spawn_blocking(ready).await.ok(),
    }
}

pub(super) async fn show(asked: HeaderMap) -> Response {
    page().await.map_or_else(failed, |page| page.index(&asked))
}

pub(super) async fn licenses(asked: HeaderMap) -> Response {
    page().await.map_or_else(failed, |page| page.file(LICENSES, &asked, "no-cache"))
}

pub(super) async fn asset(Path(file): Path<String>, asked: HeaderMap) -> Response {
    page().await.map_or_else(failed, |page| page.asset(&file, &asked))
}

fn failed() -> Response {
    protect(StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that a browser loads for the operator's page, compressed: a second on a slow phone network.
    const PAGE_MAX_BYTES: usize = 80_000;

    const FILES: Files = &[(INDEX, "<!doctype html>"), ("assets/index-a1b2.js", "let a;")];

    #[test]
    fn the_index_is_asked_for_anew_and_hashed_files_are_kept_for_good() {
        let (page, asked) = (Page::new(FILES), HeaderMap::new());
        let index = page.index(&asked);
        assert_eq!(index.headers()[CACHE_CONTROL], "no-cache");
        assert_eq!(index.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        let script = page.asset("index-a1b2.js", &asked);
        assert_eq!(script.headers()[CACHE_CONTROL], FOR_GOOD);
        assert_eq!(script.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        for missing in ["index-0000.js", "../index.html", ""] {
            assert_eq!(page.asset(missing, &asked).status(), StatusCode::NOT_FOUND, "{missing}");
        }
        for response in [index, script] {
            let policy = response.headers()["content-security-policy"].to_str().expect("text");
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
        }
    }

    #[test]
    fn without_the_built_page_it_says_how_to_build_it() {
        let page = Page::new(&[]);
        assert_eq!(page.index(&HeaderMap::new()).status(), StatusCode::OK);
        assert_eq!(page.0.len(), 1);
        assert!(UNBUILT.contains("cargo xtask web") && UNBUILT.contains("lang=\"ko\""));
    }

    #[test]
    fn a_built_page_is_whole_and_small() {
        if BUILT.is_empty() {
            // Nothing was built: the page above is served.
            return;
        }
        let page = Page::new(BUILT);
        let (_, index) = BUILT.iter().find(|(name, _)| *name == INDEX).expect("built with it");
        let named = index.split('"').filter_map(|text| text.strip_prefix("/admin/")).count();
        let known = index.split('"').filter_map(|text| text.strip_prefix("/admin/"));
        assert!(named >= 2 && known.clone().all(|name| page.0.contains_key(name)), "{index}");
        assert!(!index.contains("http://") && !index.contains("https://"), "{index}");
        let bytes: usize = page.0.values().map(Encoded::brotli_len).sum();
        assert!(bytes < PAGE_MAX_BYTES, "{bytes} bytes");
    }
}
