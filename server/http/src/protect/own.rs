//! What of Jari's own is served on the site's origin: what a visitor needs to wait. Nothing of operators and tenants.

use axum::Router;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Uri};

use super::PREFIX;
use crate::router::{beside_a_site, layered};
use crate::state::AppState;

/// The visitors' routes, without the prefix.
pub(super) fn router(state: AppState) -> Router {
    layered(beside_a_site(), state)
}

/// Whose a request is.
#[derive(Debug)]
pub(super) enum Whose<B> {
    /// Jari's own; the prefix is taken away.
    Ours(Request<B>),
    Site(Request<B>),
}

/// Whether a request asks for what is below the prefix.
pub(super) fn whose<B>(mut request: Request<B>) -> Whose<B> {
    let Some(uri) = below(request.uri()) else { return Whose::Site(request) };
    // Over HTTP/2 only the target names the host; forms are checked against the header.
    if let Some(authority) = request.uri().authority()
        && !request.headers().contains_key(HOST)
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = uri;
    Whose::Ours(request)
}

/// The address without the prefix, which counts only as it is written: any other spelling is the site's.
fn below(uri: &Uri) -> Option<Uri> {
    let path = uri.path().strip_prefix(PREFIX)?;
    let path = match path {
        "" => "/",
        _ if path.starts_with('/') => path,
        _ => return None,
    };
    let text = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let path: PathAndQuery = text.parse().ok()?;
    Some(Uri::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_prefix_is_ours() {
        for (uri, want) in [
            ("/.jari/rooms/a?x=1", Some("/rooms/a?x=1")),
            ("http://a.example/.jari/rooms/a", Some("/rooms/a")),
            ("/.jari", Some("/")),
            ("/.jari/", Some("/")),
            ("/.jarix", None),
            ("/.JARI/rooms/a", None),
            ("/%2ejari/rooms/a", None),
            ("//.jari/rooms/a", None),
            ("/", None),
        ] {
            let got = below(&uri.parse().expect("a URI")).map(|uri| uri.to_string());
            assert_eq!(got.as_deref(), want, "{uri}");
        }
    }
}
