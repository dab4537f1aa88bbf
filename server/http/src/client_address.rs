//! The client's address: the peer's, or what the configured trusted hops say. Believes no header from anybody else.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use http::header::FORWARDED;
use ipnet::IpNet;

use crate::header_text::elements;
use crate::options::ForwardedHeader;

/// Addresses in one header at most: nobody runs more proxies in a row; the rest was invented by the client.
const HOPS_MAX: usize = 16;

/// The address a connection came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub SocketAddr);

/// Walks back from the peer over trusted hops; the first that is not trusted is the client.
#[must_use]
pub(crate) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &[IpNet],
    header: ForwardedHeader,
) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let peer = peer.to_canonical();
    if !is_trusted(&peer) {
        return peer;
    }
    let mut client = peer;
    for hop in hops(headers, header).into_iter().rev().take(HOPS_MAX) {
        // What a trusted hop could not name is unknown: the hop itself then stands for its clients.
        let Some(hop) = hop else { break };
        client = hop;
        if !is_trusted(&client) {
            break;
        }
    }
    client
}

/// The addresses in the header, in order; `None` for what is no address.
fn hops(headers: &HeaderMap, header: ForwardedHeader) -> Vec<Option<IpAddr>> {
    let name = match header {
        ForwardedHeader::XForwardedFor => "x-forwarded-for",
        ForwardedHeader::Forwarded => FORWARDED.as_str(),
    };
    let address = |element: &str| match header {
        ForwardedHeader::XForwardedFor => address(element),
        ForwardedHeader::Forwarded => {
            let pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
            let (_, node) = pairs.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
            address(node.trim_matches('"'))
        }
    };
    // One by one: a client who begins the line with bytes that are no text would else be taken for the proxy.
    elements(headers, name, b',').map(|element| element.and_then(address)).collect()
}

/// An address with or without a port, IPv6 with or without brackets.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = |text: &str| text.parse::<IpAddr>().ok();
    let with_port = |text: &str| text.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let bracketed = || bare(text.strip_prefix('[')?.strip_suffix(']')?);
    bare(text).or_else(|| with_port(text)).or_else(bracketed).map(|address| address.to_canonical())
}

/// Whom a limit counts together: an IPv4 address, or the /64 that one IPv6 household or phone has.
#[must_use]
pub(crate) fn limit_key(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 64 << 64,
    }
}

/// The network that an address is counted with: the /24 of an IPv4 address, the /48 of an IPv6 address, which is what a
/// house or a hosting provider's customer has at most. A /56 between the two would hold nobody whom they do not.
#[must_use]
pub(crate) fn network_key(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits() >> 8 << 8,
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6) >> 80 << 80,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client(peer: &str, name: &'static str, lines: &[&str], header: ForwardedHeader) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_str(line).expect("a header"));
        }
        let trusted: Vec<IpNet> =
            ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().expect("a net")).into();
        let peer = peer.parse().expect("an address");
        client_address(peer, &headers, &trusted, header).to_string()
    }

    #[test]
    fn only_trusted_hops_are_believed() {
        use ForwardedHeader::XForwardedFor;
        for (peer, lines, want) in [
            // Nobody in front: whatever the header says.
            ("203.0.113.9", vec!["1.2.3.4"], "203.0.113.9"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec!["1.2.3.4"], "1.2.3.4"),
            ("::ffff:10.0.0.1", vec!["1.2.3.4"], "1.2.3.4"),
            // The client wrote the first two itself.
            ("10.0.0.1", vec!["6.6.6.6, 10.9.9.9, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
            ("10.0.0.1", vec!["6.6.6.6", "1.2.3.4", "10.0.0.2"], "1.2.3.4"),
            ("10.0.0.1", vec!["1.2.3.4:5678"], "1.2.3.4"),
            ("fd00::1", vec!["2001:db8::7"], "2001:db8::7"),
            ("fd00::1", vec!["[2001:db8::7]:443"], "2001:db8::7"),
            // Something unreadable next to the proxy: the proxy stands for it.
            ("10.0.0.1", vec!["1.2.3.4, unknown"], "10.0.0.1"),
            ("10.0.0.1", vec!["10.0.0.5, 10.0.0.4"], "10.0.0.5"),
        ] {
            assert_eq!(client(peer, "x-forwarded-for", &lines, XForwardedFor), want, "{lines:?}");
        }
    }

    /// A proxy appends to what the client wrote, in the same line.
    #[test]
    fn what_a_client_wrote_hides_no_address_behind_it() {
        use ForwardedHeader::{Forwarded, XForwardedFor};
        let trusted = ["10.0.0.0/8".parse().expect("a net")];
        let peer = "10.0.0.1".parse().expect("an address");
        for (name, header, line) in [
            ("x-forwarded-for", XForwardedFor, &b"\xff, 1.2.3.4, 10.0.0.2"[..]),
            ("x-forwarded-for", XForwardedFor, "홍, 1.2.3.4".as_bytes()),
            ("forwarded", Forwarded, b"for=\xff, for=1.2.3.4"),
            ("forwarded", Forwarded, b"\xff=1, for=1.2.3.4;by=10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(name, HeaderValue::from_bytes(line).expect("a value"));
            let client = client_address(peer, &headers, &trusted, header);
            assert_eq!(client.to_string(), "1.2.3.4", "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn the_standard_header_is_read_where_it_is_the_configured_one() {
        use ForwardedHeader::{Forwarded, XForwardedFor};
        for (line, want) in [
            ("for=1.2.3.4;proto=https;by=10.0.0.1", "1.2.3.4"),
            (r#"for="[2001:db8::7]:4711""#, "2001:db8::7"),
            ("For=6.6.6.6, for=1.2.3.4, for=10.0.0.2", "1.2.3.4"),
            ("proto=https", "10.0.0.1"),
            ("for=_hidden", "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", "forwarded", &[line], Forwarded), want, "{line}");
        }
        assert_eq!(client("10.0.0.1", "forwarded", &["for=1.2.3.4"], XForwardedFor), "10.0.0.1");
    }

    #[test]
    fn ipv6_counts_by_household() {
        let key = |text: &str| limit_key(text.parse().expect("an address"));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_ne!(key("1.2.3.4"), key("1.2.3.5"));
        assert_eq!(key("1.2.3.4"), key("::ffff:1.2.3.4"));
    }

    #[test]
    fn a_network_is_a_24_or_a_48() {
        let key = |text: &str| network_key(text.parse().expect("an address"));
        assert_eq!(key("1.2.3.4"), key("1.2.3.255"));
        assert_ne!(key("1.2.3.4"), key("1.2.4.4"));
        assert_eq!(key("1.2.3.4"), key("::ffff:1.2.3.9"));
        assert_eq!(key("2001:db8:1::1"), key("2001:db8:1:ffff::9"));
        assert_ne!(key("2001:db8:1::1"), key("2001:db8:2::1"));
    }
}
