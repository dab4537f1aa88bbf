//! Control whose next answer of one kind comes late: what others do meanwhile overtakes it. Counts what it is asked.

use std::collections::HashMap;
use std::time::Duration;

use jari_ports::{
    ApiKey, AuditEntry, AuditPage, BoxFuture, Control, ControlError, LimitGroup, NewApiKey,
    NodeNote, RoomDefinition, SigningKey, SiteKey, Tenant,
};
use jari_units::{GroupId, NodeId, RoomId, TenantId, Timestamp};
use parking_lot::Mutex;

#[derive(Debug)]
pub(crate) struct Lagging<C> {
    control: C,
    late: Mutex<Option<(&'static str, Duration)>>,
    asked: Mutex<HashMap<&'static str, u32>>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, ControlError>>;

impl<C> Lagging<C> {
    pub(crate) fn new(control: C) -> Self {
        Lagging { control, late: Mutex::default(), asked: Mutex::default() }
    }

    /// How often `operation` was asked for.
    pub(crate) fn asked(&self, operation: &str) -> u32 {
        self.asked.lock().get(operation).copied().unwrap_or(0)
    }

    /// The next answer of `operation` comes so much later than it was true.
    pub(crate) fn delay_next(&self, operation: &'static str, by: Duration) {
        *self.late.lock() = Some((operation, by));
    }

    async fn lag(&self, operation: &str) {
        let late = self.late.lock().take_if(|(of, _)| *of == operation);
        if let Some((_, by)) = late {
            tokio::time::sleep(by).await;
        }
    }
}

macro_rules! lagging {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $outcome:ty;)*) => {
        impl<C: Control> Control for Lagging<C> {
            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $outcome> {
                *self.asked.lock().entry(stringify!($name)).or_default() += 1;
                let answer = self.control.$name($($arg),*);
                Box::pin(async move {
                    let answer = answer.await;
                    self.lag(stringify!($name)).await;
                    answer
                })
            })*
        }
    };
}

lagging! {
    revision() -> u64;
    tenants() -> Vec<Tenant>;
    put_tenant(tenant: Tenant, entry: AuditEntry) -> u64;
    delete_tenant(id: &TenantId, entry: AuditEntry) -> ();
    rooms() -> Vec<RoomDefinition>;
    put_room(definition: RoomDefinition, entry: AuditEntry) -> u64;
    delete_room(id: &RoomId, entry: AuditEntry) -> ();
    groups() -> Vec<LimitGroup>;
    put_group(group: LimitGroup, entry: AuditEntry) -> u64;
    delete_group(id: &GroupId, entry: AuditEntry) -> ();
    api_keys() -> Vec<ApiKey>;
    add_api_key(key: NewApiKey, at: Timestamp, entry: AuditEntry) -> ();
    add_first_api_key(key: NewApiKey, at: Timestamp, entry: AuditEntry) -> bool;
    revoke_api_key(id: &str, at: Timestamp, entry: AuditEntry) -> ();
    rotate_api_key(id: &str, key: NewApiKey, at: Timestamp, ends_at: Timestamp, entry: AuditEntry)
        -> ();
    nodes() -> Vec<NodeNote>;
    note_node(note: NodeNote) -> ();
    forget_node(node: NodeId) -> ();
    note_api_key_use(uses: Vec<(String, Timestamp)>) -> ();
    signing_keys() -> Vec<SigningKey>;
    add_signing_key(key: SigningKey, entry: AuditEntry) -> ();
    site_keys() -> Vec<SiteKey>;
    add_site_key(key: SiteKey, others_end_at: Timestamp, entry: AuditEntry) -> ();
    end_site_key(tenant: &TenantId, id: &str, at: Timestamp, entry: AuditEntry) -> ();
    append_audit(entry: AuditEntry) -> u64;
    audit(target: Option<String>, before_no: Option<u64>, limit: u32) -> AuditPage;
}
