//! The port, each method handed to its query.

use jari_ports::{
    ApiKey, AuditEntry, AuditPage, BoxFuture, Control, ControlError, LimitGroup, NewApiKey,
    RoomDefinition, SigningKey,
};
use jari_units::{GroupId, RoomId, Timestamp};

use crate::Records;

type Answer<'a, T> = BoxFuture<'a, Result<T, ControlError>>;

impl Control for Records {
    fn rooms(&self) -> Answer<'_, Vec<RoomDefinition>> {
        self.call(self.read_rooms())
    }

    fn put_room(&self, definition: RoomDefinition) -> Answer<'_, u64> {
        self.call(self.write_room(definition))
    }

    fn delete_room(&self, id: &RoomId) -> Answer<'_, ()> {
        let id = id.clone();
        self.call(async move { self.remove_room(&id).await })
    }

    fn groups(&self) -> Answer<'_, Vec<LimitGroup>> {
        self.call(self.read_groups())
    }

    fn put_group(&self, group: LimitGroup) -> Answer<'_, u64> {
        self.call(self.write_group(group))
    }

    fn delete_group(&self, id: &GroupId) -> Answer<'_, ()> {
        let id = id.clone();
        self.call(async move { self.remove_group(&id).await })
    }

    fn api_keys(&self) -> Answer<'_, Vec<ApiKey>> {
        self.call(self.read_api_keys())
    }

    fn add_api_key(&self, key: NewApiKey, at: Timestamp) -> Answer<'_, ()> {
        self.call(self.write_api_key(key, at))
    }

    fn revoke_api_key(&self, id: &str, at: Timestamp) -> Answer<'_, ()> {
        let id = id.to_owned();
        self.call(async move { self.write_revocation(&id, at).await })
    }

    fn note_api_key_use(&self, uses: Vec<(String, Timestamp)>) -> Answer<'_, ()> {
        self.call(self.write_api_key_uses(uses))
    }

    fn signing_keys(&self) -> Answer<'_, Vec<SigningKey>> {
        self.call(self.read_signing_keys())
    }

    fn add_signing_key(&self, key: SigningKey) -> Answer<'_, ()> {
        self.call(self.write_signing_key(key))
    }

    fn append_audit(&self, entry: AuditEntry) -> Answer<'_, u64> {
        self.call(self.write_audit(entry))
    }

    fn audit(
        &self,
        target: Option<String>,
        before_no: Option<u64>,
        limit: u32,
    ) -> Answer<'_, AuditPage> {
        self.call(self.read_audit(target, before_no, limit))
    }
}
