//! Starting and stopping a server in this process: used by `jari serve`, the demo and the tests alike.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jari_config::Config;
use jari_http::metrics::Metrics;
use jari_http::{AppParts, AppState, Role, StartError, Starting, TraceOptions};
use jari_ports::{Clock, Entropy};
use jari_records::Records;
use jari_telemetry::Collector;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::adapter_metrics::AdapterMetrics;
use crate::bootstrap::{self, BootstrapError};
use crate::lines::Lines;
use crate::open_files::OPEN_FILES_ASSUMED;
use crate::options::http_options;
use crate::protect::{self, Door, ProtectedSite};
use crate::records::{self, RecordsError};
use crate::tls::TlsError;
use crate::{SystemClock, SystemEntropy, traces};

/// Beyond the drain's own limit, for the last connections to close.
const DRAIN_GRACE: Duration = Duration::from_secs(2);
/// Connections that wait to be accepted; the system may allow fewer. Whoever finds no room tries again after a second, so
/// it should hold a rush's worth of some hundred milliseconds.
const BACKLOG: u32 = 4_096;

/// What is handed in from outside.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Files the process may open: bounds the connections.
    pub open_files: u64,
    /// Makes an admin key though there are keys: for who has lost theirs and owns the data folder.
    pub new_admin_key: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            open_files: OPEN_FILES_ASSUMED,
            new_admin_key: false,
        }
    }
}

/// Why a server did not start; the text says what to do.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] jari_embedded::OpenError),
    #[error("store.url: {0}")]
    Redis(#[from] jari_redis::OpenError),
    #[error("{} cannot be used: {source}; check that it exists, its owner and its permissions", path.display())]
    Path { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(
        "cannot listen on {addr} ({key}): {source}; stop what listens there, or choose another address"
    )]
    Listen { key: &'static str, addr: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the threads that serve the site cannot be started: {0}; the system has none left")]
    Workers(std::io::Error),
    #[error("telemetry.otlp_endpoint cannot be used: {0}")]
    Traces(#[from] jari_telemetry::StartError),
    #[error("the thread that opens the data folder ended early: {0}")]
    Opening(#[from] tokio::task::JoinError),
}

/// A server at work.
#[derive(Debug)]
pub struct Running {
    pub public_addr: SocketAddr,
    pub ops_addr: SocketAddr,
    /// What visitors type; no slash at the end.
    pub public_url: Url,
    /// The admin key, where this start made one: the first on a data folder, or one that was asked to.
    pub first_key: Option<String>,
    /// The site that is protected, where there is one.
    pub site: Option<ProtectedSite>,
    state: AppState,
    lines: Lines,
    records: Records,
    collector: Option<Arc<Collector>>,
    drain_notice: Duration,
    drain_limit: Duration,
    public: JoinHandle<()>,
    ops: JoinHandle<()>,
    /// Ends what runs beside the listeners.
    stop: CancellationToken,
}

/// Starts a server as `config` says.
///
/// # Errors
/// [`ServeError`]; nothing is left running then.
pub async fn serve(config: &Config, options: ServeOptions) -> Result<Running, ServeError> {
    let ServeOptions { clock, entropy, open_files, new_admin_key } = options;
    let stop = CancellationToken::new();
    // Where the start fails, or is given up.
    let unless_it_serves = stop.clone().drop_guard();
    let starting = Arc::<Starting>::default();
    // First: in the data folder, the lines' lock keeps a second process out of the records too. With the lines elsewhere there
    // is no lock, since several nodes on one machine may share the records.
    let lines = Lines::open(config, clock.clone()).await?;
    // What the rest waits for, if it has to, is told there.
    let ops = listen("ops.listen", config.ops.listen)?;
    let bound = |listener: &TcpListener| listener.local_addr().expect("it is bound");
    let ops_addr = bound(&ops);
    tracing::info!(%ops_addr, "starting; health and metrics on http://{ops_addr}");
    let ops = spawn_ops(&starting, ops, &stop);
    let records = records::open(config, &lines, &starting).await?;
    let control = Arc::new(records.clone());
    let keys = bootstrap::signing_keys(&*control, &*clock, &*entropy).await?;
    let collector = traces::collector(&config.telemetry, &*entropy)?;
    let public = listen("http.listen", config.http.listen)?;
    let door = open_door(config)?;
    let site_options = door.as_ref().map(Door::options);
    let open_files = open_files - protect::files_needed(config.protect.as_ref(), open_files);
    let public_addr = bound(&public);
    let public_url = config.http.public_url_at(public_addr);
    let metrics = AdapterMetrics {
        lines: lines.clone(),
        records: records.clone(),
        collector: collector.clone(),
    };
    let parts = AppParts {
        store: lines.port(),
        leases: lines.leases(),
        control,
        clock,
        entropy,
        keys,
        options: http_options(config, public_url.clone(), open_files, site_options.clone()),
        metrics: Arc::new(Metrics::new().with(metrics)),
        traces: trace_options(config, collector.as_ref()),
        starting: starting.clone(),
    };
    let state = AppState::start(parts).await?;
    let made = match &site_options {
        Some(site) => protect::make_rooms(&state, &site.rules, &starting).await?,
        None => Vec::new(),
    };
    // Last of all that can fail: a key that was made and never shown would be lost.
    let first_key = bootstrap::admin_key(&state, new_admin_key).await?;
    unless_it_serves.disarm();
    spawn_beside(&state, &stop);
    let public = spawn_public(&state, public);
    starting.serves(state.clone());
    let site = door.map(|door| door.open(&state, made, &stop));
    tell_serving(&state, public_addr, ops_addr);
    let drain_notice = Duration::from_millis(config.http.drain_notice.0);
    let drain_limit = Duration::from_millis(config.http.drain_timeout.0);
    Ok(Running {
        public_addr,
        ops_addr,
        public_url,
        first_key,
        site,
        state,
        lines,
        records,
        collector,
        drain_notice,
        drain_limit,
        public,
        ops,
        stop,
    })
}

fn open_door(config: &Config) -> Result<Option<Door>, ServeError> {
    let Some(protect) = &config.protect else { return Ok(None) };
    Ok(Some(Door::new(listen("protect.listen", protect.listen)?, protect)?))
}

fn trace_options(config: &Config, collector: Option<&Arc<Collector>>) -> Option<TraceOptions> {
    let ratio = traces::ratio(&config.telemetry);
    collector.map(|to| TraceOptions { to: to.clone(), ratio })
}

fn tell_serving(state: &AppState, public_addr: SocketAddr, ops_addr: SocketAddr) {
    let roles = state.options.roles;
    tracing::info!(
        %public_addr, %ops_addr, %roles,
        "serving on {public_addr}, operators on {ops_addr}; roles: {roles}"
    );
}

fn listen(key: &'static str, addr: SocketAddr) -> Result<TcpListener, ServeError> {
    let listening = || {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // As `TcpListener::bind` does: a restart need not wait for the last connections' ports.
        #[cfg(not(windows))]
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        socket.listen(BACKLOG)
    };
    listening().map_err(|source| ServeError::Listen { key, addr, source })
}

/// What a node does beside answering, and what only nodes of one role do.
fn spawn_beside(state: &AppState, stop: &CancellationToken) {
    tokio::spawn(stop.clone().run_until_cancelled_owned(note_key_uses(state.clone())));
    let watch = jari_http::control_watch::run(state.clone());
    tokio::spawn(stop.clone().run_until_cancelled_owned(watch));
    let roles = state.options.roles;
    if roles.has(Role::Admitter) {
        let ticks = jari_http::admitter::run(state.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(ticks));
    }
    if roles.has(Role::Web) {
        let feed = jari_http::operator_feed::run(state.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(feed));
    }
}

fn spawn_public(state: &AppState, listener: TcpListener) -> JoinHandle<()> {
    let state = state.clone();
    tokio::spawn(async move {
        if let Err(error) = jari_http::serve(state, listener).await {
            tracing::error!(%error, "the public listener broke: {error}");
        }
    })
}

fn spawn_ops(
    starting: &Arc<Starting>,
    listener: TcpListener,
    stop: &CancellationToken,
) -> JoinHandle<()> {
    let (starting, stop) = (starting.clone(), stop.clone());
    tokio::spawn(async move {
        let stopped = async move { stop.cancelled().await };
        if let Err(error) = jari_http::ops::serve(starting, listener, stopped).await {
            tracing::error!(%error, "the operators' listener broke: {error}");
        }
    })
}

async fn note_key_uses(state: AppState) {
    state.api_keys.keep_noting_uses().await;
}

impl Running {
    /// Drains and stops: readiness says so for the configured notice, then streams are told to come back and requests in
    /// flight finish within the configured limit.
    pub async fn stop(self) {
        self.state.drain.announce();
        tokio::time::sleep(self.drain_notice).await;
        self.state.drain.begin();
        let Running { mut public, mut ops, mut site, stop, state, lines, records, .. } = self;
        let (drain_limit, collector) = (self.drain_limit, self.collector);
        let both = async {
            _ = (&mut public).await;
            if let Some(site) = &mut site {
                site.drained().await;
            }
        };
        if tokio::time::timeout(drain_limit + DRAIN_GRACE, both).await.is_err() {
            tracing::warn!("some connections did not end within {drain_limit:?} and were cut");
            public.abort();
            if let Some(site) = &site {
                site.cut();
            }
        }
        if let Err(error) = state.api_keys.note_uses().await {
            tracing::warn!(%error, "the last uses of API keys were not noted: {error}");
        }
        stop.cancel();
        // At the drain's beginning already, where another admitter was there.
        state.leases.give_up().await;
        state.rooms.stop();
        // Its connections are asked to close, and cut where they do not.
        if tokio::time::timeout(DRAIN_GRACE, &mut ops).await.is_err() {
            ops.abort();
        }
        if let Err(error) = state.forget_lines().await {
            tracing::warn!(%error, "that this node has stopped was not noted: {error}");
        }
        records.close().await;
        lines.close().await;
        // Nothing that its threads served needs them any more.
        drop(site);
        // After everything that has spans of its own.
        if let Some(collector) = collector {
            collector.shutdown(DRAIN_GRACE).await;
        }
        tracing::info!("stopped");
    }

    /// Serves until SIGTERM or Ctrl-C, then stops as [`Running::stop`]; a second signal ends the wait at once.
    pub(crate) async fn until_told(self, mut signals: Signals) {
        signals.next().await;
        tracing::info!("draining; a second signal stops at once");
        tokio::select! {
            () = self.stop() => {}
            () = signals.next() => tracing::warn!("stopped at once, as told"),
        }
    }
}

/// What tells a process to stop.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let listen = |kind| signal(kind).expect("these signals may be handled by any process");
            Signals {
                terminate: listen(SignalKind::terminate()),
                interrupt: listen(SignalKind::interrupt()),
            }
        }
        #[cfg(not(unix))]
        Signals {}
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        // Where Ctrl-C cannot be heard, only the system ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
