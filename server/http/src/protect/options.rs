//! What the reverse proxy can be told: the site behind, its rules, limits and deadlines. Read from no file.

use std::sync::Arc;
use std::time::Duration;

use jari_gate::Rules;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
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
    /// How an https upstream is met.
    pub tls: UpstreamTls,
}

impl ProtectOptions {
    /// Whether the site is spoken to over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.upstream.scheme() == "https"
    }
}

/// Whom an https upstream is taken for. A plain one is not asked for any of it.
#[derive(Clone, Debug)]
pub struct UpstreamTls {
    /// Whose word is taken on who it is.
    pub config: Arc<ClientConfig>,
    /// The name in its certificate; `None`: the upstream's host.
    pub name: Option<ServerName<'static>>,
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

impl Default for UpstreamTls {
    /// Nobody is trusted: enough for a plain upstream, which is not asked who it is.
    fn default() -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has ciphers for TLS 1.2 and 1.3")
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        UpstreamTls { config: Arc::new(config), name: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// For a connection to the site, and as long again for TLS on it.
    pub connect: Duration,
    /// From the last byte of a request to the head of its answer.
    pub response: Duration,
    /// An answer, a stream or a tunnel in which nothing moves for this long is cut.
    pub idle: Duration,
    /// Requests at the site at once, and connections kept to it.
    pub max: usize,
}
