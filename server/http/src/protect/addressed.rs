//! Where a request goes: one host, one path, read without doubt, or not at all. Knows no rule.

use http::header::HOST;
use http::request::Parts;
use http::{Method, Uri};
use jari_api::Code;
use jari_gate::{Host, Target};

use crate::problem_response::Refusal;

/// A request's address, as every server behind would read it.
#[derive(Debug)]
pub(super) struct Addressed {
    /// The host as the visitor wrote it, with its port.
    pub(super) authority: String,
    pub(super) host: Host,
    pub(super) target: Target,
    /// Path and query in the spelling that is sent on.
    pub(super) path_and_query: String,
}

/// Reads host and path.
///
/// # Errors
/// 400 `bad_target` where two servers could read them differently; 405 for methods that are no business of a site.
pub(super) fn read(parts: &Parts) -> Result<Addressed, Refusal> {
    // TRACE shows what others must not read, and CONNECT opens a way to elsewhere.
    if matches!(parts.method, Method::TRACE | Method::CONNECT) {
        return Err(Refusal::new(Code::MethodNotAllowed));
    }
    let authority = authority(parts)?;
    let host = authority.parse().map_err(|error| bad(format!("the host {error}")))?;
    let target = Target::read(parts.uri.path()).map_err(|unclear| bad(unclear.to_string()))?;
    let path_and_query = match parts.uri.query() {
        Some(query) => format!("{}?{query}", target.as_sent()),
        None => target.as_sent().to_owned(),
    };
    Ok(Addressed { authority, host, target, path_and_query })
}

/// The refusal of an address that cannot be read without doubt.
pub(super) fn bad(why: impl Into<String>) -> Refusal {
    Refusal::new(Code::BadTarget).detail(why)
}

/// The one host that the request names, in its line or its headers.
fn authority(parts: &Parts) -> Result<String, Refusal> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let header = hosts.next();
    if hosts.next().is_some() {
        return Err(bad("there is more than one Host"));
    }
    let header = match header.map(|value| value.to_str()) {
        Some(Ok(text)) => Some(text),
        Some(Err(_)) => return Err(bad("the host is no text")),
        None => None,
    };
    match (in_line(&parts.uri)?, header) {
        // RFC 9112, 3.2.2 lets the line win; whoever sends two different ones hopes that somebody reads the other.
        (Some(line), Some(header)) if !line.eq_ignore_ascii_case(header) => {
            Err(bad("the request's line and its Host name different hosts"))
        }
        (Some(line), _) => Ok(line.to_owned()),
        (None, Some(header)) => Ok(header.to_owned()),
        (None, None) => Err(bad("there is no Host")),
    }
}

/// The host in an absolute-form target, or in HTTP/2's `:authority`.
fn in_line(uri: &Uri) -> Result<Option<&str>, Refusal> {
    match uri.scheme_str() {
        None | Some("http" | "https") => {}
        Some(_) => return Err(bad("the scheme is neither http nor https")),
    }
    Ok(uri.authority().map(http::uri::Authority::as_str))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(method: &str, uri: &str, hosts: &[&str]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn read_as(method: &str, uri: &str, hosts: &[&str]) -> Result<(String, String), Code> {
        let read = read(&parts(method, uri, hosts)).map_err(|refusal| refusal.code())?;
        Ok((read.host.to_string(), read.path_and_query))
    }

    #[test]
    fn one_host_and_one_path_are_read() {
        let want = Ok(("a.example".to_owned(), "/x?q=%2e".to_owned()));
        for (uri, hosts) in [
            ("/%78?q=%2e", &["A.example.:8080"][..]),
            ("http://a.example/x?q=%2e", &["a.example"]),
            ("https://a.example/x?q=%2e", &[]),
        ] {
            assert_eq!(read_as("GET", uri, hosts), want, "{uri} {hosts:?}");
        }
    }

    #[test]
    fn what_two_servers_could_read_differently_is_refused() {
        for (uri, hosts) in [
            ("/", &[][..]),
            ("/", &["a.example", "a.example"]),
            ("/", &["a.example", "b.example"]),
            ("/", &["a.example, b.example"]),
            ("/", &["user@a.example"]),
            ("/", &[""]),
            ("http://a.example/", &["b.example"]),
            ("http://user@a.example/", &["user@a.example"]),
            ("ftp://a.example/", &["a.example"]),
            ("*", &["a.example"]),
            ("/a/../b", &["a.example"]),
        ] {
            assert_eq!(read_as("GET", uri, hosts), Err(Code::BadTarget), "{uri} {hosts:?}");
        }
        assert_eq!(read_as("TRACE", "/", &["a.example"]), Err(Code::MethodNotAllowed));
        assert_eq!(read_as("CONNECT", "a.example:80", &[]), Err(Code::MethodNotAllowed));
    }
}
