//! API keys: making them, and checking the bearer of a call against hashes kept in memory. Stores no key, only SHA-256
//! of it; which endpoint wants which scope is the handlers' business.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::{constant_time, digest};
use jari_ports::{ApiKey, ApiKeyScope, Clock, Control, ControlError, Entropy};
use jari_units::{TenantId, Timestamp};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;

/// Every key begins so: secret scanners and people recognise it.
const PREFIX: &str = "jari_";
/// Bytes of a key's public id: enough that a million keys do not meet by chance.
const ID_BYTES: usize = 6;
/// Bytes of a key's secret: as strong as the hash it is kept as, so that no slow hash is needed.
const SECRET_BYTES: usize = 32;
/// Longest text looked at: a longer one is no key of ours.
const TEXT_MAX: usize = PREFIX.len() + 2 * (ID_BYTES + SECRET_BYTES) + 1;

/// Last uses are noted this often: a person reads them in minutes, and a busy key costs one write.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// A key as told once, to whoever asked for it.
#[derive(Clone)]
pub struct FreshKey {
    pub id: String,
    pub text: String,
    pub hash: [u8; 32],
}

impl std::fmt::Debug for FreshKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FreshKey {{ id: {:?}, text: redacted }}", self.id)
    }
}

impl FreshKey {
    /// Makes a key: `jari_<id>_<secret>`, id and secret in hex.
    #[must_use]
    pub fn make(entropy: &dyn Entropy) -> Self {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        entropy.fill(&mut id);
        entropy.fill(&mut secret);
        let id = hex(&id);
        let text = format!("{PREFIX}{id}_{}", hex(&secret));
        FreshKey { hash: hash(&text), id, text }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(text: &str) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Who calls, as its key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub key_id: String,
    pub tenant: TenantId,
    pub scope: ApiKeyScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ApiKeyError {
    /// 401 `api_key_required`.
    #[error("this call needs an API key as bearer")]
    Required,
    /// 401 `api_key_invalid`.
    #[error("this API key is unknown, revoked, or has ended")]
    Invalid,
    /// 403 `api_key_scope`.
    #[error("this API key may not do that")]
    Scope,
}

impl Caller {
    /// Who it was, in the audit trail.
    #[must_use]
    pub fn actor(&self) -> String {
        format!("key:{}", self.key_id)
    }

    /// # Errors
    /// [`ApiKeyError::Scope`] for a tenant's key.
    pub fn require_admin(&self) -> Result<(), ApiKeyError> {
        match self.scope {
            ApiKeyScope::Admin => Ok(()),
            ApiKeyScope::Tenant => Err(ApiKeyError::Scope),
        }
    }

    /// Whether it may act for `tenant`: its own key, or an operator's.
    ///
    /// # Errors
    /// [`ApiKeyError::Scope`] for another tenant's key.
    pub fn require_tenant(&self, tenant: &TenantId) -> Result<(), ApiKeyError> {
        match self.scope {
            ApiKeyScope::Admin => Ok(()),
            ApiKeyScope::Tenant if self.tenant == *tenant => Ok(()),
            ApiKeyScope::Tenant => Err(ApiKeyError::Scope),
        }
    }
}

/// Neither revoked nor ended; a key whose end is `now` has ended.
pub(crate) fn is_good(key: &ApiKey, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end)
}

/// Keys by id.
#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, ApiKey>,
}

impl Table {
    fn new(keys: Vec<ApiKey>) -> Self {
        Table { by_id: keys.into_iter().map(|key| (key.id.clone(), key)).collect() }
    }

    fn check(
        &self,
        authorization: Option<&http::HeaderValue>,
        now: Timestamp,
    ) -> Result<Caller, ApiKeyError> {
        let text = authorization
            .and_then(|value| value.to_str().ok())
            .and_then(bearer)
            .filter(|text| text.starts_with(PREFIX))
            .ok_or(ApiKeyError::Required)?;
        self.find(text, now).ok_or(ApiKeyError::Invalid)
    }

    fn find(&self, text: &str, now: Timestamp) -> Option<Caller> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (id, _) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let key = self.by_id.get(id).filter(|key| is_good(key, now))?;
        constant_time::verify_slices_are_equal(&hash(text), &key.hash).ok()?;
        let (key_id, tenant) = (key.id.clone(), key.tenant.clone());
        Some(Caller { key_id, tenant, scope: key.scope })
    }
}

/// The keys of the installation, in memory; control is read again when they change.
#[derive(Debug)]
pub struct ApiKeys {
    control: Arc<dyn Control>,
    clock: Arc<dyn Clock>,
    table: RwLock<Table>,
    /// Last uses that control does not know yet: written in batches, off the call's path.
    used: Mutex<HashMap<String, Timestamp>>,
}

impl ApiKeys {
    /// Reads the keys.
    ///
    /// # Errors
    /// Where control does not answer.
    pub async fn load(
        control: Arc<dyn Control>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ControlError> {
        let (table, used) = (RwLock::default(), Mutex::default());
        let keys = ApiKeys { control, clock, table, used };
        keys.reload().await?;
        Ok(keys)
    }

    /// Reads the keys again: call after each change.
    ///
    /// # Errors
    /// Where control does not answer; the keys known so far stay.
    pub async fn reload(&self) -> Result<(), ControlError> {
        let keys = self.control.api_keys().await?;
        *self.table.write() = Table::new(keys);
        Ok(())
    }

    /// Checks the value of an `Authorization` header.
    ///
    /// # Errors
    /// [`ApiKeyError::Required`] without a key (a bearer of another kind is none), else [`ApiKeyError::Invalid`].
    pub fn check(&self, authorization: Option<&http::HeaderValue>) -> Result<Caller, ApiKeyError> {
        let now = self.clock.now();
        let caller = self.table.read().check(authorization, now)?;
        self.used.lock().insert(caller.key_id.clone(), now);
        Ok(caller)
    }

    /// The id of the good key in an `Authorization` header, for the call log. Notes no use.
    #[must_use]
    pub fn holder(&self, authorization: Option<&http::HeaderValue>) -> Option<String> {
        let now = self.clock.now();
        self.table.read().check(authorization, now).ok().map(|caller| caller.key_id)
    }

    /// Whether the key of that id is still good: for calls that last.
    #[must_use]
    pub fn stands(&self, id: &str) -> bool {
        let now = self.clock.now();
        self.table.read().by_id.get(id).is_some_and(|key| is_good(key, now))
    }

    /// Writes last uses every few seconds, for ever.
    pub async fn keep_noting_uses(&self) {
        let mut every = tokio::time::interval(NOTE_EVERY);
        loop {
            every.tick().await;
            if let Err(error) = self.note_uses().await {
                tracing::warn!(%error, "last uses of API keys wait to be noted: {error}");
            }
        }
    }

    /// Writes the last uses gathered since the last call.
    ///
    /// # Errors
    /// Where control does not answer; the uses are kept for the next time.
    pub async fn note_uses(&self) -> Result<(), ControlError> {
        let uses = std::mem::take(&mut *self.used.lock());
        if uses.is_empty() {
            return Ok(());
        }
        let written = self.control.note_api_key_use(uses.clone().into_iter().collect()).await;
        if written.is_err() {
            let mut used = self.used.lock();
            for (id, at) in uses {
                used.entry(id).or_insert(at);
            }
        }
        written
    }
}

/// The credentials of a bearer header; the scheme's case does not matter (RFC 9110, 11.1).
pub(crate) fn bearer(value: &str) -> Option<&str> {
    let (scheme, text) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);

    #[derive(Debug)]
    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = i as u8;
            }
        }
    }

    fn stored(fresh: &FreshKey, scope: ApiKeyScope, revoked_at: Option<Timestamp>) -> ApiKey {
        ApiKey {
            id: fresh.id.clone(),
            tenant: "acme".parse().expect("an id"),
            scope,
            name: "test".to_owned(),
            hash: fresh.hash,
            created_at: Timestamp(1),
            last_used_at: None,
            revoked_at,
            expires_at: None,
        }
    }

    fn header(text: &str) -> http::HeaderValue {
        http::HeaderValue::from_str(text).expect("visible text")
    }

    #[test]
    fn only_the_whole_key_of_a_live_entry_is_accepted() {
        let fresh = FreshKey::make(&Counting);
        let table = Table::new(vec![stored(&fresh, ApiKeyScope::Tenant, None)]);
        let text = fresh.text.as_str();
        let (cut, id) = (&text[..text.len() - 1], &fresh.id);
        use ApiKeyError::{Invalid, Required};
        for (value, want) in [
            (format!("Bearer {text}"), Ok(())),
            (format!("bearer {text}"), Ok(())),
            (format!("Bearer {cut}"), Err(Invalid)),
            (format!("Bearer {text}0"), Err(Invalid)),
            (format!("Bearer jari_{id}_"), Err(Invalid)),
            (format!("Bearer jari_{id}"), Err(Invalid)),
            (format!("Bearer jari_000000000000_{}", "0".repeat(64)), Err(Invalid)),
            (format!("Basic {text}"), Err(Required)),
            (text.to_owned(), Err(Required)),
            ("Bearer eyJhbGciOiJub25lIn0.e30.".to_owned(), Err(Required)),
        ] {
            let checked = table.check(Some(&header(&value)), NOW).map(|_| ());
            assert_eq!(checked, want, "{value}");
        }
        assert_eq!(table.check(None, NOW), Err(Required));
        let revoked = Table::new(vec![stored(&fresh, ApiKeyScope::Admin, Some(Timestamp(2)))]);
        let shown = header(&format!("Bearer {text}"));
        assert_eq!(revoked.check(Some(&shown), NOW), Err(Invalid));
        for (end, good) in [(NOW.0 + 1, true), (NOW.0, false), (NOW.0 - 1, false)] {
            let expires_at = Some(Timestamp(end));
            let ending = ApiKey { expires_at, ..stored(&fresh, ApiKeyScope::Tenant, None) };
            let checked = Table::new(vec![ending]).check(Some(&shown), NOW);
            assert_eq!(checked.is_ok(), good, "it ends at {end}");
        }
    }

    #[test]
    fn a_tenants_key_reaches_its_own_tenant_only() {
        let acme: TenantId = "acme".parse().expect("an id");
        let other: TenantId = "other".parse().expect("an id");
        let caller = |scope| Caller { key_id: "k".to_owned(), tenant: acme.clone(), scope };
        let (tenant, admin) = (caller(ApiKeyScope::Tenant), caller(ApiKeyScope::Admin));
        assert_eq!(tenant.require_tenant(&acme), Ok(()));
        assert_eq!(tenant.require_tenant(&other), Err(ApiKeyError::Scope));
        assert_eq!(tenant.require_admin(), Err(ApiKeyError::Scope));
        assert_eq!(admin.require_tenant(&other), Ok(()));
    }

    #[test]
    fn a_fresh_key_does_not_show_itself() {
        let fresh = FreshKey::make(&Counting);
        let secret = fresh.text.rsplit('_').next().expect("a part");
        assert_eq!(fresh.text.len(), TEXT_MAX);
        assert!(!format!("{fresh:?}").contains(secret));
        assert_eq!(fresh.id, "000102030405");
    }
}
