//! A web origin as browsers write it: scheme, host and port. Which origins may do what is others' business.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;
use url::{Host, Url};

/// Origins of a tenant at most that may call from browsers.
pub const ORIGINS_MAX: usize = 32;
/// Bytes of an origin at most: a scheme, a name of the DNS and a port.
const ORIGIN_MAX_BYTES: usize = 270;

/// An origin in the one spelling that browsers send: the host in ASCII and lower case, no default port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(String);

/// Why a text is no origin that can be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginError {
    #[error("is longer than {ORIGIN_MAX_BYTES} bytes")]
    TooLong,
    #[error("is no https address: write https://HOST, with a port where it has one")]
    NotHttp,
    #[error(
        "is http, which is taken for loopback addresses only: anybody on the way could be the site"
    )]
    Plain,
    #[error("has a user name or password")]
    User,
    #[error("has a path or a query: an origin is https://HOST, with a port where it has one")]
    NotOnlyOrigin,
}

impl Origin {
    /// The origin of a URL.
    ///
    /// # Errors
    /// [`OriginError::NotHttp`], or [`OriginError::User`]: what is before an `@` is for deceiving people.
    pub fn of(url: &Url) -> Result<Origin, OriginError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OriginError::NotHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::User);
        }
        Ok(Origin(url.origin().ascii_serialization()))
    }

    /// The same, where it may be registered: over TLS, or on this machine.
    pub(crate) fn registered(self) -> Result<Origin, OriginError> {
        let url = Url::parse(&self.0).map_err(|_| OriginError::NotHttp)?;
        let local = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => Ipv4Addr::is_loopback(&address),
            Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
            None => false,
        };
        if url.scheme() == "http" && !local { Err(OriginError::Plain) } else { Ok(self) }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    /// Reads an origin to be registered: exact, neither `*` nor `null`.
    fn from_str(text: &str) -> Result<Origin, OriginError> {
        if text.len() > ORIGIN_MAX_BYTES {
            return Err(OriginError::TooLong);
        }
        let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '*' | '%' | '\\');
        let (scheme, rest) = text.split_once("://").ok_or(OriginError::NotHttp)?;
        if rest.is_empty() || rest.contains(odd) || !matches!(scheme, "http" | "https") {
            return Err(OriginError::NotHttp);
        }
        if rest.contains('@') {
            return Err(OriginError::User);
        }
        if rest.strip_suffix('/').unwrap_or(rest).contains(['/', '?', '#']) {
            return Err(OriginError::NotOnlyOrigin);
        }
        let url = Url::parse(text).map_err(|_| OriginError::NotHttp)?;
        Origin::of(&url)?.registered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_registered_in_the_spelling_that_browsers_send() {
        for (text, want) in [
            ("https://shop.example", "https://shop.example"),
            ("https://SHOP.example:443/", "https://shop.example"),
            ("https://shop.example:8443", "https://shop.example:8443"),
            ("https://한국.example", "https://xn--3e0b707e.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
        ] {
            let origin = text.parse::<Origin>().map(|origin| origin.to_string());
            assert_eq!(origin.as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_not_one_exact_origin_is_refused() {
        let long = format!("https://{}", "a".repeat(ORIGIN_MAX_BYTES));
        for (text, want) in [
            ("*", OriginError::NotHttp),
            ("null", OriginError::NotHttp),
            ("", OriginError::NotHttp),
            ("https://", OriginError::NotHttp),
            ("https:shop.example", OriginError::NotHttp),
            ("https://*.example", OriginError::NotHttp),
            ("https://shop.example https://b.example", OriginError::NotHttp),
            ("ftp://shop.example", OriginError::NotHttp),
            ("https:///shop.example", OriginError::NotOnlyOrigin),
            ("https://shop.example/x", OriginError::NotOnlyOrigin),
            ("https://shop.example?x", OriginError::NotOnlyOrigin),
            ("https://shop.example#x", OriginError::NotOnlyOrigin),
            ("https://a@shop.example", OriginError::User),
            ("http://shop.example", OriginError::Plain),
            ("http://127.0.0.1.example", OriginError::Plain),
            ("http://localhost.example", OriginError::Plain),
            (&long, OriginError::TooLong),
        ] {
            assert_eq!(text.parse::<Origin>(), Err(want), "{text}");
        }
    }
}
