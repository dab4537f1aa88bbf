//! What handlers take from a request's head: the room's name in the path, the client's address, the headers.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::HeaderMap;
use http::request::Parts;

use crate::client_address::{Peer, client_address};
use crate::path::Path;
use crate::state::AppState;

/// The room that the path names, as it was written: it may be none.
#[derive(Clone, Debug)]
pub(crate) struct RoomName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for RoomName {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        // What is not UTF-8 names no room, as this does, and each handler says so in its own form.
        let name = Path::<String>::from_request_parts(parts, state).await;
        Ok(RoomName(name.map_or_else(|_| "?".to_owned(), |Path(room)| room)))
    }
}

/// The headers of a request without a body, moved out of it: `HeaderMap` as an extractor copies them all.
#[derive(Clone, Debug)]
pub(crate) struct Headers(pub HeaderMap);

impl<S: Send + Sync> FromRequest<S> for Headers {
    type Rejection = Infallible;
    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Headers(request.into_parts().0.headers))
    }
}

/// The client's address, as far as it can be known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub IpAddr);

impl FromRequestParts<AppState> for ClientAddress {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(ClientAddress(client_of(parts, state)))
    }
}

/// The address of who sent a request, by the hops that are trusted.
#[must_use]
pub(crate) fn client_of(parts: &Parts, state: &AppState) -> IpAddr {
    // A request that came over no socket is a test's own.
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
    client_from(peer, &parts.headers, state)
}

/// The address of whose request `peer` sent.
#[must_use]
pub(crate) fn client_from(peer: IpAddr, headers: &HeaderMap, state: &AppState) -> IpAddr {
    let options = &state.options;
    client_address(peer, headers, &options.trusted_proxies, options.forwarded_header)
}
