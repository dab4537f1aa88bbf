//! The headers that keep a page from being framed, scripted or posted to from elsewhere. Knows no identity.

use axum::response::Response;
use http::header::{
    CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// Nothing inline, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A form's `Origin` would be `null` under a stricter referrer policy, and then could not be checked.
const REFERRER: &str = "same-origin";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static(REFERRER));
    response
}

/// Whether a form was sent by one of our own pages. Cookies are SameSite=Lax already; this also stops a neighbouring
/// subdomain. Browsers send `Origin` with every POST; where one does not, `Sec-Fetch-Site` must not speak against it.
/// `public_url` counts as well as `Host`: a proxy may write its own name there, and HTTP/2 has no such header.
pub(super) fn same_origin(headers: &HeaderMap, public_url: &Url) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match (headers.get(ORIGIN), text(&SEC_FETCH_SITE)) {
        (Some(_), _) => {
            let public = public_url.origin().ascii_serialization();
            let ours = |origin: &str| {
                let host = origin.split_once("://").map(|(_, host)| host);
                origin == public || (host.is_some() && host == text(&HOST))
            };
            text(&ORIGIN).is_some_and(ours)
        }
        (None, Some(site)) => site == "same-origin",
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_may_post() {
        for (origin, site, want) in [
            (Some("https://jari.example:8080"), None, true),
            (Some("https://evil.example"), None, false),
            (Some("https://jari.example:8080.evil.example"), None, false),
            (Some("null"), None, false),
            (Some("https://sub.jari.example:8080"), Some("same-site"), false),
            (None, Some("same-origin"), true),
            (None, Some("cross-site"), false),
            (None, None, true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("jari.example:8080"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            if let Some(site) = site {
                headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            let public_url = "http://127.0.0.1:8080/".parse().expect("a URL");
            assert_eq!(same_origin(&headers, &public_url), want, "{origin:?} {site:?}");
        }
    }

    /// nginx sends its upstream's name as `Host` unless it is told otherwise; HTTP/2 sends none.
    #[test]
    fn a_proxy_that_hides_the_host_hides_no_form() {
        let public_url: Url = "https://jari.example/wait".parse().expect("a URL");
        for host in [Some("upstream:8080"), None] {
            for (origin, want) in [("https://jari.example", true), ("http://jari.example", false)] {
                let mut headers = HeaderMap::new();
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
                if let Some(host) = host {
                    headers.insert(HOST, HeaderValue::from_static(host));
                }
                assert_eq!(same_origin(&headers, &public_url), want, "{origin} {host:?}");
            }
        }
    }
}
