//! TCP connections to the server from several source addresses: one address has ports for 28,000 at most.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::{TcpSocket, TcpStream};

use crate::target::Target;

/// Source addresses of one generator, each with its own ports.
const SOURCES: usize = 8;

/// Where connections come from.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Sources {
    /// Connect from 127.0.N.2 and on; give each of several generators its own
    #[arg(long = "net", value_name = "N", default_value_t = 0)]
    pub(crate) net: u8,
}

impl Sources {
    /// Connects from the source that the connection with this number has.
    pub(crate) async fn dial(self, target: Target, nth: usize) -> Result<TcpStream> {
        let socket = if target.0.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if target.0.is_ipv4() {
            socket
                .bind(SocketAddr::new(self.address(nth).into(), 0))
                .context("no free port at a source address")?;
        }
        let stream = socket
            .connect(target.0)
            .await
            .with_context(|| format!("nothing answers at {}", target.0))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn address(self, nth: usize) -> Ipv4Addr {
        let last = u8::try_from(2 + nth % SOURCES).expect("there are few sources");
        Ipv4Addr::new(127, 0, self.net, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_spread_over_addresses_of_their_own_net() {
        let sources = Sources { net: 3 };
        let all: std::collections::HashSet<_> = (0..100).map(|nth| sources.address(nth)).collect();
        assert_eq!(all.len(), SOURCES);
        assert!(all.iter().all(|address| address.is_loopback() && address.octets()[2] == 3));
    }
}
