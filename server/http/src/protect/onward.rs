//! The request as the site gets it: its address in one spelling, who asks, and whose pass it was. Sends nothing.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, FORWARDED, HOST, VIA};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, Version};
use jari_api::Code;
use jari_pass::PassToken;
use jari_ports::RoomDefinition;
use jari_units::Timestamp;

use super::addressed::{Addressed, bad};
use super::options::HostHeader;
use super::{Site, cookie_jar, names, tunnel};
use crate::client_address::client_address;
use crate::gate::Passage;
use crate::header_text::{elements, in_one_piece};
use crate::identity;
use crate::problem_response::Refusal;
use crate::state::AppState;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How this proxy is called in `Via`.
const PSEUDONYM: &str = "jari";
const VIA_HTTP1: HeaderValue = HeaderValue::from_static("1.1 jari");
const VIA_HTTP2: HeaderValue = HeaderValue::from_static("2 jari");
/// Proxies of this name in a row at most: more is a site that is configured to be behind itself.
const HOPS_MAX: usize = 8;

/// Who asks, as far as it can be known.
#[derive(Clone, Debug)]
struct Asker {
    address: IpAddr,
    from_trusted: bool,
    https: bool,
}

/// Turns a visitor's request, sent by `peer`, into the site's. `passage` is what the gate said of it, where it was asked.
///
/// # Errors
/// 508 where the request has come through here too often; 400 where its address makes no URI.
pub(super) fn request(
    state: &AppState,
    site: &Site,
    (mut parts, peer): (Parts, IpAddr),
    addressed: &Addressed,
    passage: Option<&(Arc<RoomDefinition>, Passage)>,
) -> Result<Parts, Refusal> {
    let hops = elements(&parts.headers, VIA, b',').flatten();
    if hops.filter(|via| is_ours(via)).count() >= HOPS_MAX {
        return Err(Refusal::new(Code::LoopDetected));
    }
    let asker = asker(state, site, &parts.headers, peer);
    let websocket = tunnel::asked(&parts).is_some();
    let version = parts.version;
    let headers = &mut parts.headers;
    hide_pass(state, headers);
    names::remove_claims(headers, asker.from_trusted);
    cookie_jar::hide(headers);
    tell_host(site, headers, addressed)?;
    tell_asker(headers, &asker, addressed)?;
    if let Some((room, passage)) = passage {
        passage.tell_site(&room.id, headers);
    }
    headers.append(VIA, if version == Version::HTTP_2 { VIA_HTTP2 } else { VIA_HTTP1 });
    if websocket {
        tunnel::tell_switch(headers);
    }
    parts.uri = uri(&parts.uri, addressed)?;
    parts.version = Version::HTTP_11;
    Ok(parts)
}

fn is_ours(via: &str) -> bool {
    via.split_whitespace().nth(1) == Some(PSEUDONYM)
}

fn value(text: Bytes) -> Result<HeaderValue, Refusal> {
    HeaderValue::from_maybe_shared(text).map_err(|_| bad("the host is no text"))
}

fn asker(state: &AppState, site: &Site, headers: &HeaderMap, peer: IpAddr) -> Asker {
    let options = &state.options;
    let peer = peer.to_canonical();
    let from_trusted = options.trusted_proxies.iter().any(|net| net.contains(&peer));
    let told = headers.get(X_FORWARDED_PROTO).and_then(|value| value.to_str().ok());
    let https = match told.filter(|_| from_trusted) {
        Some(proto) => proto.eq_ignore_ascii_case("https"),
        None => site.options.public_url.scheme() == "https",
    };
    let address = client_address(peer, headers, &options.trusted_proxies, options.forwarded_header);
    Asker { address, from_trusted, https }
}

/// A bearer that is a pass of ours is nothing for the site; any other is the site's own.
fn hide_pass(state: &AppState, headers: &mut HeaderMap) {
    let ours = identity::bearer(headers)
        .is_some_and(|text| state.keys().open::<PassToken>(text, Timestamp(0)).is_ok());
    if ours {
        headers.remove(AUTHORIZATION);
    }
}

fn tell_host(site: &Site, headers: &mut HeaderMap, addressed: &Addressed) -> Result<(), Refusal> {
    let host = match site.options.host_header {
        HostHeader::Keep => addressed.authority.as_str(),
        HostHeader::Upstream => site.authority.as_str(),
    };
    if headers.get(HOST).is_none_or(|said| said != host) {
        headers.insert(HOST, value(Bytes::copy_from_slice(host.as_bytes()))?);
    }
    Ok(())
}

/// One address, which is believed here, and not the list that anybody may have begun.
fn tell_asker(
    headers: &mut HeaderMap,
    asker: &Asker,
    addressed: &Addressed,
) -> Result<(), Refusal> {
    let proto = if asker.https { "https" } else { "http" };
    let (address, host) = (asker.address.to_string(), addressed.authority.as_str());
    let (open, close) = if asker.address.is_ipv6() { ("\"[", "]\"") } else { ("", "") };
    let parts = ["for=", open, &address, close, ";host=\"", host, "\";proto=", proto].concat();
    let [forwarded, address, host] = in_one_piece([&parts, &address, host]);
    headers.insert(FORWARDED, value(forwarded)?);
    headers.insert(X_FORWARDED_FOR, value(address)?);
    headers.insert(X_FORWARDED_HOST, value(host)?);
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
    Ok(())
}

/// The site's own form of the address: path and query, in the spelling that was judged.
fn uri(asked: &Uri, addressed: &Addressed) -> Result<Uri, Refusal> {
    let path_and_query = &addressed.path_and_query;
    if let Some(same) = asked.path_and_query().filter(|asked| asked.as_str() == path_and_query) {
        return Ok(Uri::from(same.clone()));
    }
    let path: PathAndQuery = path_and_query
        .parse()
        .map_err(|_| bad("the path makes no address once it is written plainly"))?;
    Ok(Uri::from(path))
}
