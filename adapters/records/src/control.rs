//! The port, each method handed to its query and held to a call's time.

use jari_ports::{
    ApiKey, AuditEntry, AuditPage, BoxFuture, Control, ControlError, LimitGroup, NewApiKey,
    NodeNote, RoomDefinition, SigningKey, SiteKey, Tenant,
};
use jari_units::{GroupId, NodeId, RoomId, TenantId, Timestamp};

use crate::Records;

type Answer<'a, T> = BoxFuture<'a, Result<T, ControlError>>;

impl Control for Records {
    fn revision(&self) -> Answer<'_, u64> {
        Box::pin(self.within(self.read_revision()))
    }

    fn tenants(&self) -> Answer<'_, Vec<Tenant>> {
        Box::pin(self.within(self.read_tenants()))
    }

    fn put_tenant(&self, tenant: Tenant, entry: AuditEntry) -> Answer<'_, u64> {
        Box::pin(self.within(self.write_tenant(tenant, entry)))
    }

    fn delete_tenant(&self, id: &TenantId, entry: AuditEntry) -> Answer<'_, ()> {
        let id = id.clone();
        Box::pin(async move { self.within(self.remove_tenant(&id, entry)).await })
    }

    fn rooms(&self) -> Answer<'_, Vec<RoomDefinition>> {
        Box::pin(self.within(self.read_rooms()))
    }

    fn put_room(&self, definition: RoomDefinition, entry: AuditEntry) -> Answer<'_, u64> {
        Box::pin(self.within(self.write_room(definition, entry)))
    }

    fn delete_room(&self, id: &RoomId, entry: AuditEntry) -> Answer<'_, ()> {
        let id = id.clone();
        Box::pin(async move { self.within(self.remove_room(&id, entry)).await })
    }

    fn groups(&self) -> Answer<'_, Vec<LimitGroup>> {
        Box::pin(self.within(self.read_groups()))
    }

    fn put_group(&self, group: LimitGroup, entry: AuditEntry) -> Answer<'_, u64> {
        Box::pin(self.within(self.write_group(group, entry)))
    }

    fn delete_group(&self, id: &GroupId, entry: AuditEntry) -> Answer<'_, ()> {
        let id = id.clone();
        Box::pin(async move { self.within(self.remove_group(&id, entry)).await })
    }

    fn api_keys(&self) -> Answer<'_, Vec<ApiKey>> {
        Box::pin(self.within(self.read_api_keys()))
    }

    fn add_api_key(&self, key: NewApiKey, at: Timestamp, entry: AuditEntry) -> Answer<'_, ()> {
        Box::pin(self.within(self.write_api_key(key, at, entry)))
    }

    fn add_first_api_key(
        &self,
        key: NewApiKey,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, bool> {
        Box::pin(self.within(self.write_first_api_key(key, at, entry)))
    }

    fn revoke_api_key(&self, id: &str, at: Timestamp, entry: AuditEntry) -> Answer<'_, ()> {
        let id = id.to_owned();
        Box::pin(async move { self.within(self.write_revocation(&id, at, entry)).await })
    }

    fn rotate_api_key(
        &self,
        id: &str,
        key: NewApiKey,
        at: Timestamp,
        ends_at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()> {
        let (id, times) = (id.to_owned(), (at, ends_at));
        Box::pin(async move { self.within(self.write_rotation(&id, key, times, entry)).await })
    }

    fn note_api_key_use(&self, uses: Vec<(String, Timestamp)>) -> Answer<'_, ()> {
        Box::pin(self.within(self.write_api_key_uses(uses)))
    }

    fn signing_keys(&self) -> Answer<'_, Vec<SigningKey>> {
        Box::pin(self.within(self.read_signing_keys()))
    }

    fn add_signing_key(&self, key: SigningKey, entry: AuditEntry) -> Answer<'_, ()> {
        Box::pin(self.within(self.write_signing_key(key, entry)))
    }

    fn site_keys(&self) -> Answer<'_, Vec<SiteKey>> {
        Box::pin(self.within(self.read_site_keys()))
    }

    fn add_site_key(
        &self,
        key: SiteKey,
        others_end_at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()> {
        Box::pin(self.within(self.write_site_key(key, others_end_at, entry)))
    }

    fn end_site_key(
        &self,
        tenant: &TenantId,
        id: &str,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()> {
        let (tenant, id) = (tenant.clone(), id.to_owned());
        Box::pin(async move { self.within(self.write_site_key_end(&tenant, &id, at, entry)).await })
    }

    fn nodes(&self) -> Answer<'_, Vec<NodeNote>> {
        Box::pin(self.within(self.read_nodes()))
    }

    fn note_node(&self, note: NodeNote) -> Answer<'_, ()> {
        Box::pin(self.within(self.write_node(note)))
    }

    fn forget_node(&self, node: NodeId) -> Answer<'_, ()> {
        Box::pin(self.within(self.remove_node(node)))
    }

    fn append_audit(&self, entry: AuditEntry) -> Answer<'_, u64> {
        Box::pin(self.within(self.write_audit(entry)))
    }

    fn audit(
        &self,
        target: Option<String>,
        before_no: Option<u64>,
        limit: u32,
    ) -> Answer<'_, AuditPage> {
        Box::pin(self.within(self.read_audit(target, before_no, limit)))
    }
}
