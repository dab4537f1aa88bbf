//! The example site as a program: reads its settings and serves. The site itself is the library beside it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Parser;
use site_rust::{Settings, site};
use tokio::net::TcpListener;
use url::Url;

/// A site behind a Jari room on another host.
#[derive(Debug, Parser)]
struct Args {
    /// Where Jari is.
    #[arg(long, env = "JARI_URL")]
    jari: Url,
    /// A key of the room's tenant (`jari key create --scope tenant`).
    #[arg(long, env = "JARI_KEY", hide_env_values = true)]
    key: String,
    #[arg(long, env = "JARI_ROOM")]
    room: String,
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    /// Where visitors reach this site; left out, on this machine.
    #[arg(long, env = "SITE_URL")]
    own: Option<Url>,
    #[arg(long, env = "TOUCH_EVERY_MS", default_value_t = 5_000)]
    touch_every_ms: u64,
}

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "where it listens is what whoever started it wants to know"
)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Args { jari, key, room, port, own, touch_every_ms } = Args::parse();
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let here = format!("http://{}/", listener.local_addr()?);
    let own = match own {
        Some(own) => own,
        None => here.parse()?,
    };
    let touch_every = Duration::from_millis(touch_every_ms.max(1));
    let settings = Settings { jari, key, room, own, touch_every };
    println!("listening on {here}");
    axum::serve(listener, site(&settings)).await?;
    Ok(())
}
