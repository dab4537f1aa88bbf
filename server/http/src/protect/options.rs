//! What the reverse proxy can be told: the site behind, its rules, limits and deadlines. Read from no file.

use std::time::Duration;

use jari_gate::Rules;
use url::Url;

/// A site behind this server.
#[derive(Clone, Debug)]
pub struct ProtectOptions {
    /// Where the site is: scheme, host and port.
    pub upstream: Url,
    /// Where visitors find the site, which is this server's second listener.
    pub public_url: Url,
    pub rules: Rules,
    pub host_header: HostHeader,
    pub limits: UpstreamLimits,
}

/// The name that the site is asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostHeader {
    /// The one that the visitor asked for.
    #[default]
    Keep,
    /// The upstream's own.
    Upstream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// For a connection to the site.
    pub connect: Duration,
    /// From the last byte of a request to the head of its answer.
    pub response: Duration,
    /// An answer, a stream or a tunnel in which nothing moves for this long is cut.
    pub idle: Duration,
    /// Requests at the site at once, and connections kept to it.
    pub max: usize,
}
