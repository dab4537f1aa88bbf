//! What all rooms of a tenant together may ask of this node in a minute. In memory, and on each node by itself: of two nodes
//! a tenant may ask for twice as much.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use jari_api::Code;
use jari_ports::{Tenant, TenantLimits as Limits};
use jari_units::TenantId;
use tokio::time::Instant;

use crate::problem_response::Refusal;
use crate::rate_cells::{PER_MINUTE, take};

/// How much of each limit a tenant has used.
#[derive(Debug)]
struct Used {
    limits: Limits,
    joins: AtomicU64,
    entries: AtomicU64,
}

/// The tenants that have limits.
#[derive(Debug)]
pub struct TenantLimits {
    epoch: Instant,
    used: ArcSwap<HashMap<TenantId, Arc<Used>>>,
}

impl TenantLimits {
    #[must_use]
    pub fn new(tenants: &[Tenant]) -> Self {
        let limits = TenantLimits { epoch: Instant::now(), used: ArcSwap::default() };
        limits.set(tenants);
        limits
    }

    /// Takes in the tenants as control has them: call after each change. Whose limits stay, what they used stays too.
    pub fn set(&self, tenants: &[Tenant]) {
        let before = self.used.load();
        let used = |tenant: &Tenant| {
            let known = before.get(&tenant.id).filter(|used| used.limits == tenant.limits);
            let fresh = || {
                let (joins, entries) = Default::default();
                Arc::new(Used { limits: tenant.limits, joins, entries })
            };
            (tenant.id.clone(), known.cloned().unwrap_or_else(fresh))
        };
        let limited = tenants.iter().filter(|tenant| tenant.limits != Limits::default());
        self.used.store(Arc::new(limited.map(used).collect()));
    }

    /// Counts a join.
    ///
    /// # Errors
    /// 429 `tenant_limit`; this one does not count.
    pub(crate) fn join(&self, tenant: &TenantId) -> Result<(), Refusal> {
        self.count(tenant, |used| (&used.joins, used.limits.joins_per_minute))
    }

    /// Counts an entry token.
    ///
    /// # Errors
    /// 429 `tenant_limit`; this one does not count.
    pub(crate) fn entry(&self, tenant: &TenantId) -> Result<(), Refusal> {
        self.count(tenant, |used| (&used.entries, used.limits.entries_per_minute))
    }

    fn count(
        &self,
        tenant: &TenantId,
        of: impl Fn(&Used) -> (&AtomicU64, u32),
    ) -> Result<(), Refusal> {
        let all = self.used.load();
        let Some((cell, per_minute)) = all.get(tenant).map(|used| of(used)) else {
            return Ok(());
        };
        if per_minute == 0 {
            return Ok(());
        }
        let now = u64::try_from(self.epoch.elapsed().as_micros()).expect("uptime below 500k years");
        // A minute's worth may come at once: a sale opens with a rush.
        let pace = (PER_MINUTE / u64::from(per_minute)).max(1);
        take(cell, now, pace, u64::from(per_minute))
            .map_err(|after| Refusal::new(Code::TenantLimit).poll_after(after))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tenant(id: &str, joins_per_minute: u32, entries_per_minute: u32) -> Tenant {
        let limits = Limits { joins_per_minute, entries_per_minute };
        let id = id.parse().expect("an id");
        Tenant {
            id,
            name: String::new(),
            rooms_max: 1,
            limits,
            return_urls: Vec::new(),
            cors_origins: Vec::new(),
            version: 1,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_is_held_to_its_own_limit_and_others_are_not() {
        let tenants = [tenant("a", 60, 0), tenant("b", 0, 3)];
        let limits = TenantLimits::new(&tenants);
        let joins = |limits: &TenantLimits, id: &str| {
            let id = id.parse().expect("an id");
            (0..500).filter(|_| limits.join(&id).is_ok()).count()
        };
        assert_eq!((joins(&limits, "a"), joins(&limits, "b"), joins(&limits, "c")), (60, 500, 500));
        let b = "b".parse().expect("an id");
        assert_eq!((0..9).filter(|_| limits.entry(&b).is_ok()).count(), 3);
        let refusal = limits.entry(&b).expect_err("three in a minute");
        assert_eq!(refusal.code(), Code::TenantLimit);
        limits.set(&tenants);
        assert_eq!(joins(&limits, "a"), 0, "what was used stays used");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(joins(&limits, "a"), 5);
        limits.set(&[tenant("a", 0, 0)]);
        assert_eq!(joins(&limits, "a"), 500, "a limit that was lifted holds nobody");
    }
}
