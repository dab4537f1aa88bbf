//! Every call of the line store goes through here: a deadline, a measurement, a note on the store's health.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jari_ports::{LineStore, StoreError};
use tokio::time::{Instant, timeout};

use crate::metrics::{Metrics, StoreOutcome};
use crate::options::Joins;
use crate::store_health::StoreHealth;
use crate::trace;

/// A caller waits no longer for the store: ten times its slowest healthy answer.
const STORE_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct StoreCalls {
    pub store: Arc<dyn LineStore>,
    metrics: Arc<Metrics>,
    health: Arc<StoreHealth>,
    joins: Joins,
}

impl StoreCalls {
    #[must_use]
    pub fn new(
        store: Arc<dyn LineStore>,
        metrics: Arc<Metrics>,
        health: Arc<StoreHealth>,
        joins: Joins,
    ) -> Self {
        StoreCalls { store, metrics, health, joins }
    }

    /// How joins are to travel.
    #[must_use]
    pub fn joins(&self) -> Joins {
        self.joins
    }

    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Awaits one call.
    ///
    /// # Errors
    /// The store's own, or `Silent` where it said nothing in time: then the outcome is unknown.
    pub async fn run<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = self.measured(operation, call).await;
        self.health.note(&answer);
        answer
    }

    /// As [`run`](StoreCalls::run), for a call on one room, whose own health this is.
    ///
    /// # Errors
    /// As [`run`](StoreCalls::run).
    pub async fn run_on<T>(
        &self,
        room: &StoreHealth,
        operation: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = self.run(operation, call).await;
        room.note(&answer);
        answer
    }

    async fn measured<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut span = trace::within().map(|within| within.child(format!("store {operation}")));
        let start = Instant::now();
        let answer = timeout(STORE_DEADLINE, call).await.unwrap_or_else(|_| {
            let seconds = STORE_DEADLINE.as_secs();
            Err(StoreError::Silent(format!("no answer to {operation} in {seconds} s")))
        });
        let outcome = StoreOutcome::of(&answer);
        self.metrics.store_answered(operation, outcome, start.elapsed());
        if let Some(span) = span.as_mut().filter(|_| outcome != StoreOutcome::Answered) {
            span.fail();
        }
        answer
    }
}
