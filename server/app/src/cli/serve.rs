//! `jari serve`: runs the server until it is told to stop.

use std::fmt::Write as _;

use clap::Args;

use super::config_args::ConfigArgs;
use super::{Failure, print};
use crate::serve::Signals;
use crate::{ProtectedSite, Running, ServeOptions, file_size, hangups, logging, open_files};

const EXAMPLES: &str = "\
Examples:
  jari serve
  jari serve --listen 0.0.0.0:8080 --public-url https://wait.example.com --data /var/lib/jari
  jari serve --protect http://127.0.0.1:3000 --room shop --path '/tickets/*'
  jari serve --config /etc/jari/jari.toml --log-format json

The first start makes the data folder and an admin key, and prints the key once.
SIGTERM or Ctrl-C drains: streams are told to come back, requests in flight finish. A second one stops at once.
SIGHUP reads the certificate of protect.tls_cert again, and ends nothing.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// Make another admin key and print it once: for who has lost theirs. Keys that are there stay.
    #[arg(long)]
    new_admin_key: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let config = args.config.load().map_err(|errors| Failure::failed(errors.to_string()))?;
    logging::start(&config.log).map_err(|error| Failure::failed(error.to_string()))?;
    let open_files = open_files::raise();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let served = runtime.block_on(async {
        file_size::survive_limit();
        // Before the start, which may wait for a store.
        tokio::spawn(hangups::keep_hearing());
        let new_admin_key = args.new_admin_key;
        let options = ServeOptions { open_files, new_admin_key, ..ServeOptions::default() };
        // From the first moment on: a start may wait, and as a container's first process it would not be ended by a signal that
        // nobody hears.
        let mut signals = Signals::new();
        let started = tokio::select! {
            started = crate::serve(&config, options) => started,
            () = signals.next() => {
                tracing::info!("stopped before it served, as told");
                return Ok(());
            }
        };
        let running = started.map_err(|error| Failure::failed(error.to_string()))?;
        print(&greeting(&running))?;
        running.until_told(signals).await;
        Ok(())
    });
    // What a second signal interrupted is not waited for.
    runtime.shutdown_background();
    served
}

/// What is protected, and what a visitor sees of it.
fn about_site(site: &ProtectedSite) -> String {
    let mut text = format!(
        "\nprotecting {} on {}://{}, open {}\n",
        site.upstream.as_str().trim_end_matches('/'),
        if site.tls { "https" } else { "http" },
        site.addr,
        site.public_url
    );
    for rule in site.rules.all() {
        let made =
            if site.made.contains(&rule.room) { " (made now, with the defaults)" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "  {} needs a pass of room {}{made}; without one, a browser is sent to\n    {}\n",
            rule.name(),
            rule.room,
            site.room_page(&rule.room)
        );
        for open in &rule.exclude {
            let _ = writeln!(text, "    but {open} is open to all");
        }
    }
    text
}

/// What a person at the terminal needs next. Tests and scripts wait for the first line.
fn greeting(running: &Running) -> String {
    let url = running.public_url.as_str().trim_end_matches('/');
    let mut text = format!(
        "jari listens on http://{} (health and metrics on http://{})\n",
        running.public_addr, running.ops_addr
    );
    if let Some(site) = &running.site {
        text.push_str(&about_site(site));
    }
    if let Some(key) = &running.first_key {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nAdmin key, shown this once (only a hash of it is kept):\n\n  {key}\n\n\
             Make a room with it:\n\n  \
             export JARI_ADMIN_KEY={key}\n  \
             jari room create shop --server http://{}\n\n\
             and send people to {url}/rooms/shop; watch and steer it on {url}/admin\n",
            running.public_addr
        );
    }
    text
}
