//! The configurations in `deploy/` as the tests run them: a folder of the test's own before the paths, the test's ports and
//! nodes in place of the example's, and nothing else changed. What is no longer found in them fails the test.

use std::net::SocketAddr;
use std::path::Path;

use jari_servers::{Balancer, BalancerKind, lasting_port};
use url::Url;

const NGINX: &str = include_str!("../../../../deploy/nginx/nginx.conf");
const NGINX_JARI: &str = include_str!("../../../../deploy/nginx/jari.conf");
const ENVOY: &str = include_str!("../../../../deploy/envoy/envoy.yaml");

/// As many as the examples have.
pub(crate) const NODES: usize = 3;

/// Where a node is, for visitors and for health checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeAddress {
    pub(crate) public: SocketAddr,
    pub(crate) ops: SocketAddr,
}

/// A balancer before three nodes, on ports of its own.
#[derive(Debug)]
pub(crate) struct Balanced {
    kind: BalancerKind,
    balancer: Balancer,
    https: u16,
    http: u16,
    here: u16,
    admin: u16,
}

impl Balanced {
    pub(crate) fn start(kind: BalancerKind, nodes: &[NodeAddress; NODES]) -> Balanced {
        let [https, http, here, admin] = [(); 4].map(|()| lasting_port());
        let write = |folder: &Path| match kind {
            BalancerKind::Nginx => write_nginx(folder, nodes, [https, http, here]),
            BalancerKind::Envoy => write_envoy(folder, nodes, [https, http, here, admin]),
            BalancerKind::Caddy | BalancerKind::Traefik => panic!("there is no such example"),
        };
        let balancer = Balancer::start(kind, here, write);
        Balanced { kind, balancer, https, http, here, admin }
    }

    /// Where it is reached on its own machine, without TLS.
    pub(crate) fn url(&self) -> Url {
        local("http", self.here)
    }

    pub(crate) fn https(&self) -> Url {
        local("https", self.https)
    }

    /// Where everybody is sent to https.
    pub(crate) fn http(&self) -> Url {
        local("http", self.http)
    }

    /// Envoy's own numbers that match this expression, as `name: value` lines.
    pub(crate) async fn envoy_stats(&self, matching: &str) -> String {
        let mut url = local("http", self.admin).join("stats").expect("a path");
        url.query_pairs_mut().append_pair("filter", matching);
        let answer = reqwest::get(url).await.expect("Envoy's admin answers");
        answer.text().await.expect("a text")
    }

    /// Calls that found no node at the first try, and were tried again.
    pub(crate) async fn repeated(&self) -> u64 {
        match self.kind {
            BalancerKind::Nginx => {
                let log = self.balancer.folder().join("var/log/nginx/error.log");
                let log = std::fs::read_to_string(log).expect("nginx keeps a log");
                log.matches(" upstream, client: ").count() as u64
            }
            BalancerKind::Envoy => {
                let stats = self.envoy_stats("^cluster.jari.upstream_rq_retry$").await;
                let count = stats.trim().rsplit(' ').next().and_then(|count| count.parse().ok());
                count.unwrap_or_else(|| panic!("Envoy counts them: {stats:?}"))
            }
            BalancerKind::Caddy | BalancerKind::Traefik => panic!("there is no such example"),
        }
    }

    pub(crate) fn log(&self) -> String {
        self.balancer.log()
    }
}

fn local(scheme: &str, port: u16) -> Url {
    Url::parse(&format!("{scheme}://127.0.0.1:{port}/")).expect("an address makes a URL")
}

/// A configuration on its way from the example to the test's.
struct Changed(String);

impl Changed {
    fn put(mut self, from: &str, to: &str) -> Changed {
        assert!(self.0.contains(from), "the configuration has no {from:?} any more");
        self.0 = self.0.replace(from, to);
        self
    }

    fn write(self, file: &Path) {
        std::fs::write(file, self.0).expect("the folder is the test's own");
    }
}

fn write_nginx(folder: &Path, nodes: &[NodeAddress; NODES], ports: [u16; 3]) {
    let within = |place: &str| format!(" {}{place}", folder.display());
    for place in ["run", "var/log/nginx", "var/lib/nginx"] {
        std::fs::create_dir_all(folder.join(place)).expect("the folder is the test's own");
    }
    Changed(NGINX.to_owned())
        .put(" /var/", &within("/var/"))
        .put(" /run/", &within("/run/"))
        .put(" /etc/nginx/", &within("/"))
        // More than a test needs, and as much as an ordinary user may have.
        .put("worker_rlimit_nofile 131072;", "worker_rlimit_nofile 16384;")
        .write(&folder.join("nginx.conf"));
    let [https, http, here] = ports.map(|port| format!("listen 127.0.0.1:{port}"));
    let mut jari = Changed(NGINX_JARI.to_owned())
        .put(" /etc/nginx/", &within("/"))
        .put("listen 443", &https)
        .put("listen 80", &http)
        .put("listen 127.0.0.1:8000", &here)
        // Machines without IPv6 run the tests as well.
        .put("listen [::]:443 ssl http2 backlog=4096;", "")
        .put("listen [::]:80 backlog=4096;", "");
    for (nth, node) in nodes.iter().enumerate() {
        jari = jari
            .put(&format!("server 10.0.0.1{}:8080 ", nth + 1), &format!("server {} ", node.public));
    }
    jari.write(&folder.join("jari.conf"));
}

fn write_envoy(folder: &Path, nodes: &[NodeAddress; NODES], ports: [u16; 4]) {
    let any = |port: u16| format!("address: \"::\", ipv4_compat: true, port_value: {port} ");
    let here = |port: u16| format!("address: 127.0.0.1, port_value: {port} ");
    let [https, http, plain, admin] = ports;
    let mut envoy = Changed(ENVOY.to_owned())
        .put(" /etc/envoy/", &format!(" {}/", folder.display()))
        .put(&any(443), &here(https))
        .put(&any(80), &here(http))
        .put(&here(8_000), &here(plain))
        .put(&here(9_901), &here(admin));
    for (nth, node) in nodes.iter().enumerate() {
        let lines = |public: SocketAddr, ops: u16| {
            format!(
                "address: {}, port_value: {} }} }}\n            health_check_config: {{ port_value: {ops} }}",
                public.ip(),
                public.port()
            )
        };
        let example = SocketAddr::from(([10, 0, 0, 11 + u8::try_from(nth).expect("three")], 8_080));
        envoy = envoy.put(&lines(example, 9_090), &lines(node.public, node.ops.port()));
    }
    envoy.write(&folder.join("envoy.yaml"));
}
