//! Control: who runs what. Tenants, room definitions, limit groups, API keys, signing keys and the audit trail.
//!
//! Control data is never on a visitor's path: nodes keep it in memory and read it again when it changes.

use jari_audit::{AuditEntry, ChainedEntry};
use jari_gate::{Origin, ReturnUrl};
use jari_line::{GroupSettings, Settings};
use jari_pass::Challenge;
use jari_units::{GroupId, NodeId, RoomId, TenantId, Timestamp};
use thiserror::Error;

use crate::BoxFuture;

/// Whose rooms and keys they are. No tenant reaches another's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    /// For people.
    pub name: String,
    /// Rooms at most.
    pub rooms_max: u64,
    pub limits: TenantLimits,
    /// Where visitors of its rooms may be led back to, beside the rooms' targets; at most [`jari_gate::RETURN_URLS_MAX`].
    pub return_urls: Vec<ReturnUrl>,
    /// Whose pages may call the visitors' API of its rooms from browsers; at most [`jari_gate::ORIGINS_MAX`].
    pub cors_origins: Vec<Origin>,
    pub version: u64,
}

/// What all rooms of a tenant together may ask of one node in a minute; 0: as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantLimits {
    pub joins_per_minute: u32,
    /// Entry tokens.
    pub entries_per_minute: u32,
}

/// A room as its operator defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomDefinition {
    pub id: RoomId,
    pub tenant: TenantId,
    pub group: Option<GroupId>,
    pub identity: Identity,
    /// What people read on the page, by language; at least one of them is there.
    pub title_ko: String,
    pub title_en: String,
    /// Where an admitted person goes: an absolute http(s) URL or a path on this origin.
    pub target_url: String,
    pub on_store_failure: OnStoreFailure,
    pub handover: Handover,
    /// What newcomers do before they get a place; on only where they are anonymous.
    pub challenge: Challenge,
    pub settings: Settings,
    /// Rises with each write; a write names the version it replaces.
    pub version: u64,
    pub created_at: Timestamp,
}

/// Who the subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A signed cookie that Jari issued.
    Anonymous,
    /// A short token signed by the tenant's server, or got by it from `/entries`.
    Entry,
}

/// What the gate does while the store is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// Passes go on, newcomers wait.
    Wait,
    /// Nobody passes.
    Refuse,
    /// Everybody passes, counted and alarmed.
    Pass,
}

/// How an admitted person shows their pass to the site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handover {
    /// By the pass cookie: the gate is on the site's own host.
    #[default]
    Cookie,
    /// By a one-time token in the address that they are sent to.
    Token,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitGroup {
    pub id: GroupId,
    pub settings: GroupSettings,
    pub version: u64,
}

/// What an API key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiKeyScope {
    /// Everything in the installation.
    Admin,
    /// The tenant API of its own tenant's rooms.
    Tenant,
}

/// An API key as stored: never the key itself, only SHA-256 of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Public id, also the key's visible prefix.
    pub id: String,
    pub tenant: TenantId,
    pub scope: ApiKeyScope,
    pub name: String,
    pub hash: [u8; 32],
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// From this moment on it is refused, though nobody revokes it: another one has taken its place.
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApiKey {
    pub id: String,
    pub tenant: TenantId,
    pub scope: ApiKeyScope,
    pub name: String,
    pub hash: [u8; 32],
}

/// A symmetric signing key. Rotation overlaps: the newest active key signs, active and retiring ones verify.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Carried in each token. Id 0 is the subject key: it keys people in the stores, signs nothing and never rotates.
    pub id: u8,
    pub secret: [u8; 32],
    pub state: SigningKeyState,
    pub created_at: Timestamp,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey {{ id: {}, state: {:?}, secret: redacted }}", self.id, self.state)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SigningKeyState {
    Active,
    /// Verifies only.
    Retiring,
}

/// A key of one tenant that signs the tokens for its sites: Ed25519. When it signs and ends, `jari_pass` decides.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteKey {
    /// Named in each token; unique in the installation.
    pub id: String,
    pub tenant: TenantId,
    /// The private key's 32 bytes, of which the public one is made.
    pub seed: [u8; 32],
    pub created_at: Timestamp,
    pub signs_from: Timestamp,
    pub ends_at: Option<Timestamp>,
}

impl std::fmt::Debug for SiteKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SiteKey { id, tenant, signs_from, ends_at, .. } = self;
        f.debug_struct("SiteKey")
            .field("id", id)
            .field("tenant", tenant)
            .field("signs_from", signs_from)
            .field("ends_at", ends_at)
            .finish_non_exhaustive()
    }
}

/// A node that uses this control data, and the lines that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNote {
    pub node: NodeId,
    /// What stands in the lines' store: nodes of one installation have the same.
    pub lines: String,
    /// Where this node finds them, for people; without a password.
    pub place: String,
    /// When the node noted itself first. By its own clock, as `seen_at`.
    pub since: Timestamp,
    pub seen_at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// Newest first.
    pub entries: Vec<ChainedEntry>,
    /// Pass as `before_no` to go on.
    pub next_before_no: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// 409 `version_conflict`.
    #[error("{0} was changed by someone else meanwhile")]
    Conflict(String),
    /// 404.
    #[error("there is no {0}")]
    NotFound(String),
    /// 409 `in_use`: something else refers to it.
    #[error("{0} is in use")]
    InUse(String),
    /// 409 `tenant_full`: its tenant has as many as it may.
    #[error("tenant {0} has as many rooms as it may")]
    Full(TenantId),
    /// 503 `records_unavailable`.
    #[error("the records are unavailable: {0}")]
    Unavailable(String),
}

type Answer<'a, T> = BoxFuture<'a, Result<T, ControlError>>;

/// Where control data lives. Every write is durable when answered.
///
/// A write takes the audit entry that tells of it: both are there afterwards or neither, whenever the process ends. A
/// write that is refused leaves no entry. The entries of all nodes make one chain ([`jari_audit`]): each gets the number
/// after the last one's and names its hash, in the step that writes it, and none is ever changed or removed.
///
/// No text holds a NUL: not every database could keep it. Several nodes may use the same control data: what one of them
/// wrote, the others read from then on, and [`revision`](Control::revision) tells them that it is time to.
pub trait Control: Send + Sync + std::fmt::Debug {
    /// Rises with each write of a tenant, room, group, API key, signing key or site key, in the same step as the write; 0 before the first.
    /// Refused writes, noted uses and entries alone leave it. Cheap: made to be asked every second.
    ///
    /// Ask it *before* reading the rest: what is read afterwards is at least as new as the revision says.
    fn revision(&self) -> Answer<'_, u64>;

    /// All tenants, in order of id. `default`, of an installation that serves one, is there from the start.
    fn tenants(&self) -> Answer<'_, Vec<Tenant>>;

    /// As [`put_room`](Control::put_room). Fewer rooms than there are may be allowed: they stay, and none comes to them.
    fn put_tenant(&self, tenant: Tenant, entry: AuditEntry) -> Answer<'_, u64>;

    /// NotFound for an unknown id; InUse while it has a room, or an API key that is neither revoked nor has ended when the
    /// entry says that it happens.
    fn delete_tenant(&self, id: &TenantId, entry: AuditEntry) -> Answer<'_, ()>;

    /// All rooms, in order of id.
    fn rooms(&self) -> Answer<'_, Vec<RoomDefinition>>;

    /// Writes a room. `definition.version` 0 creates (Conflict where it exists); else it must be the stored version
    /// (NotFound where the room is gone) and `created_at` stays as it was. NotFound for an unknown tenant
    /// or group; Full where one more is created than its tenant may have. Answers the new version, one above that of `definition`.
    fn put_room(&self, definition: RoomDefinition, entry: AuditEntry) -> Answer<'_, u64>;

    /// Deletes a room's definition; NotFound where there is none.
    fn delete_room(&self, id: &RoomId, entry: AuditEntry) -> Answer<'_, ()>;

    /// All limit groups, in order of id.
    fn groups(&self) -> Answer<'_, Vec<LimitGroup>>;

    /// As [`put_room`](Control::put_room).
    fn put_group(&self, group: LimitGroup, entry: AuditEntry) -> Answer<'_, u64>;

    /// NotFound for an unknown id; InUse while a room names it.
    fn delete_group(&self, id: &GroupId, entry: AuditEntry) -> Answer<'_, ()>;

    /// All API keys, revoked ones too, in order of creation.
    fn api_keys(&self) -> Answer<'_, Vec<ApiKey>>;

    /// Stores a key; Conflict where the id exists, NotFound for an unknown tenant.
    fn add_api_key(&self, key: NewApiKey, at: Timestamp, entry: AuditEntry) -> Answer<'_, ()>;

    /// Stores a key where there never was one, and answers whether it did: of several nodes that start for the first time
    /// together, one makes the installation's first key.
    fn add_first_api_key(
        &self,
        key: NewApiKey,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, bool>;

    /// NotFound for an unknown id. Revoking again changes nothing but the trail: the first time stays.
    fn revoke_api_key(&self, id: &str, at: Timestamp, entry: AuditEntry) -> Answer<'_, ()>;

    /// Stores `key` in place of the key `id`, which ends at `ends_at` where it does not end before. NotFound for an unknown
    /// or revoked `id`, or an unknown tenant; Conflict where the new key's id exists.
    fn rotate_api_key(
        &self,
        id: &str,
        key: NewApiKey,
        at: Timestamp,
        ends_at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()>;

    /// Notes the last use of keys, in one write; unknown keys are passed over.
    fn note_api_key_use(&self, uses: Vec<(String, Timestamp)>) -> Answer<'_, ()>;

    /// All signing keys, in order of id.
    fn signing_keys(&self) -> Answer<'_, Vec<SigningKey>>;

    /// Adds a key; Conflict where the id exists.
    fn add_signing_key(&self, key: SigningKey, entry: AuditEntry) -> Answer<'_, ()>;

    /// All site keys, ended ones too, in order of creation. They go with their tenant.
    fn site_keys(&self) -> Answer<'_, Vec<SiteKey>>;

    /// Adds a site key; its tenant's others end at `others_end_at` where they do not end before. NotFound for an unknown
    /// tenant; Conflict where the id exists.
    fn add_site_key(
        &self,
        key: SiteKey,
        others_end_at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()>;

    /// Ends a site key that another has taken the place of at `at`, where it does not end before. NotFound where the tenant
    /// has none of that id; InUse for the one whose end is not decided: without it nobody would sign.
    fn end_site_key(
        &self,
        tenant: &TenantId,
        id: &str,
        at: Timestamp,
        entry: AuditEntry,
    ) -> Answer<'_, ()>;

    /// Notes of nodes, in order of their `since`; those of nodes that were not heard of for a day go.
    fn nodes(&self) -> Answer<'_, Vec<NodeNote>>;

    /// Notes a node, in place of what was noted of it before but for its `since`. No operator's change: it leaves the revision
    /// and the trail as they are.
    fn note_node(&self, note: NodeNote) -> Answer<'_, ()>;

    /// Forgets a node that stops.
    fn forget_node(&self, node: NodeId) -> Answer<'_, ()>;

    /// Appends an entry that tells of no write here: what is done to a line. Answers its number.
    fn append_audit(&self, entry: AuditEntry) -> Answer<'_, u64>;

    /// Newest entries first, those below `before_no` where given, at most `limit` (1 to 200); `target` filters exactly.
    fn audit(
        &self,
        target: Option<String>,
        before_no: Option<u64>,
        limit: u32,
    ) -> Answer<'_, AuditPage>;
}
