//! One request of a visitor to the site: read, judged, checked at the gate, and passed on, or not.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, Version};
use hyper::body::Body as _;
use hyper::upgrade::OnUpgrade;
use jari_api::Code;
use jari_gate::Judgement;
use jari_ports::RoomDefinition;
use tokio::time::Instant;
use tokio_util::context::TokioContext;
use url::Url;

use super::addressed::{self, Addressed, bad};
use super::body::Download;
use super::events::{self, Events};
use super::options::HostHeader;
use super::slots::Holder;
use super::stay::Staying;
use super::taken::Taken;
use super::tunnel::Agreement;
use super::upstream::Failed;
use super::{Site, caching, cookie_jar, names, onward, told, tunnel};
use crate::answers::with_cookies;
use crate::client_address::limit_key;
use crate::cors;
use crate::directory::RoomEntry;
use crate::gate::{self, Holding, Passage};
use crate::header_text::address;
use crate::problem_response::Refusal;
use crate::reader::Reader;
use crate::request::client_from;
use crate::state::AppState;

/// A visitor's request, as it came.
pub(super) struct Asked {
    pub(super) parts: Parts,
    pub(super) body: Body,
    /// Who sent it: the visitor, or a proxy before it.
    pub(super) peer: IpAddr,
    /// Which of the site's workers has the visitor's connection.
    pub(super) worker: usize,
}

/// The answer to everything that is not below Jari's prefix.
pub(super) async fn pass_on(state: &AppState, site: &Site, mut asked: Asked) -> Response {
    tunnel::as_upgrade(&mut asked.parts, &*state.entropy);
    let reader = Reader::of(&asked.parts.method, &asked.parts.headers);
    // Not held while the answer's body runs: the upstream's own slots bound those.
    let Ok(_permit) = state.in_flight.try_acquire() else {
        return reader.refused(Refusal::new(Code::Overloaded));
    };
    let answered = judged(state, site, &reader, asked).await;
    answered.unwrap_or_else(|refusal| reader.refused(refusal))
}

async fn judged(
    state: &AppState,
    site: &Site,
    reader: &Reader,
    mut asked: Asked,
) -> Result<Response, Refusal> {
    let parts = &mut asked.parts;
    let addressed = addressed::read(parts)?;
    let judgement = site.options.rules.judge(&addressed.host, &addressed.target);
    let room = match judgement.map_err(|unclear| bad(unclear.to_string()))? {
        Judgement::Open => return send(state, site, asked, &addressed, None).await,
        Judgement::Misdirected => return Err(Refusal::new(Code::Misdirected)),
        Judgement::Guarded(room) => room,
    };
    let entry = state.rooms.get(room).ok_or_else(|| Refusal::unknown_room(room.as_str()))?;
    let page = cors::listed(state, &entry.definition().tenant, &parts.headers).cloned();
    if page.is_some()
        && cors::is_preflight(&parts.method, &parts.headers)
        && asked.body.is_end_stream()
    {
        // Browsers ask beforehand without credentials, so without a pass: the site says whether it would be called.
        cors::bare(parts);
        asked.body = Body::empty();
        return send(state, site, asked, &addressed, None).await;
    }
    // Apart: most of its future is for stores that do not answer.
    let address = client_from(asked.peer, &parts.headers, state);
    let checked = Box::pin(gate::check(state, &entry, &parts.headers, address));
    let passage = match entry.loaded() {
        Some(_) => checked.await?,
        // What is set in motion with the room is no worker's.
        None => TokioContext::new(checked, site.home.clone()).await?,
    };
    match passage {
        Passage::Refused { reason, poll_after, cookies } => {
            let why = (reason, poll_after);
            let mut told = told::sent_to_room(reader, state, site, &entry, &addressed, why);
            if let Some(origin) = page {
                cors::allow(&mut told, origin);
            }
            Ok(with_cookies(told, cookies))
        }
        passage => {
            let passage = Some((entry.definition(), passage));
            let began = Instant::now();
            let sent = send(state, site, asked, &addressed, passage).await;
            note_site(&entry, began.elapsed(), &sent);
            sent
        }
    }
}

/// Notes how the site did, for the room's pacer: an answer's head counts, as does the lack of one.
fn note_site(entry: &RoomEntry, took: Duration, sent: &Result<Response, Refusal>) {
    let failed = match sent {
        Ok(answer) => answer.status().is_server_error(),
        Err(refusal) => match refusal.code() {
            Code::SiteBusy | Code::SiteUnavailable | Code::SiteTimeout => true,
            // The visitor's own doing.
            _ => return,
        },
    };
    if let Some(room) = entry.loaded() {
        room.note_site(took, failed);
    }
}

/// Passes the request on and the answer back.
async fn send(
    state: &AppState,
    site: &Site,
    asked: Asked,
    addressed: &Addressed,
    passage: Option<(Arc<RoomDefinition>, Passage)>,
) -> Result<Response, Refusal> {
    let Asked { mut parts, body, peer, worker } = asked;
    let visitor = parts.extensions.remove::<OnUpgrade>();
    let visitor = tunnel::asked(&parts).and_then(|agreement| Some((visitor?, agreement)));
    // Before the pass is taken out of the headers.
    let staying = passage.as_ref().map(|(room, passage)| {
        let holding = Holding::of(state, &room.id, &parts.headers, passage);
        Staying { holding, home: site.home.clone() }
    });
    let holder = match &passage {
        Some((room, Passage::Admitted { pass, .. })) => Holder::pass(&room.id, *pass),
        _ => Holder::Address(limit_key(client_from(peer, &parts.headers, state))),
    };
    let by_http2 = parts.version == Version::HTTP_2;
    let parts = onward::request(state, site, (parts, peer), addressed, passage.as_ref())?;
    let (mut answer, exchange) = site.upstream.send(worker, (parts, body), holder).await?;
    let limits = site.options.limits;
    let switched = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    let site_side = switched.then(|| hyper::upgrade::on(&mut answer));
    let (mut head, body) = answer.into_parts();
    names::remove_hops(&mut head.headers);
    cookie_jar::guard(&mut head.headers);
    lead_to_public(site, &mut head.headers);
    if passage.is_some() {
        caching::keep_private(&mut head.headers);
    }
    for cookie in passage.map(|(_, passage)| passage.into_cookies()).unwrap_or_default() {
        head.headers.append(SET_COOKIE, cookie);
    }
    // The connection's own, not the answer's.
    head.extensions = http::Extensions::new();
    match (site_side, visitor) {
        (Some(site_side), Some((visitor, agreement))) => {
            agreement.tell(&mut head);
            let joined =
                tunnel::join(visitor, site_side, limits.idle, exchange, state.clone(), staying);
            tokio::spawn(joined);
            Ok(Response::from_parts(head, Body::empty()))
        }
        // Nobody asked it to.
        (Some(_), None) => Err(Failed::Broken.into()),
        // A success would be the beginning of a tunnel, and there is no other end.
        (None, Some((_, Agreement::Connected))) if head.status.is_success() => {
            Err(Failed::Broken.into())
        }
        (None, _) => {
            let body = Download::new(body, limits.idle, exchange);
            let body = match events::is_event_stream(&head.headers) {
                true => Body::new(Events::new(body, state.clone(), staying)),
                false => Body::new(body),
            };
            // Over HTTP/1 the connection itself notices who takes nothing.
            let body = match by_http2 && !body.is_end_stream() {
                true => Body::new(Taken::or_let_go(body, limits.idle)),
                false => body,
            };
            Ok(Response::from_parts(head, body))
        }
    }
}

/// A site that is asked by its own name answers with it: visitors cannot go there.
fn lead_to_public(site: &Site, headers: &mut HeaderMap) {
    if site.options.host_header == HostHeader::Keep {
        return;
    }
    let location = headers.get(LOCATION).and_then(address);
    let Some(url) = location.and_then(|text| Url::parse(&text).ok()) else { return };
    if url.origin() == site.options.upstream.origin() {
        let public = site.options.public_url.as_str().trim_end_matches('/');
        let rest = &url[url::Position::BeforePath..];
        if let Ok(value) = HeaderValue::from_str(&format!("{public}{rest}")) {
            headers.insert(LOCATION, value);
        }
    }
}
