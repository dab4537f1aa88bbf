//! Everything that stands before the crowd comes: the server, the room, the protected site. Simulates nobody.

use std::net::{SocketAddr, TcpListener as StdListener};

use anyhow::{Context, Result, bail};
use jari_config::Config;
use jari_ports::Clock as _;
use jari_units::{Millis, Timestamp};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

use super::DemoArgs;
use super::operator::{DemoRoom, Operator};
use super::progress::Screen;
use super::shop::{self, Shop};
use crate::{Running, ServeOptions, SystemClock, logging, open_files};

/// The demo room's id.
pub(super) const ROOM: &str = "demo";
/// Only what a person should act on: the screen is for the line.
const LOG_LEVEL: &str = "warn";

pub(super) struct Stage {
    running: Running,
    shop: JoinHandle<()>,
    shop_url: String,
    /// `http://127.0.0.1:8080`
    pub(super) server: String,
    key: String,
    pub(super) operator: Operator,
    pub(super) opens: Instant,
    /// Removed when the demo ends.
    _folder: Option<TempDir>,
}

impl Stage {
    pub(super) async fn build(args: &DemoArgs, screen: &mut Screen) -> Result<Stage> {
        let listen = free_address(args.listen, screen);
        let (folder, config) = config(args, listen)?;
        logging::start(&config.log)?;
        let options = ServeOptions { open_files: open_files::raise(), ..ServeOptions::default() };
        let running = crate::serve(&config, options).await?;
        let server = format!("http://{}", running.public_addr);
        let Some(key) = running.first_key.clone().or_else(|| args.key.clone()) else {
            running.stop().await;
            bail!(
                "this data folder was used before; give its admin key with --key or JARI_ADMIN_KEY"
            );
        };
        let (ip, port) = (running.public_addr.ip(), running.public_addr.port());
        let (listener, addr) = shop::listen(ip, port.saturating_add(1)).await?;
        let shop_url = format!("http://{addr}/");
        let public = running.public_url.as_str().trim_end_matches('/');
        let routes = Shop::new(&server, public, ROOM)?.routes();
        let shop = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the protected page's listener broke: {error}");
            }
        });
        let operator = Operator::new(&server, key.clone(), ROOM)?;
        let (opens_at, opens) = opening(args.opens_in);
        let room = DemoRoom {
            target_url: shop_url.clone(),
            capacity: args.capacity,
            rate_per_s: f64::from(args.rate),
            opens_at: opens_at.into(),
        };
        let opens = if operator.set_room(&room).await? { opens } else { Instant::now() };
        Ok(Stage { running, shop, shop_url, server, key, operator, opens, _folder: folder })
    }

    /// What a person needs to look around.
    pub(super) fn greeting(&self) -> String {
        let Stage { shop_url, server, key, .. } = self;
        let (ops, public) = (self.running.ops_addr, self.running.public_url.as_str());
        let public = public.trim_end_matches('/');
        // Typed into another terminal, where `jari` may not be on the path.
        let program =
            std::env::current_exe().map_or("jari".into(), |path| path.display().to_string());
        let opens = match self.opens.saturating_duration_since(Instant::now()).as_secs() {
            0 => "open".to_owned(),
            seconds => format!("opens in {seconds} s"),
        };
        format!(
            "Waiting room    {public}/rooms/{ROOM}   ({opens})\n\
             Protected page  {shop_url}   (sends you to the room until you have a pass)\n\
             Metrics         http://{ops}/metrics\n\
             Operator page   {public}/admin   (sign in with the admin key)\n\
             Admin key       {key}\n\
             Change the rate JARI_ADMIN_KEY={key} {program} room set {ROOM} --rate 50 --server {server}\n\
             Kill it         kill -9 {}\n",
            std::process::id()
        )
    }

    /// Drains and stops.
    pub(super) async fn close(self) {
        self.shop.abort();
        self.running.stop().await;
    }
}

/// The opening on the wire and on this process's clock.
fn opening(opens_in_s: u64) -> (Timestamp, Instant) {
    let span = Millis::from_secs(opens_in_s);
    (SystemClock.now() + span, Instant::now() + Duration::from_millis(span.0))
}

/// `wanted`, or any free port beside it where another program has it.
fn free_address(wanted: SocketAddr, screen: &mut Screen) -> SocketAddr {
    match StdListener::bind(wanted) {
        Ok(_) => wanted,
        Err(error) => {
            screen.say(format_args!("{wanted} cannot be had ({error}); taking a free port.\n"));
            SocketAddr::new(wanted.ip(), 0)
        }
    }
}

/// The built-in configuration with the demo's own settings; no file and no environment changes a demo.
fn config(args: &DemoArgs, listen: SocketAddr) -> Result<(Option<TempDir>, Config)> {
    let mut config = Config::default();
    config.http.listen = listen;
    config.http.join_limit_per_minute = 0;
    config.ops.listen = SocketAddr::new(listen.ip(), 0);
    LOG_LEVEL.clone_into(&mut config.log.level);
    let folder = match &args.data {
        Some(dir) => {
            config.store.data_dir.clone_from(dir);
            None
        }
        None => {
            let folder = tempfile::Builder::new().prefix("jari-demo-").tempdir();
            let folder = folder.context("cannot make a temporary folder; name one with --data")?;
            config.store.data_dir = folder.path().to_owned();
            Some(folder)
        }
    };
    Ok((folder, config))
}
