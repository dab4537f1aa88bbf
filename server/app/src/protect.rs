//! A protected site put together: its listener, its rooms, and the HTTP server's options from the configuration.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jari_config::{Protect, TlsFiles};
use jari_gate::Rules;
use jari_http::{
    AppState, HostHeader, PREFIX, ProtectOptions, StartError, Starting, UpstreamLimits,
    UpstreamTls, Workers, ensure_room,
};
use jari_line::Settings;
use jari_ports::{Handover, Identity, OnStoreFailure, RoomDefinition};
use jari_units::RoomId;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::bootstrap::{TENANT, entry};
use crate::certificate::Certificate;
use crate::serve::ServeError;
use crate::store_wait::until_it_answers;
use crate::tls::{self, TlsError};

/// What people read on the page of a room that was made for a site; its operator gives it a better name.
const TITLE: (&str, &str) = ("대기실", "Waiting room");

/// As a start would find the files that it names.
///
/// # Errors
/// Where one cannot be used.
pub(crate) fn check(protect: &Protect) -> Result<(), TlsError> {
    protect.tls.as_ref().map(shown).transpose()?;
    tls::upstream(protect).map(drop)
}

/// A site's listener before anybody is served on it.
pub(crate) struct Door {
    listener: TcpListener,
    addr: SocketAddr,
    options: ProtectOptions,
    /// `None`: plain HTTP.
    tls: Option<(Arc<Certificate>, TlsAcceptor)>,
    workers: Workers,
}

/// A site that is being served.
#[derive(Debug)]
pub struct ProtectedSite {
    pub addr: SocketAddr,
    /// Whether TLS is spoken there, and not before it.
    pub tls: bool,
    /// What visitors type; no slash at the end.
    pub public_url: Url,
    pub upstream: Url,
    pub rules: Rules,
    /// Rooms that this start made, since the rules name them.
    pub made: Vec<RoomId>,
    task: JoinHandle<()>,
    /// They serve until this is dropped.
    _workers: Arc<Workers>,
}

impl Door {
    /// # Errors
    /// Where a certificate cannot be used, or no thread started.
    pub(crate) fn new(listener: TcpListener, protect: &Protect) -> Result<Self, ServeError> {
        let addr = listener.local_addr().expect("it is bound");
        let tls = protect.tls.as_ref().map(shown).transpose()?;
        let options = options(protect, protect.public_url_at(addr), tls::upstream(protect)?);
        let workers = Workers::start().map_err(ServeError::Workers)?;
        Ok(Door { listener, addr, options, tls, workers })
    }

    pub(crate) fn options(&self) -> ProtectOptions {
        self.options.clone()
    }

    /// Serves the site, whose rooms are there, and renews its certificate until `stop`.
    pub(crate) fn open(
        self,
        state: &AppState,
        made: Vec<RoomId>,
        stop: &CancellationToken,
    ) -> ProtectedSite {
        let Door { listener, addr, options, tls, workers } = self;
        let workers = Arc::new(workers);
        let ProtectOptions { upstream, public_url, rules, .. } = options.clone();
        let state = state.clone();
        let has_tls = tls.is_some();
        let tls = tls.map(|(certificate, acceptor)| {
            let renewing = certificate.keep_renewing(state.metrics.clone());
            tokio::spawn(stop.clone().run_until_cancelled_owned(renewing));
            acceptor
        });
        let serving = jari_http::serve_site(state, listener, (options, tls), workers.clone());
        let task = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "the site's listener broke: {error}");
            }
        });
        tracing::info!(%addr, %upstream, "protecting {upstream} on {addr}");
        ProtectedSite {
            addr,
            tls: has_tls,
            public_url,
            upstream,
            rules,
            made,
            task,
            _workers: workers,
        }
    }
}

fn shown(files: &TlsFiles) -> Result<(Arc<Certificate>, TlsAcceptor), TlsError> {
    let certificate = Arc::new(Certificate::read(files)?);
    let acceptor = certificate.acceptor()?;
    Ok((certificate, acceptor))
}

fn options(protect: &Protect, public_url: Url, tls: UpstreamTls) -> ProtectOptions {
    let time = |span: jari_units::Millis| Duration::from_millis(span.0);
    ProtectOptions {
        upstream: protect.upstream.clone(),
        public_url,
        rules: protect.rules.clone(),
        host_header: match protect.host_header {
            jari_config::HostHeader::Keep => HostHeader::Keep,
            jari_config::HostHeader::Upstream => HostHeader::Upstream,
        },
        limits: UpstreamLimits {
            connect: time(protect.connect_timeout),
            response: time(protect.response_timeout),
            idle: time(protect.idle_timeout),
            max: usize::try_from(protect.max_upstream).unwrap_or(usize::MAX),
        },
        tls,
    }
}

/// Files for the site's side, and for the visitors' side of WebSockets, which leave HTTP's own count. Not more than half of
/// those there are.
#[must_use]
pub(crate) fn files_needed(protect: Option<&Protect>, open_files: u64) -> u64 {
    let wanted = protect.map_or(0, |protect| protect.max_upstream.saturating_mul(2));
    wanted.min(open_files / 2)
}

/// Makes the rooms that the rules name and nobody has made; answers which.
pub(crate) async fn make_rooms(
    state: &AppState,
    rules: &Rules,
    starting: &Starting,
) -> Result<Vec<RoomId>, StartError> {
    let mut made = Vec::new();
    for rule in rules.all() {
        let room = definition(state, &rule.room, target(rule.path.as_str()));
        let told =
            serde_json::json!({"room": rule.room.as_str(), "guards": rule.name()}).to_string();
        let entry = entry("room.create", format!("room:{}", rule.room), room.created_at, &told);
        let is_away =
            |error: &StartError| matches!(error, StartError::Store(error) if error.is_away());
        let ensure = || ensure_room(state, room.clone(), entry.clone());
        let what = format!("room {}, which {} needs,", rule.room, rule.name());
        if until_it_answers(starting, &what, is_away, ensure).await? {
            tracing::info!(room = %rule.room, "made the room {}, which guards {}", rule.room, rule.name());
            made.push(rule.room.clone());
        }
    }
    Ok(made)
}

/// Where an admitted person goes who was not on the way to anywhere: up to the first star.
fn target(pattern: &str) -> String {
    let plain = pattern.split('*').next().unwrap_or("/");
    plain
        .get(..=plain.rfind('/').unwrap_or(0))
        .filter(|_| pattern.contains('*'))
        .unwrap_or(plain)
        .to_owned()
}

fn definition(state: &AppState, id: &RoomId, target_url: String) -> RoomDefinition {
    let (title_ko, title_en) = TITLE;
    RoomDefinition {
        id: id.clone(),
        tenant: TENANT.parse().expect("it has only lower-case letters"),
        group: None,
        identity: Identity::Anonymous,
        title_ko: title_ko.to_owned(),
        title_en: title_en.to_owned(),
        target_url,
        on_store_failure: OnStoreFailure::Wait,
        handover: Handover::Cookie,
        challenge: jari_ports::Challenge::default(),
        settings: Settings::default(),
        version: 0,
        created_at: state.clock.now(),
    }
}

impl ProtectedSite {
    /// Where people wait for a room of this site.
    #[must_use]
    pub fn room_page(&self, room: &RoomId) -> String {
        let origin = self.public_url.as_str().trim_end_matches('/');
        format!("{origin}{PREFIX}/rooms/{room}")
    }

    /// Waits until it is drained.
    pub(crate) async fn drained(&mut self) {
        _ = (&mut self.task).await;
    }

    pub(crate) fn cut(&self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_not_on_the_way_to_anywhere_goes_to_the_first_guarded_page() {
        for (pattern, want) in [
            ("/*", "/"),
            ("/tickets/*", "/tickets/"),
            ("/tickets*", "/"),
            ("/a/*/b", "/a/"),
            ("/checkout", "/checkout"),
        ] {
            assert_eq!(target(pattern), want, "{pattern}");
        }
    }
}
