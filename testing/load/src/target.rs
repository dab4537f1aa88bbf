//! Where load may go: loopback, nowhere else. A mistyped address must not become an attack on somebody.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use http::Uri;

/// A loopback address under `http://`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(pub(crate) SocketAddr);

/// The server of the connection with this number: each of them in turn.
pub(crate) fn in_turn(targets: &[Target], nth: usize) -> Target {
    // The command line asks for one at least.
    targets[nth % targets.len()]
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let uri: Uri = text.parse().with_context(|| format!("{text} is not a URL"))?;
        if uri.scheme_str() != Some("http") || !matches!(uri.path(), "" | "/") {
            bail!("{text}: give http://ADDRESS:PORT without a path");
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let ip = match host {
            // Not resolved: what the machine's hosts file says must not lead elsewhere.
            "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            literal => literal.parse().with_context(|| format!("{host} is not an IP address"))?,
        };
        if !ip.is_loopback() {
            bail!("{ip} is not loopback: this tool loads only the machine it runs on");
        }
        Ok(Target(SocketAddr::new(ip, uri.port_u16().unwrap_or(80))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_go_to_each_server_in_turn() {
        let two =
            ["http://127.0.0.1:1", "http://127.0.0.1:2"].map(|url| url.parse().expect("good"));
        let ports: Vec<u16> = (0..5).map(|nth| in_turn(&two, nth).0.port()).collect();
        assert_eq!(ports, [1, 2, 1, 2, 1]);
    }

    #[test]
    fn only_loopback_is_taken() {
        for (text, want) in [
            ("http://127.0.0.1:8080", Some("127.0.0.1:8080")),
            ("http://127.9.9.9:1/", Some("127.9.9.9:1")),
            ("http://localhost:81", Some("127.0.0.1:81")),
            ("http://[::1]:8080", Some("[::1]:8080")),
            ("http://192.168.0.1:8080", None),
            ("http://0.0.0.0:8080", None),
            ("http://[::ffff:8.8.8.8]:80", None),
            ("http://example.org", None),
            ("http://localhost.example.org", None),
            ("http://127.0.0.1@example.org", None),
            ("https://127.0.0.1:8080", None),
            ("http://127.0.0.1:8080/v1", None),
            ("127.0.0.1:8080", None),
        ] {
            let got = text.parse::<Target>().ok().map(|target| target.0.to_string());
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }
}
