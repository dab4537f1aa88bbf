//! What each section holds once it is checked. Parses nothing; `default.toml` documents every key.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use jari_units::Millis;
use url::Url;

use crate::records_url::RecordsUrl;

/// Files a process needs beside its connections: databases, logs, listeners, and the clients it answers 503.
const FILES_RESERVED: u64 = 256;

/// Connections that are served however few files may be open: below this nothing works.
const CONNECTIONS_MIN: u64 = 64;

/// `[http]`: the listener for visitors, tenants and operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    pub listen: SocketAddr,
    /// `None`: derived, see [`Http::public_url_at`].
    pub public_url: Option<Url>,
    pub trusted_proxies: Vec<IpNet>,
    pub forwarded_header: ForwardedHeader,
    /// 0: derived, see [`Http::connections`].
    pub max_connections: u64,
    pub request_timeout: Millis,
    pub header_read_timeout: Millis,
    pub body_max_bytes: u64,
    /// Per client address; 0 is no limit.
    pub join_limit_per_minute: u32,
    pub join_limit_burst: u32,
    /// Of anonymous newcomers per client address; 0 is no limit, and there is none where joins have none.
    pub newcomer_limit_per_minute: u32,
    pub newcomer_limit_burst: u32,
    /// The same per network.
    pub network_limit_per_minute: u32,
    pub network_limit_burst: u32,
    /// Requests with one pass at the gate; 0 is no limit.
    pub pass_limit_per_s: u32,
    pub pass_limit_burst: u32,
    pub stream_max: u64,
    /// Everybody may stream in a room where no more than this wait.
    pub stream_small_room: u64,
    /// In larger rooms, who is at most so far from the front.
    pub stream_near_front: u64,
    pub write_stall_timeout: Millis,
    pub drain_notice: Millis,
    pub drain_timeout: Millis,
}

impl Http {
    /// Where visitors find this server, which is bound to `bound`; an unspecified address is called `localhost`.
    ///
    /// # Panics
    /// Never: an address and a port always make a URL.
    #[must_use]
    pub fn public_url_at(&self, bound: SocketAddr) -> Url {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = match bound.ip() {
            ip if ip.is_unspecified() => "localhost".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Url::parse(&format!("http://{host}:{}/", bound.port()))
            .expect("an address and a port make a URL")
    }

    /// Connections to serve at once where the process may have `open_files` files open: what is configured, but never
    /// so many that files run out.
    #[must_use]
    pub fn connections(&self, open_files: u64) -> u64 {
        let possible = open_files.saturating_sub(FILES_RESERVED).max(CONNECTIONS_MIN);
        match self.max_connections {
            0 => possible,
            wanted => wanted.min(possible),
        }
    }
}

/// Where trusted proxies write the client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedHeader {
    XForwardedFor,
    /// RFC 7239.
    Forwarded,
}

/// `[ops]`: the listener for health and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ops {
    pub listen: SocketAddr,
}

/// `[node]`: what this one of several nodes is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Never empty, each once, in the order of [`Role::ALL`].
    pub roles: Vec<Role>,
}

/// What a node can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Web,
    Gate,
    Admitter,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Web, Role::Gate, Role::Admitter];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Web => "web",
            Role::Gate => "gate",
            Role::Admitter => "admitter",
        }
    }
}

/// `[store]`: where data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    pub data_dir: PathBuf,
    /// `None`: the lines are in the data folder.
    pub url: Option<StoreUrl>,
    pub key_prefix: String,
    /// `None`: the system's certificates are trusted.
    pub ca_file: Option<PathBuf>,
    pub joins: Joins,
}

/// How joins travel to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Those that come while a call is under way, in the next one.
    Together,
    /// A call for each: only to measure against.
    Apart,
}

/// Where a store of several nodes is. May hold a password, which it shows nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub(crate) String);

impl StoreUrl {
    /// The whole URL, for whoever connects.
    #[must_use]
    pub fn with_secrets(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for StoreUrl {
    /// Without user and password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((before, hosts)) = self.0.rsplit_once('@') else {
            return f.write_str(&self.0);
        };
        let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
        write!(f, "{scheme}://redacted@{hosts}")
    }
}

impl std::fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// `[records]`: who runs what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// `None`: a file in the data folder.
    pub url: Option<RecordsUrl>,
    /// How long a start waits for the server.
    pub start_wait: Millis,
}

/// `[log]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// A filter as tracing's `EnvFilter` reads it: `info,jari_http=debug`.
    pub level: String,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
    /// Text on a terminal, JSON elsewhere.
    Auto,
}

/// `[telemetry]`: traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// `None`: nothing is traced.
    pub otlp_endpoint: Option<Url>,
    pub sample_ratio: Ratio,
    pub service_name: String,
}

/// A share from 0 to 1, to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub millionths: u32,
}

impl Ratio {
    /// `None` for what is no share.
    pub(crate) fn of(share: f64) -> Option<Self> {
        // Below half a millionth it is none.
        (0.0..=1.0).contains(&share).then(|| Ratio { millionths: (share * 1e6).round() as u32 })
    }

    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn the_public_url_is_derived_from_the_bound_address() {
        let mut http = Config::default().http;
        for (bound, want) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:80", "http://localhost/"),
            ("[::]:8081", "http://localhost:8081/"),
            ("[::1]:8081", "http://[::1]:8081/"),
        ] {
            let bound = bound.parse().unwrap();
            assert_eq!(http.public_url_at(bound).as_str(), want);
        }
        http.public_url = Some("https://wait.example.com".parse().unwrap());
        let bound = "127.0.0.1:8080".parse().unwrap();
        assert_eq!(http.public_url_at(bound).as_str(), "https://wait.example.com/");
    }

    #[test]
    fn connections_never_use_up_the_files() {
        let mut http = Config::default().http;
        for (configured, open_files, want) in [
            (0, 1_024, 768),
            (0, 1_048_576, 1_048_320),
            (0, 100, 64),
            (500, 1_024, 500),
            (5_000, 1_024, 768),
        ] {
            http.max_connections = configured;
            assert_eq!(http.connections(open_files), want, "{configured} of {open_files}");
        }
    }
}
