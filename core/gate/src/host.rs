//! The name a request is addressed to, without what does not tell sites apart: case, port, the root's dot.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Bytes of a name in the DNS at most (RFC 1035, 2.3.4).
const HOST_MAX_BYTES: usize = 253;
/// Digits of a port at most.
const PORT_MAX_DIGITS: usize = 5;

/// A host in lower case, without port and trailing dot; an IPv6 address in its brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(String);

/// Not a host, or one that two readers could take for different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("is no host name or address, with or without a port")]
pub struct HostError;

impl Host {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Host {
    type Err = HostError;

    /// Reads `name`, `name:port`, `[address]` or `[address]:port`.
    fn from_str(text: &str) -> Result<Host, HostError> {
        let (name, port) = split(text).ok_or(HostError)?;
        let is_port =
            port.len() <= PORT_MAX_DIGITS && port.bytes().all(|byte| byte.is_ascii_digit());
        if !is_port {
            return Err(HostError);
        }
        if let Some(address) = name.strip_prefix('[') {
            // The one spelling of an address that has many.
            let address = address.strip_suffix(']').ok_or(HostError)?;
            let address: std::net::Ipv6Addr = address.parse().map_err(|_| HostError)?;
            return Ok(Host(format!("[{address}]")));
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        let label = |label: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !label.is_empty() && label.bytes().all(fits)
        };
        if name.len() > HOST_MAX_BYTES || !name.split('.').all(label) {
            return Err(HostError);
        }
        Ok(Host(name.to_ascii_lowercase()))
    }
}

/// Name and port; the port is empty where there is none.
fn split(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let end = text.find(']')? + 1;
        let (name, rest) = text.split_at(end);
        return match rest {
            "" => Some((name, "")),
            _ => Some((name, rest.strip_prefix(':')?)),
        };
    }
    Some(text.split_once(':').unwrap_or((text, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_host_are_one() {
        for text in [
            "shop.example",
            "SHOP.example",
            "shop.example.",
            "shop.example:80",
            "Shop.Example.:443",
        ] {
            assert_eq!(
                text.parse::<Host>().map(|host| host.to_string()),
                Ok("shop.example".into()),
                "{text}"
            );
        }
        for text in ["[::1]", "[0:0:0:0:0:0:0:1]:8080", "[::0001]"] {
            assert_eq!(
                text.parse::<Host>().map(|host| host.to_string()),
                Ok("[::1]".into()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_no_host() {
        let long = "a".repeat(254);
        for text in [
            "",
            ".",
            "a..b",
            ".a",
            "a,b",
            "a b",
            " a",
            "a\t",
            "a@b",
            "a/b",
            "a\\b",
            "a:b",
            "a:80:80",
            "a:999999",
            "[::1",
            "[::1]80",
            "[evil]",
            "쇼핑.example",
            "a%2eb",
            "a\0",
            &long,
        ] {
            assert_eq!(text.parse::<Host>(), Err(HostError), "{text:?}");
        }
    }
}
