//! Whether an address from outside may be gone to: on an origin that is our own, or below a return URL that a tenant has
//! registered. Anything else would be an open redirect. Sends nobody anywhere.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use url::Url;

use crate::origin::{Origin, OriginError};
use crate::pattern::{Letters, Pattern};
use crate::spelling::{decoded, is_dots};
use crate::target::Target;

/// Return URLs of a tenant at most: each is compared with every address.
pub const RETURN_URLS_MAX: usize = 32;
/// Bytes of a return URL at most: an origin and a folder.
pub const RETURN_URL_MAX_BYTES: usize = 512;
/// Bytes of an address that is judged. Longer ones are not carried through a room: with them, cookies and the page's own
/// address would be longer than proxies take.
pub const ADDRESS_MAX_BYTES: usize = 2_000;

/// What a tenant has registered: everything on this origin at this path and below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnUrl {
    /// In one spelling: the host in ASCII and lower case, no default port.
    text: String,
    origin: Origin,
    /// `None`: the whole origin.
    below: Option<Pattern>,
}

/// Why a text is no return URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReturnUrlError {
    #[error("is longer than {RETURN_URL_MAX_BYTES} bytes")]
    TooLong,
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("has a query or a fragment: give an origin and a path")]
    NotOnlyPath,
    #[error("has a path that is not plain: without '*', ';', '//', '..' and encoded signs")]
    Path,
}

/// An address that somebody may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Path and query on the origin that it was asked for on.
    Path(String),
    Url(Url),
}

/// Where visitors of a room may be sent.
#[derive(Clone, Debug, Default)]
pub struct Destinations<'a> {
    /// Ours: of the room's target, of the site that is protected.
    pub origins: Vec<Origin>,
    /// What the room's tenant has registered.
    pub registered: &'a [ReturnUrl],
}

impl ReturnUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a URL lies at its path or below, to whoever reads it.
    fn covers(&self, url: &Url, origin: &Origin) -> bool {
        if self.origin != *origin {
            return false;
        }
        let Some(below) = &self.below else { return true };
        let read = Target::read(url.path());
        read.is_ok_and(|path| {
            path.readings().iter().all(|(letters, path)| below.matches(path, *letters))
        })
    }
}

impl Destination {
    /// Whether a reader finds it within `folder`, on whichever host. What cannot be read with certainty is not, unless it
    /// begins so.
    #[must_use]
    pub fn is_within(&self, folder: &Pattern) -> bool {
        let Some(path) = self.path() else { return false };
        let begins = || {
            let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            folders.any(|begin| folder.matches(begin, Letters::AsTheyAre))
        };
        match Target::read(&path) {
            Ok(read) => {
                read.readings().iter().any(|(letters, path)| folder.matches(path, *letters))
            }
            Err(_) => begins(),
        }
    }

    /// What is named right below `folder`, by each reader that finds it there, on whichever host: `a` of `/rooms/a/go` below
    /// `/rooms/`. Nothing where it cannot be read with certainty.
    #[must_use]
    pub fn named_below(&self, folder: &str) -> BTreeSet<String> {
        let read = self.path().and_then(|path| Target::read(&path).ok());
        let readings = read.iter().flat_map(Target::readings);
        let below = readings.filter_map(|(_, path)| path.strip_prefix(folder));
        below.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect()
    }

    /// As a browser asks for it: dots taken out, and encoded.
    fn path(&self) -> Option<String> {
        match self {
            Destination::Url(url) => Some(url.path().to_owned()),
            Destination::Path(path) => Some(base()?.join(path).ok()?.path().to_owned()),
        }
    }
}

impl fmt::Display for ReturnUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ReturnUrl {
    type Err = ReturnUrlError;

    fn from_str(text: &str) -> Result<ReturnUrl, ReturnUrlError> {
        if text.len() > RETURN_URL_MAX_BYTES {
            return Err(ReturnUrlError::TooLong);
        }
        if text.contains(['?', '#']) {
            return Err(ReturnUrlError::NotOnlyPath);
        }
        let url = absolute(text).ok_or(OriginError::NotHttp)?;
        let origin = Origin::of(&url)?.registered()?;
        let below = match plain_path(text, &url)?.trim_end_matches('/') {
            "" => None,
            // A folder covers itself.
            path => Some(format!("{path}/*").parse().map_err(|_| ReturnUrlError::Path)?),
        };
        Ok(ReturnUrl { text: url.into(), origin, below })
    }
}

/// The path of a return URL, decoded. The parser has taken dots out of it: who writes them means something else than is
/// read.
fn plain_path(text: &str, url: &Url) -> Result<String, ReturnUrlError> {
    let written = text.splitn(4, '/').nth(3).unwrap_or_default();
    let read = decoded(written).map_err(|_| ReturnUrlError::Path)?;
    let slashes = |text: &str| text.matches('/').count();
    let odd =
        read.split('/').any(is_dots) || slashes(&read) != slashes(written) || read.contains('*');
    if odd || url.path().contains("//") {
        return Err(ReturnUrlError::Path);
    }
    decoded(url.path()).map_err(|_| ReturnUrlError::Path)
}

impl Destinations<'_> {
    /// The address in the one spelling in which it may be gone to; `None`: not at all.
    #[must_use]
    pub fn judge(&self, address: &str) -> Option<Destination> {
        if address.len() > ADDRESS_MAX_BYTES {
            return None;
        }
        // Browsers drop tabs and line ends, and take a backslash for a slash.
        if address.chars().any(|c| c.is_control() || c == '\\') {
            return None;
        }
        if address.starts_with('/') {
            return is_path(address).then(|| Destination::Path(address.to_owned()));
        }
        let url = absolute(address)?;
        let origin = Origin::of(&url).ok()?;
        let ours = self.origins.contains(&origin)
            || self.registered.iter().any(|it| it.covers(&url, &origin));
        ours.then_some(Destination::Url(url))
    }
}

/// Whether an address stays on the origin that it is read on.
fn is_path(address: &str) -> bool {
    // "//host" is another host, and so is what becomes it once dots are taken out and somebody forgets the rest.
    let base = base();
    let read = base.as_ref().and_then(|base| base.join(address).ok());
    let stays = |url: &Url| Some(url.origin()) == base.as_ref().map(Url::origin);
    read.is_some_and(|url| stays(&url) && !url.path().starts_with("//"))
}

/// A page on nobody's origin, to read a path from.
fn base() -> Option<Url> {
    Url::parse("http://a.invalid/").ok()
}

/// A URL that says its scheme and host in the one way that every reader understands: no `https:host`, no `https:///host`,
/// and nobody before an `@`.
fn absolute(text: &str) -> Option<Url> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| {
        text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    })?;
    let rest = &text[scheme.len()..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '@' | '%' | '*' | '\\');
    if authority.is_empty() || authority.contains(odd) {
        return None;
    }
    Url::parse(text).ok()
}

#[cfg(test)]
#[path = "return_urls_tests.rs"]
mod tests;
