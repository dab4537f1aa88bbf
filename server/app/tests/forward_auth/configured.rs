//! The configurations in `deploy/forward-auth` as the tests run them: a folder of the test's own before the paths, the test's
//! ports and addresses in place of the example's, and nothing else changed. What is no longer found in them fails the test.

use std::net::SocketAddr;
use std::path::Path;

use jari_servers::{Balancer, BalancerKind};

const NGINX: &str = include_str!("../../../../deploy/forward-auth/nginx/nginx.conf");
const ENVOY: &str = include_str!("../../../../deploy/forward-auth/envoy/envoy.yaml");
const CADDY: &str = include_str!("../../../../deploy/forward-auth/caddy/Caddyfile");
const TRAEFIK: &str = include_str!("../../../../deploy/forward-auth/traefik/traefik.yaml");
const TRAEFIK_GUARDS: &str = include_str!("../../../../deploy/forward-auth/traefik/dynamic.yaml");

/// What a proxy does while Jari does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutJari {
    /// As the examples stand.
    Closed,
    /// With the line that they have for it.
    Open,
}

/// Where a proxy is, and what it stands before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) here: u16,
    pub(crate) https: u16,
    /// From where it sends everybody to https.
    pub(crate) http: u16,
    pub(crate) jari: SocketAddr,
    pub(crate) site: SocketAddr,
}

pub(crate) fn start(kind: BalancerKind, places: Places, without: WithoutJari) -> Balancer {
    Balancer::start(kind, places.here, |folder| {
        let main = match kind {
            BalancerKind::Nginx => nginx(folder, places, without).stands(places),
            BalancerKind::Caddy => caddy(folder, places, without).stands(places),
            BalancerKind::Envoy => {
                let socket =
                    |to: SocketAddr| format!("address: {}, port_value: {} }}", to.ip(), to.port());
                envoy(folder, places, without)
                    .put(&socket(EXAMPLE_JARI.into()), &socket(places.jari))
                    .put(&socket(EXAMPLE_SITE.into()), &socket(places.site))
            }
            BalancerKind::Traefik => {
                let guards = Changed(TRAEFIK_GUARDS.to_owned()).stands(places);
                let guards = guards.put(" /etc/traefik/", &format!(" {}/", folder.display()));
                guards.write(&folder.join("dynamic.yaml"));
                traefik(folder, places)
            }
        };
        main.write(&folder.join(kind.main_file()));
    })
}

const EXAMPLE_JARI: ([u8; 4], u16) = ([10, 0, 0, 11], 8_080);
const EXAMPLE_SITE: ([u8; 4], u16) = ([10, 0, 0, 21], 3_000);

/// A configuration on its way from the example to the test's.
struct Changed(String);

impl Changed {
    fn put(mut self, from: &str, to: &str) -> Changed {
        assert!(self.0.contains(from), "the configuration has no {from:?} any more");
        self.0 = self.0.replace(from, to);
        self
    }

    /// Puts the addresses in place of the example's.
    fn stands(self, before: Places) -> Changed {
        self.put("10.0.0.11:8080", &before.jari.to_string())
            .put("10.0.0.21:3000", &before.site.to_string())
    }

    fn write(self, file: &Path) {
        std::fs::write(file, self.0).expect("the folder is the test's own");
    }

    fn where_open(self, without: WithoutJari, from: &str, to: &str) -> Changed {
        match without {
            WithoutJari::Open => self.put(from, to),
            WithoutJari::Closed => self,
        }
    }
}

fn nginx(folder: &Path, at: Places, without: WithoutJari) -> Changed {
    let within = |place: &str| format!(" {}{place}", folder.display());
    for place in ["run", "var/log/nginx", "var/lib/nginx"] {
        std::fs::create_dir_all(folder.join(place)).expect("the folder is the test's own");
    }
    let local = |port: u16| format!("listen 127.0.0.1:{port}");
    Changed(NGINX.to_owned())
        .put(" /var/", &within("/var/"))
        .put(" /run/", &within("/run/"))
        .put(" /etc/nginx/", &within("/"))
        .put("listen 443", &local(at.https))
        .put("listen 80", &local(at.http))
        .put("listen 127.0.0.1:8000", &local(at.here))
        .where_open(without, "#open ", "")
}

fn envoy(folder: &Path, at: Places, without: WithoutJari) -> Changed {
    let any = |port: u16| format!("address: \"::\", ipv4_compat: true, port_value: {port} ");
    let local = |port: u16| format!("address: 127.0.0.1, port_value: {port} ");
    Changed(ENVOY.to_owned())
        .put(" /etc/envoy/", &format!(" {}/", folder.display()))
        .put(&any(443), &local(at.https))
        .put(&any(80), &local(at.http))
        .put(&local(8_000), &local(at.here))
        .where_open(without, "failure_mode_allow: false", "failure_mode_allow: true")
}

fn caddy(folder: &Path, at: Places, without: WithoutJari) -> Changed {
    let address =
        |scheme: &str, port: u16| format!("{scheme}://127.0.0.1:{port} {{\n\tbind 127.0.0.1");
    Changed(CADDY.to_owned())
        .put(" /etc/caddy/", &format!(" {}/", folder.display()))
        .put(" /var/lib/caddy", &format!(" {}/kept", folder.display()))
        .put("https://shop.example.com {", &address("https", at.https))
        .put("http://shop.example.com {", &address("http", at.http))
        .put("http://:8000 {", &format!("http://:{} {{", at.here))
        .where_open(without, "#open ", "")
}

fn traefik(folder: &Path, at: Places) -> Changed {
    let local = |port: u16| format!("address: \"127.0.0.1:{port}\"");
    Changed(TRAEFIK.to_owned())
        .put(" /etc/traefik/", &format!(" {}/", folder.display()))
        .put("address: \":443\"", &local(at.https))
        .put("address: \":80\"", &local(at.http))
        .put("address: \"127.0.0.1:8000\"", &local(at.here))
}
