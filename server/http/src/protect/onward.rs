//! The request as the site gets it: its address in one spelling, who asks, and whose pass it was. Sends nothing.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, FORWARDED, HOST, VIA};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, Version};
use jari_api::Code;
use jari_pass::PassToken;
use jari_ports::RoomDefinition;
use jari_units::Timestamp;

use super::addressed::{Addressed, bad};
use super::options::HostHeader;
use super::{Site, cookie_jar, names, tunnel};
use crate::client_address::{Peer, client_address};
use crate::gate::Passage;
use crate::identity;
use crate::problem_response::Refusal;
use crate::state::AppState;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How this proxy is called in `Via`.
const PSEUDONYM: &str = "jari";
/// Proxies of this name in a row at most: more is a site that is configured to be behind itself.
const HOPS_MAX: usize = 8;

/// Who asks, as far as it can be known.
#[derive(Clone, Debug)]
struct Asker {
    address: IpAddr,
    from_trusted: bool,
    https: bool,
}

/// Turns a visitor's request into the site's. `passage` is what the gate said of it, where it was asked.
///
/// # Errors
/// 508 where the request has come through here too often; 400 where its address makes no URI.
pub(super) fn request(
    state: &AppState,
    site: &Site,
    mut parts: Parts,
    addressed: &Addressed,
    passage: Option<&(Arc<RoomDefinition>, Passage)>,
) -> Result<Parts, Refusal> {
    let hops = parts.headers.get_all(VIA).iter().filter_map(|via| via.to_str().ok());
    if hops.flat_map(|via| via.split(',')).filter(|via| is_ours(via)).count() >= HOPS_MAX {
        return Err(Refusal::new(Code::LoopDetected));
    }
    let asker = asker(state, site, &parts);
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
    let minor = if version == Version::HTTP_2 { "2" } else { "1.1" };
    headers.append(VIA, value(&format!("{minor} {PSEUDONYM}"))?);
    if websocket {
        tunnel::tell_switch(headers);
    }
    parts.uri = uri(site, addressed)?;
    parts.version = Version::HTTP_11;
    Ok(parts)
}

fn is_ours(via: &str) -> bool {
    via.split_whitespace().nth(1) == Some(PSEUDONYM)
}

fn value(text: &str) -> Result<HeaderValue, Refusal> {
    HeaderValue::from_str(text).map_err(|_| bad("the host is no text"))
}

fn asker(state: &AppState, site: &Site, parts: &Parts) -> Asker {
    let options = &state.options;
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip().to_canonical());
    // A request that came over no socket is a test's own.
    let peer = peer.unwrap_or(std::net::Ipv4Addr::LOCALHOST.into());
    let from_trusted = options.trusted_proxies.iter().any(|net| net.contains(&peer));
    let told = parts.headers.get(X_FORWARDED_PROTO).and_then(|value| value.to_str().ok());
    let https = match told.filter(|_| from_trusted) {
        Some(proto) => proto.eq_ignore_ascii_case("https"),
        None => site.options.public_url.scheme() == "https",
    };
    let address =
        client_address(peer, &parts.headers, &options.trusted_proxies, options.forwarded_header);
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
        HostHeader::Keep => value(&addressed.authority)?,
        HostHeader::Upstream => value(site.authority.as_str())?,
    };
    headers.insert(HOST, host);
    Ok(())
}

/// One address, which is believed here, and not the list that anybody may have begun.
fn tell_asker(
    headers: &mut HeaderMap,
    asker: &Asker,
    addressed: &Addressed,
) -> Result<(), Refusal> {
    let proto = if asker.https { "https" } else { "http" };
    let node = match asker.address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("\"[{address}]\""),
    };
    let host = &addressed.authority;
    headers.insert(X_FORWARDED_FOR, value(&asker.address.to_string())?);
    headers.insert(X_FORWARDED_HOST, value(host)?);
    headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
    headers.insert(FORWARDED, value(&format!("for={node};host=\"{host}\";proto={proto}"))?);
    Ok(())
}

fn uri(site: &Site, addressed: &Addressed) -> Result<Uri, Refusal> {
    let authority: Authority = site.authority.clone();
    let path: PathAndQuery = addressed
        .path_and_query
        .parse()
        .map_err(|_| bad("the path makes no address once it is written plainly"))?;
    Uri::builder()
        .scheme(site.scheme())
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(|_| bad("the path makes no address"))
}
