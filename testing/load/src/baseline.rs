//! The baseline: handlers that do nothing, served as Jari serves its own. Same listener, layers, runtime, allocator and
//! log level, so that the ratio to it is what Jari's handlers and its line cost; or, with `--plain`, on axum alone,
//! with pages that count how many of them are worked on at once.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use jari::{SystemClock, SystemEntropy};
use jari_embedded::EmbeddedStore;
use jari_http::metrics::Metrics;
use jari_http::{AppParts, AppState, ConnectionLimits, HttpOptions, JoinLimit};
use jari_pass::{KeyRing, RingKey};
use jari_ports::{
    AuditEntry, Clock, Control as _, Entropy, Identity, LineStore as _, OnStoreFailure,
    RoomDefinition,
};
use jari_records::Records;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::{empty, held};

/// Files that are no connections: as much as `jari serve` keeps back.
const FILES_RESERVED: u64 = 256;

#[derive(Args, Debug)]
pub(crate) struct BaselineArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Without Jari's layers and listener: axum alone, as a site to be protected
    #[arg(long)]
    plain: bool,
    /// The room that requests will name: the layers know it, as they know a real one
    #[arg(long, default_value = "bench")]
    room: String,
    /// What is logged, as in `log.level`
    #[arg(long, default_value = "warn")]
    log_level: String,
}

/// Serves until it is stopped; prints the address first.
pub(crate) fn run(args: &BaselineArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port))).await?;
        let address = listener.local_addr()?;
        let told = || writeln!(std::io::stdout(), "baseline on http://{address}");
        if args.plain {
            told()?;
            return Ok(axum::serve(listener, empty::routes().merge(held::routes())).await?);
        }
        log(&args.log_level)?;
        let folder = tempfile::tempdir().context("no temporary folder")?;
        let state = state(folder.path(), address, &args.room).await?;
        tokio::spawn(jari_http::admitter::run(state.clone()));
        told()?;
        let routes = jari_http::layered(empty::routes(), state.clone());
        Ok(jari_http::serve_routes(state, listener, routes).await?)
    })
}

/// As `jari serve` logs where its error output is no terminal.
fn log(level: &str) -> Result<()> {
    let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::try_new(level)?);
    let lines = lines.with_writer(std::io::stderr).json().flatten_event(true);
    let started = lines.with_current_span(false).try_init();
    started.map_err(|error| anyhow::anyhow!("logging cannot be started: {error}"))
}

/// What the layers need to know, with one room in it.
async fn state(folder: &Path, address: SocketAddr, room: &str) -> Result<AppState> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let file = folder.join("records.db").display().to_string();
    let records = Records::open(&file, Duration::ZERO).await?;
    let definition = definition(room, &*clock)?;
    let (dir, its_clock) = (folder.to_owned(), clock.clone());
    let store = tokio::task::spawn_blocking(move || EmbeddedStore::open(&dir, its_clock)).await??;
    // As whoever defines a room does: one that only control has was lost.
    store.create(&definition.id, definition.settings.clone()).await?;
    records.put_room(definition, entry(room, &*clock)).await?;
    let entropy = SystemEntropy;
    let mut secrets = [[0; 32]; 2];
    secrets.iter_mut().for_each(|secret| entropy.fill(secret));
    let signer = RingKey { id: 1, secret: secrets[0], signs: true };
    let store = Arc::new(store);
    let parts = AppParts {
        store: store.clone(),
        leases: store,
        control: Arc::new(records),
        clock,
        entropy: Arc::new(entropy),
        keys: KeyRing::new(vec![signer], secrets[1])?,
        options: options(address)?,
        metrics: Arc::new(Metrics::new()),
        traces: None,
        starting: Arc::default(),
    };
    Ok(AppState::start(parts).await?)
}

fn options(address: SocketAddr) -> Result<HttpOptions> {
    let files = rlimit::increase_nofile_limit(u64::MAX).context("the limit of open files")?;
    let defaults = HttpOptions::new(format!("http://{address}").parse()?);
    let max = usize::try_from(files.saturating_sub(FILES_RESERVED)).unwrap_or(usize::MAX);
    Ok(HttpOptions {
        connections: ConnectionLimits { max, ..defaults.connections },
        join_limit: JoinLimit { per_minute: 0, burst: 1 },
        ..defaults
    })
}

fn entry(room: &str, clock: &dyn Clock) -> AuditEntry {
    AuditEntry {
        no: 0,
        at: clock.now(),
        actor: "system".to_owned(),
        action: "room.create".to_owned(),
        target: format!("room:{room}"),
        before: String::new(),
        after: String::new(),
    }
}

fn definition(room: &str, clock: &dyn Clock) -> Result<RoomDefinition> {
    Ok(RoomDefinition {
        id: room.parse().context("no room's name")?,
        tenant: "default".parse().context("no tenant's name")?,
        group: None,
        identity: Identity::Anonymous,
        title_ko: room.to_owned(),
        title_en: room.to_owned(),
        target_url: "/".to_owned(),
        on_store_failure: OnStoreFailure::Wait,
        handover: jari_ports::Handover::Cookie,
        challenge: jari_ports::Challenge::default(),
        settings: jari_line::Settings::default(),
        version: 0,
        created_at: clock.now(),
    })
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::connection::Connection;
    use crate::dial::Sources;
    use crate::target::Target;

    /// The layers are there (a call has its number), and the empty handler's bytes come through them unchanged.
    #[tokio::test(flavor = "multi_thread")]
    async fn empty_handlers_stand_behind_the_layers() {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let state = state(folder.path(), address, "bench").await.expect("it starts");
        let routes = jari_http::layered(empty::routes(), state.clone());
        tokio::spawn(jari_http::serve_routes(state, listener, routes));
        let target = Target(address);
        let mut connection =
            Connection::open(target, Sources::default(), 0).await.expect("it listens");
        let (status, body) = connection
            .ask(Method::GET, "/v1/rooms/bench/places/me", None)
            .await
            .expect("an answer");
        assert_eq!(status, StatusCode::OK);
        assert!(body.starts_with(br#"{"room":"bench""#));
        let (status, body) =
            connection.ask(Method::GET, "/nowhere", None).await.expect("an answer");
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(body.starts_with(br#"{"type""#), "the layers' own answer");
    }
}
