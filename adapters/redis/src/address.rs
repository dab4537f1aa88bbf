//! The address of a store: which servers, in which arrangement, with TLS or not, as which user. Connects nowhere.

use redis::{ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates};

use crate::OpenError;

/// How the servers are arranged.
#[derive(Clone, Debug)]
pub(crate) enum Arrangement {
    Standalone(ConnectionInfo),
    /// Some of its nodes; the rest is learned from them.
    Cluster(Vec<ConnectionInfo>),
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        master: String,
        tls: bool,
    },
}

/// Where a store is.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) arrangement: Arrangement,
    /// Without user and password.
    pub(crate) shown: String,
    /// Certificates in PEM to trust instead of the system's.
    pub(crate) trust: Option<Vec<u8>>,
}

impl std::fmt::Debug for Address {
    /// Shows no password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Addresses that one URL may name.
const HOSTS_MAX: usize = 64;

impl Address {
    /// Where the lines of this prefix are, for people. Of a machine's own address the machine is named too: on another one it
    /// is another server.
    pub(crate) fn place(&self, prefix: &str) -> String {
        let own = ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| self.shown.contains(host));
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        match machine.trim() {
            machine if own && !machine.is_empty() => {
                format!("prefix {prefix} at {} of {machine}", self.shown)
            }
            _ => format!("prefix {prefix} at {}", self.shown),
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.arrangement, Arrangement::Cluster(_))
    }

    /// Reads `redis://`, `rediss://`, `redis+cluster://`, `rediss+cluster://`, `redis+sentinel://` and `rediss+sentinel://`.
    ///
    /// # Errors
    /// [`OpenError::Address`] with what is wrong.
    pub(crate) fn parse(url: &str) -> Result<Address, OpenError> {
        let shown = without_user(url);
        let refuse = |problem: String| OpenError::Address { url: shown.clone(), problem };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| refuse("it does not begin with a scheme like redis://".into()))?;
        let (tls, arrangement) = match scheme.split_once('+').unwrap_or((scheme, "")) {
            ("redis", arrangement) => (false, arrangement),
            ("rediss", arrangement) => (true, arrangement),
            _ => return Err(refuse(format!("{scheme} is not a scheme it can have"))),
        };
        let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(user, rest)| (user, rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts: Vec<&str> = hosts.split(',').collect();
        if hosts.len() > HOSTS_MAX || hosts.iter().any(|host| host.is_empty()) {
            return Err(refuse(format!("it names 1 to {HOSTS_MAX} hosts, split by commas")));
        }
        let each = |path: &str| -> Result<Vec<ConnectionInfo>, OpenError> {
            hosts
                .iter()
                .map(|host| one(tls, user, host, path).map_err(|error| refuse(error.to_string())))
                .collect()
        };
        let arrangement = match (arrangement, hosts.len()) {
            ("", 1) => {
                let mut servers = each(path)?;
                Arrangement::Standalone(servers.remove(0))
            }
            ("", _) => {
                return Err(refuse(
                    "several hosts need redis+cluster:// or redis+sentinel://".into(),
                ));
            }
            ("cluster", _) if path.is_empty() => Arrangement::Cluster(each("")?),
            ("cluster", _) => return Err(refuse("a Cluster has no database number".into())),
            ("sentinel", _) if path.is_empty() || path.contains(['/', '?']) => {
                return Err(refuse(
                    "it ends in the master's name: redis+sentinel://host:port/name".into(),
                ));
            }
            ("sentinel", _) => {
                Arrangement::Sentinel { sentinels: each("")?, master: path.to_owned(), tls }
            }
            (other, _) => {
                return Err(refuse(format!("+{other} is neither +cluster nor +sentinel")));
            }
        };
        Ok(Address { arrangement, shown, trust: None })
    }
}

impl Address {
    /// What to hand to redis-rs where the system's certificates are not the ones to trust.
    pub(crate) fn certificates(&self) -> Option<TlsCertificates> {
        let root_cert = self.trust.clone();
        root_cert.is_some().then_some(TlsCertificates { client_tls: None, root_cert })
    }
}

/// One server's address, as redis-rs reads it: it knows about escapes in passwords and about IPv6.
fn one(tls: bool, user: &str, host: &str, path: &str) -> redis::RedisResult<ConnectionInfo> {
    let scheme = if tls { "rediss" } else { "redis" };
    let at = if user.is_empty() { "" } else { "@" };
    let url = format!("{scheme}://{user}{at}{host}/{path}");
    url.as_str().into_connection_info()
}

/// The same servers on RESP3, in which messages of a subscription come between answers.
pub(crate) fn with_pushes(server: ConnectionInfo) -> ConnectionInfo {
    let settings = server.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    server.set_redis_settings(settings)
}

fn without_user(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrangement_is_read() {
        for (url, hosts) in [
            ("redis://127.0.0.1:7001", 1),
            ("redis://user:p%40ss@localhost/3", 1),
            ("rediss://[::1]:7001", 1),
            ("redis+cluster://a:1,b:2,c:3", 3),
            ("rediss+cluster://user:secret@a:1,b:2", 2),
            ("redis+sentinel://a:1,b:2/shop", 2),
        ] {
            let address = Address::parse(url).expect(url);
            let found = match address.arrangement {
                Arrangement::Standalone(_) => 1,
                Arrangement::Cluster(nodes) => nodes.len(),
                Arrangement::Sentinel { sentinels, master, tls } => {
                    assert_eq!((master.as_str(), tls), ("shop", false));
                    sentinels.len()
                }
            };
            assert_eq!(found, hosts, "{url}");
        }
    }

    #[test]
    fn escapes_in_a_password_are_undone_and_no_password_is_shown() {
        let address = Address::parse("redis://user:p%40ss@localhost/3").expect("an address");
        assert_eq!(format!("{address:?}"), "redis://localhost/3");
        let Arrangement::Standalone(server) = address.arrangement else { panic!("one server") };
        let settings = server.redis_settings();
        assert_eq!(
            (settings.username(), settings.password(), settings.db()),
            (Some("user"), Some("p@ss"), 3)
        );
    }

    #[test]
    fn what_is_no_address_is_told_with_the_reason() {
        for (url, reason) in [
            ("localhost:6379", "scheme"),
            ("http://localhost", "scheme"),
            ("redis://a,b", "several hosts"),
            ("redis+cluster://a/3", "database number"),
            ("redis+sentinel://a:1", "master's name"),
            ("redis+ring://a", "+ring"),
            ("redis+cluster://a,,b", "hosts"),
        ] {
            let error = Address::parse(url).expect_err(url).to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }
}
