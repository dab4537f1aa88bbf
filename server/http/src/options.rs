//! What the server can be told: limits, deadlines and whom it trusts. Read from no file: the app hands it in, validated.

use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::protect::ProtectOptions;
use crate::roles::Roles;

/// Everything the HTTP server can be told.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// How people reach this server: links to rooms start with it, and cookies are `__Host-` and Secure when it is https.
    pub public_url: Url,
    /// Hops whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// The one header the trusted hops write; the other could be the client's own invention.
    pub forwarded_header: ForwardedHeader,
    pub join_limit: JoinLimit,
    /// Anonymous newcomers of one address, and of one network; not limited where joins are not.
    pub newcomer_limit: JoinLimit,
    pub network_limit: JoinLimit,
    pub pass_limit: PassLimit,
    pub connections: ConnectionLimits,
    pub deadlines: Deadlines,
    /// Bytes of a request body at most.
    pub body_max_bytes: usize,
    pub streams: StreamLimits,
    /// The site behind, where there is one.
    pub protect: Option<ProtectOptions>,
    pub roles: Roles,
    pub joins: Joins,
}

/// How joins travel to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joins {
    /// Those that come while a call is under way, in the next one.
    #[default]
    Together,
    /// A call for each, as many at once as there are: only to measure against.
    Apart,
}

/// Where trusted hops write the client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedHeader {
    #[default]
    XForwardedFor,
    /// RFC 7239.
    Forwarded,
}

/// Joins by where they come from; generous, because a campus or a phone network shares an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinLimit {
    /// Joins per minute in the long run; 0: no limit.
    pub per_minute: u32,
    /// Joins that may come at once after a quiet time.
    pub burst: u32,
}

/// Requests with one pass at the gate; generous, because a page is a hundred requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassLimit {
    /// Requests a second in the long run; 0: no limit.
    pub per_s: u32,
    /// Requests that may come at once after a quiet time.
    pub burst: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at most; lowered to what the open-files limit leaves.
    pub max: usize,
    /// Requests being worked on at most; more are told to come back.
    pub in_flight_max: usize,
    /// Bytes of a request's head at most (HTTP/1.1 buffer, HTTP/2 header list).
    pub head_max_bytes: usize,
    /// Requests one HTTP/2 connection may have open.
    pub http2_streams_max: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For a whole request head, and for an idle connection to ask again.
    pub head: Duration,
    /// For a whole request body.
    pub body: Duration,
    /// For an answer's head, from the whole request head; streams only begin within it.
    pub request: Duration,
    /// A connection whose peer takes no byte for this long is dropped.
    pub write_stall: Duration,
    /// From the order to stop to the end of the last connection.
    pub drain: Duration,
}

/// Whom a stream is offered: streams are for the near front or small rooms, polls for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams of this process at most: each costs about a kilobyte over HTTP/1, tens of them over HTTP/2.
    pub max: u64,
    /// Everybody may stream in a room where no more than this wait.
    pub small_room: u64,
    /// In larger rooms, who is at most so far from the front.
    pub near_front: u64,
}

/// Connections that visitors of a protected site can never take, at most: pages of operators, servers of tenants and proxies
/// that ask at the gate, each with a handful.
const SPARED_MAX: usize = 256;

impl ConnectionLimits {
    /// How many of all a protected site's listener leaves to the other one: whoever holds the site's connections locks no
    /// operator out.
    #[must_use]
    pub(crate) fn spared_by_site(&self) -> usize {
        SPARED_MAX.min(self.max / 10)
    }
}

impl HttpOptions {
    /// The defaults for a server reached at `public_url`.
    #[must_use]
    pub fn new(public_url: Url) -> Self {
        HttpOptions {
            public_url,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            join_limit: JoinLimit::default(),
            // People behind one address of a carrier who all open the page in the same minute: hundreds.
            newcomer_limit: JoinLimit { per_minute: 600, burst: 1_000 },
            // Ten such addresses side by side.
            network_limit: JoinLimit { per_minute: 6_000, burst: 10_000 },
            pass_limit: PassLimit::default(),
            connections: ConnectionLimits::default(),
            deadlines: Deadlines::default(),
            // The largest body is 200 subjects of 256 bytes, each escaped at worst sixfold.
            body_max_bytes: 384 * 1024,
            streams: StreamLimits::default(),
            joins: Joins::default(),
            roles: Roles::ALL,
            protect: None,
        }
    }

    /// Whether cookies are `__Host-` and Secure.
    #[must_use]
    pub fn secure(&self) -> bool {
        // Visitors of a protected site meet its origin only, and cookies are the origin's.
        self.visited_url().scheme() == "https"
    }

    /// The origin that visitors meet: the protected site's where there is one.
    #[must_use]
    pub(crate) fn visited_url(&self) -> &Url {
        self.protect.as_ref().map_or(&self.public_url, |site| &site.public_url)
    }

    /// A link on this server: `path` begins with '/'.
    #[must_use]
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_str().trim_end_matches('/'))
    }
}

impl Default for JoinLimit {
    fn default() -> Self {
        JoinLimit { per_minute: 600, burst: 1_000 }
    }
}

impl Default for PassLimit {
    fn default() -> Self {
        PassLimit { per_s: 200, burst: 2_000 }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits {
            max: 60_000,
            // A request takes well below a millisecond: more than this in flight is a stall, not load.
            in_flight_max: 20_000,
            // Half a dozen rooms' cookies and a proxy's headers.
            head_max_bytes: 32 * 1024,
            http2_streams_max: 128,
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Deadlines {
            head: Duration::from_secs(30),
            body: Duration::from_secs(5),
            // Above the store's own deadline, so that the store's answer is told where there is one.
            request: Duration::from_secs(7),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for StreamLimits {
    fn default() -> Self {
        StreamLimits { max: 10_000, small_room: 5_000, near_front: 2_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_join_without_a_double_slash() {
        for (url, secure, link) in [
            ("https://wait.example", true, "https://wait.example/rooms/a"),
            ("http://127.0.0.1:80/", false, "http://127.0.0.1/rooms/a"),
            ("https://example.com/wait/", true, "https://example.com/wait/rooms/a"),
        ] {
            let options = HttpOptions::new(url.parse().expect("a URL"));
            assert_eq!((options.secure(), options.link("/rooms/a")), (secure, link.to_owned()));
        }
    }
}
