//! Numbers that are read off the machine and the server: free ports, connections in /proc, counters of /metrics. Loads
//! nothing.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// A scrape that takes longer has failed.
const SCRAPE_MAX: Duration = Duration::from_secs(30);

/// Of connections, by the hexadecimal word of /proc/net/tcp.
const ESTABLISHED: &str = "01";
const TIME_WAIT: &str = "06";

/// Connections that have to do with one port of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Connections {
    /// At work or kept, counted at the end that opened them.
    pub(super) open: u32,
    /// Closed, at either end, and not forgotten yet: each keeps its port for a minute.
    pub(super) time_wait: u32,
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Connections to `port`, as the kernel tells them.
pub(super) fn connections_to(port: u16) -> Result<Connections> {
    let table = fs::read_to_string("/proc/net/tcp").context("Linux tells connections in /proc")?;
    Ok(connections(&table, port))
}

fn connections(table: &str, port: u16) -> Connections {
    let port = format!(":{port:04X}");
    let mut found = Connections::default();
    for line in table.lines().skip(1) {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (Some(local), Some(remote), Some(state)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let (to, at) = (remote.ends_with(&port), local.ends_with(&port));
        match state {
            ESTABLISHED if to => found.open += 1,
            TIME_WAIT if to || at => found.time_wait += 1,
            _ => {}
        }
    }
    found
}

/// How many calls of the line's store the server at this port (`ops.listen`) has made so far.
pub(super) fn store_calls(ops_port: u16) -> Result<f64> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, ops_port)).context("no metrics")?;
    stream.set_read_timeout(Some(SCRAPE_MAX))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    ensure!(text.starts_with("HTTP/1.1 200"), "/metrics was answered {:?}", text.lines().next());
    sum(&text, "jari_store_duration_seconds_count")
}

/// Of a metric, summed over its labels.
fn sum(text: &str, name: &str) -> Result<f64> {
    let values = text.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        (series.split('{').next() == Some(name)).then(|| value.parse::<f64>())
    });
    let values: Vec<f64> = values.collect::<Result<_, _>>()?;
    ensure!(!values.is_empty(), "/metrics has no {name}");
    Ok(values.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_once_and_of_one_port() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
            1: 0100007F:C001 0100007F:1F90 01 00000000:00000000\n\
            2: 0100007F:1F90 0100007F:C001 01 00000000:00000000\n\
            3: 0100007F:C002 0100007F:1F90 06 00000000:00000000\n\
            4: 0100007F:1F90 0100007F:C003 06 00000000:00000000\n\
            5: 0100007F:C004 0100007F:0050 01 00000000:00000000\n";
        assert_eq!(connections(table, 8_080), Connections { open: 1, time_wait: 2 });
        assert_eq!(connections(table, 80), Connections { open: 1, time_wait: 0 });
        assert_eq!(connections("", 80), Connections::default());
    }

    #[test]
    fn a_counter_is_summed_over_its_labels() {
        let text = "HTTP/1.1 200 OK\r\n\r\nx_count{operation=\"a\"} 3\nx_count{operation=\"b\"} 4\nx_counts 9\n";
        assert_eq!(sum(text, "x_count").expect("there"), 7.0);
        assert!(sum(text, "y_count").is_err());
    }
}
