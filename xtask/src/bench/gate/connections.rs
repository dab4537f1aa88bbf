//! What 10,000 requests through the reverse proxy leave of connections to the site: no more than its pool may keep, and
//! hardly any in TIME_WAIT, which is where the system that this one replaces ran out of ports.

use anyhow::{Result, ensure};

use super::numbers::{Connections, connections_to};
use super::site::{Protected, passes};
use crate::bench::entry::{Bar, Entry, value};
use crate::bench::parts::Measured;
use crate::bench::pictures;
use crate::bench::setting::{ROOM, Setting};

const REQUESTS: u32 = 10_000;
/// More than the pool may have, so that it is the pool that bounds.
const CONNECTIONS: &str = "256";
/// The pool's limit: requests at the site at once, and connections kept to it.
const MAX_UPSTREAM: u32 = 64;
/// Longest that the requests may take, on a machine however busy.
const SECONDS: &str = "120";

pub(super) fn measure(setting: &Setting) -> Result<Measured> {
    setting.say(&format!("connections of {REQUESTS} requests"));
    let site = Protected::start(setting, "connections", MAX_UPSTREAM)?;
    let passes = passes(setting, &site.jari, "connections")?.display().to_string();
    let requests = REQUESTS.to_string();
    let more = ["--connections", CONNECTIONS, "--seconds", SECONDS];
    let more = [&more[..], &["--requests", &requests, "--places", &passes]].concat();
    let report =
        setting.load_at((&site.url, &[site.jari.pid()]), &["site", "--room", ROOM], &more)?;
    let left = connections_to(site.upstream.port)?;
    ensure!(value(&report, "/ok")? >= f64::from(REQUESTS), "not all requests were answered");
    let entries = entries(left);
    let rows: Vec<_> = entries.iter().map(|entry| (entry.name.clone(), entry.value)).collect();
    let title = "Connections to the site after 10,000 requests, of which 64 at once";
    let limit = Some(f64::from(MAX_UPSTREAM));
    let drawn = pictures::bars("gate_connections", title, "connections", limit, &rows);
    Ok(Measured { entries, pictures: vec![drawn] })
}

fn entries(left: Connections) -> Vec<Entry> {
    let limit = Bar::AtMost(f64::from(MAX_UPSTREAM));
    vec![
        Entry::held("connections.open", left.open.into(), "connections", limit),
        Entry::held("connections.time_wait", left.time_wait.into(), "connections", limit),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_beyond_the_pool_fall_short() {
        let short = |open, time_wait| {
            let entries = entries(Connections { open, time_wait }).into_iter();
            entries.filter(|entry| entry.holds == Some(false)).count()
        };
        assert_eq!([short(64, 0), short(65, 0), short(10, 10_000)], [0, 1, 1]);
    }
}
