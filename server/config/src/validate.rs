//! Rules across fields. What a single field may be is in the table of fields.

use std::net::{IpAddr, SocketAddr};

use url::Url;

use crate::protect::Protect;
use crate::read::Reader;
use crate::settings::{Http, Node, Ops, Role, Store};

/// Checks what no field can tell alone; the field that is easier to change is the one named.
pub(crate) fn across(http: &Http, ops: &Ops, site: Option<&Protect>, reader: &mut Reader<'_>) {
    if collide(http.listen, ops.listen) {
        let wrong = format!("collides with http.listen = \"{}\"", http.listen);
        let fix = "use another port for one of them".to_owned();
        reader.refuse("ops.listen", wrong, fix);
    }
    if http.max_connections != 0 && http.stream_max > http.max_connections {
        let wrong = format!("is above http.max_connections = {}", http.max_connections);
        let fix = format!("use at most {}, or raise max_connections", http.max_connections);
        reader.refuse("http.stream_max", wrong, fix);
    }
    if let Some(site) = site {
        for (key, other) in [("http.listen", http.listen), ("ops.listen", ops.listen)] {
            if collide(site.listen, other) {
                let wrong = format!("collides with {key} = \"{other}\"");
                reader.refuse(
                    "protect.listen",
                    wrong,
                    "use another port for one of them".to_owned(),
                );
            }
        }
        if leads_to(&site.upstream, site.listen) {
            let wrong = "is where protect.listen is: the site would be behind itself".to_owned();
            let fix = "name the address of the site itself".to_owned();
            reader.refuse("protect.upstream", wrong, fix);
        }
    }
}

/// Whether a URL is plainly that of a listener; names are not looked up.
fn leads_to(url: &Url, listener: SocketAddr) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let here = match host.parse::<IpAddr>() {
        Ok(ip) => ip == listener.ip() || listener.ip().is_unspecified() && ip.is_loopback(),
        Err(_) => {
            host == "localhost" && (listener.ip().is_loopback() || listener.ip().is_unspecified())
        }
    };
    here && url.port_or_known_default() == Some(listener.port())
}

/// A data folder's lines are one process's, so nobody else could have the roles that it lacks.
pub(crate) fn roles(node: &Node, store: &Store, reader: &mut Reader<'_>) {
    if store.url.is_none() && node.roles.len() < Role::ALL.len() {
        let wrong = "leaves roles to other nodes, and the lines are in this one's data folder";
        let fix = "leave it out, or set store.url, so that several nodes share the lines";
        reader.refuse("node.roles", wrong.to_owned(), fix.to_owned());
    }
}

/// Whether two listeners want the same port of the same address; free ports (0) never collide.
fn collide(a: SocketAddr, b: SocketAddr) -> bool {
    let same_ip = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && same_ip
}
