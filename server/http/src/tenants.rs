//! The tenants in memory: what a request has to know of whose room it is. Who may change them is the operators' handlers'
//! business.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jari_gate::Origin;
use jari_ports::Tenant;
use jari_units::TenantId;

type ById = HashMap<TenantId, Arc<Tenant>>;

/// Read by requests, so without a lock.
#[derive(Debug)]
pub(crate) struct Tenants(ArcSwap<ById>);

fn by_id(tenants: Vec<Tenant>) -> ById {
    tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect()
}

impl Tenants {
    pub(crate) fn new(tenants: Vec<Tenant>) -> Self {
        Tenants(ArcSwap::from_pointee(by_id(tenants)))
    }

    /// All of them anew, as control has them.
    pub(crate) fn replace(&self, tenants: Vec<Tenant>) {
        self.0.store(Arc::new(by_id(tenants)));
    }

    /// Takes in a tenant that control has stored.
    pub(crate) fn upsert(&self, tenant: Tenant) {
        let tenant = Arc::new(tenant);
        self.edit(|all| _ = all.insert(tenant.id.clone(), tenant.clone()));
    }

    /// Forgets a tenant that control has deleted.
    pub(crate) fn remove(&self, id: &TenantId) {
        self.edit(|all| _ = all.remove(id));
    }

    /// `None`: control has it, and it has not come here yet.
    pub(crate) fn get(&self, id: &TenantId) -> Option<Arc<Tenant>> {
        self.0.load().get(id).cloned()
    }

    /// Whether any tenant lists the origin.
    pub(crate) fn any_lists(&self, origin: &str) -> bool {
        self.0.load().values().any(|tenant| lists(tenant, origin))
    }

    /// Replaces the map by an edited copy: tenants come and go by hand.
    fn edit(&self, change: impl Fn(&mut ById)) {
        self.0.rcu(|all| {
            let mut all = ById::clone(all);
            change(&mut all);
            all
        });
    }
}

/// Whether pages of this origin, as a browser sends it, may call the visitors' API of the tenant's rooms.
pub(crate) fn lists(tenant: &Tenant, origin: &str) -> bool {
    tenant.cors_origins.iter().map(Origin::as_str).any(|listed| listed == origin)
}
