//! The traits that adapters implement, each with its contract. Async only in signatures; implements nothing.

mod clock;
mod control;
mod line_store;
mod tick_leases;
mod traces;

use std::future::Future;
use std::pin::Pin;

pub use clock::{Clock, Entropy};
pub use control::{
    ApiKey, ApiKeyScope, AuditPage, Control, ControlError, Handover, Identity, LimitGroup,
    NewApiKey, NodeNote, OnStoreFailure, RoomDefinition, SigningKey, SigningKeyState, SiteKey,
    Tenant, TenantLimits,
};
pub use jari_audit::{AuditEntry, ChainedEntry};
pub use jari_pass::{Challenge, ChallengeKind};
pub use line_store::{EventFeed, FeedLost, LineStore, Reply, StoreError};
pub use tick_leases::{Held, TickLeases};
pub use traces::{Field, Parent, Span, SpanId, SpanKind, Traces};

/// A boxed future, so that ports can be used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
