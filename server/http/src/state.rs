//! What every handler can reach. Cheap to clone; decides nothing.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::{ArcSwap, Guard};
use jari_pass::KeyRing;
use jari_ports::{Clock, Control, ControlError, Entropy, LineStore, StoreError, TickLeases};
use jari_units::RoomId;
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::api_keys::ApiKeys;
use crate::changes::Changes;
use crate::directory::{PrepareError, RoomDirectory, RoomEntry};
use crate::drain::Drain;
use crate::jitter::Jitter;
use crate::join_limit::JoinLimiter;
use crate::leases::Leases;
use crate::losses::Losses;
use crate::metrics::Metrics;
use crate::one_line::OneLine;
use crate::operator_feed::OperatorFeed;
use crate::options::HttpOptions;
use crate::pass_limit::PassLimiter;
use crate::problem_response::Refusal;
use crate::readiness::Readiness;
use crate::room::RoomRuntime;
use crate::site_keys::SiteKeys;
use crate::starting::Starting;
use crate::store_calls::StoreCalls;
use crate::store_health::StoreHealth;
use crate::stream_hub::StreamHub;
use crate::stream_keys::StreamKeys;
use crate::stream_slots::StreamSlots;
use crate::tenant_limits::TenantLimits;
use crate::tenants::Tenants;
use crate::trace::{TraceOptions, Tracer};

/// What the app hands in.
#[derive(Debug)]
pub struct AppParts {
    pub store: Arc<dyn LineStore>,
    pub leases: Arc<dyn TickLeases>,
    pub control: Arc<dyn Control>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub keys: KeyRing,
    pub options: HttpOptions,
    pub metrics: Arc<Metrics>,
    /// `None`: no call is traced, and nothing asks whether.
    pub traces: Option<TraceOptions>,
    /// Told what the start waits for.
    pub starting: Arc<Starting>,
}

/// Everything handlers share.
#[derive(Clone, Debug)]
pub struct AppState(Arc<Shared>);

#[derive(Debug)]
pub struct Shared {
    pub store: Arc<dyn LineStore>,
    pub leases: Leases,
    pub control: Arc<dyn Control>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub(crate) ring: ArcSwap<KeyRing>,
    pub api_keys: ApiKeys,
    pub site_keys: SiteKeys,
    pub tenant_limits: TenantLimits,
    pub(crate) tenants: Tenants,
    pub rooms: RoomDirectory,
    pub changes: Changes,
    pub options: HttpOptions,
    pub metrics: Arc<Metrics>,
    pub(crate) tracer: Option<Arc<Tracer>>,
    pub store_health: Arc<StoreHealth>,
    pub jitter: Arc<Jitter>,
    pub join_limiter: JoinLimiter,
    pub(crate) pass_limiter: PassLimiter,
    pub stream_keys: StreamKeys,
    pub stream_slots: StreamSlots,
    pub(crate) stream_hub: StreamHub,
    pub(crate) operator_feed: OperatorFeed,
    /// One-time tokens that this node has made.
    pub(crate) tokens_made: AtomicU64,
    pub drain: Drain,
    pub(crate) readiness: Readiness,
    pub(crate) one_line: OneLine,
    /// Requests that may still be taken on.
    pub in_flight: Semaphore,
    /// Connections that may still be opened, by all listeners for visitors together.
    pub(crate) connection_slots: Arc<Semaphore>,
}

/// Why the server could not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    LineInUse(PrepareError),
    /// Another node of these records has other lines.
    #[error("{0}")]
    LinesApart(String),
}

impl From<PrepareError> for StartError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Store(error) => error.into(),
            served @ PrepareError::Served { .. } => StartError::LineInUse(served),
        }
    }
}

impl Deref for AppState {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// The signing keys in use. Not to be kept: another node may add one.
    #[must_use]
    pub fn keys(&self) -> Guard<Arc<KeyRing>> {
        self.ring.load()
    }
}

impl AppState {
    /// Reads rooms, groups and keys, and makes sure that the store has them.
    ///
    /// # Errors
    /// Where control or the store does not answer.
    pub async fn start(parts: AppParts) -> Result<Self, StartError> {
        let AppParts {
            store,
            leases,
            control,
            clock,
            entropy,
            keys,
            options,
            metrics,
            traces,
            starting,
        } = parts;
        // Before anything is read: what came after it is then found by `control_watch`.
        let changes = Changes::since(control.revision().await?);
        let jitter = Arc::new(Jitter::new(&*entropy));
        let store_health = Arc::new(StoreHealth::default());
        let (health, joins) = (store_health.clone(), options.joins);
        let calls = Arc::new(StoreCalls::new(store.clone(), metrics.clone(), health, joins));
        let losses = Arc::new(Losses::new(&jitter, control.clone()));
        let one_line = OneLine::new(losses.node, clock.now());
        let agree = one_line.start(&*store, &*control, &*clock, &starting).await?;
        agree.map_err(StartError::LinesApart)?;
        let leases = Leases::new(leases, calls.clone(), losses.node);
        let rooms = RoomDirectory::start(calls, losses, jitter.clone(), &*control).await?;
        let tenants = Tenants::new(control.tenants().await?);
        let api_keys = ApiKeys::load(control.clone(), clock.clone()).await?;
        let site_keys = SiteKeys::load(control.clone()).await?;
        let tenant_limits = TenantLimits::new(&control.tenants().await?);
        let tracer = traces.map(|to| Arc::new(Tracer::new(to, clock.clone(), &*entropy)));
        let join_limiter = JoinLimiter::new(&options, &*entropy);
        let pass_limiter = PassLimiter::new(options.pass_limit, &*entropy);
        let in_flight = Semaphore::new(options.connections.in_flight_max);
        let connection_slots = Arc::new(Semaphore::new(options.connections.max));
        let stream_slots = StreamSlots::new(options.streams);
        let operator_feed = OperatorFeed::new(clock.now());
        Ok(AppState(Arc::new(Shared {
            store,
            leases,
            control,
            clock,
            entropy,
            ring: ArcSwap::from_pointee(keys),
            api_keys,
            site_keys,
            tenant_limits,
            tenants,
            rooms,
            changes,
            options,
            metrics,
            tracer,
            store_health,
            jitter,
            join_limiter,
            pass_limiter,
            stream_keys: StreamKeys::default(),
            stream_slots,
            stream_hub: StreamHub::default(),
            operator_feed,
            tokens_made: AtomicU64::new(0),
            drain: Drain::default(),
            readiness: Readiness::default(),
            one_line,
            in_flight,
            connection_slots,
        })))
    }

    /// The room of that name.
    ///
    /// # Errors
    /// 404 `unknown_room`; also for a text that is no room id.
    pub fn room_entry(&self, room: &str) -> Result<Arc<RoomEntry>, Refusal> {
        let id: RoomId = room.parse().map_err(|_| Refusal::unknown_room(room))?;
        self.rooms.get(&id).ok_or_else(|| Refusal::unknown_room(room))
    }

    /// The room of that name with its replica, read from the store where this is the first use.
    ///
    /// # Errors
    /// 404 `unknown_room`, 503 where the store does not answer.
    pub async fn room(&self, room: &str) -> Result<(Arc<RoomEntry>, Arc<RoomRuntime>), Refusal> {
        let entry = self.room_entry(room)?;
        let runtime = entry.runtime().await?;
        Ok((entry, runtime))
    }
}
