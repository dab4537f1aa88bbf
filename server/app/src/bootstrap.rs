//! The first start: signing keys and one admin key, made from the system's randomness. Later starts only read them.

use jari_http::AppState;
use jari_http::api_keys::FreshKey;
use jari_pass::{KeyRing, RingKey};
use jari_ports::{
    ApiKeyScope, AuditEntry, Clock, Control, ControlError, Entropy, NewApiKey, SigningKey,
    SigningKeyState,
};
use jari_units::TenantId;
use thiserror::Error;

/// The tenant of an installation that serves one.
const TENANT: &str = "default";
/// Keys people in the stores; signs nothing and never rotates.
const SUBJECT_KEY: u8 = 0;
/// The first key that signs.
const FIRST_SIGNING_KEY: u8 = 1;

#[derive(Debug, Error)]
pub enum BootstrapError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(
        "the signing keys in the records cannot be used: {0}; restore records.db from a backup"
    )]
    Ring(#[from] jari_pass::RingError),
    #[error("the records have signing keys but no subject key; restore records.db from a backup")]
    NoSubjectKey,
}

/// The key ring; its keys are made where there are none.
pub(crate) async fn key_ring(
    control: &dyn Control,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<KeyRing, BootstrapError> {
    let mut keys = control.signing_keys().await?;
    // One by one, so that a first start that was interrupted between the two is completed by the next.
    let missing: &[u8] = match keys.as_slice() {
        [] => &[SUBJECT_KEY, FIRST_SIGNING_KEY],
        [only] if only.id == SUBJECT_KEY => &[FIRST_SIGNING_KEY],
        _ => &[],
    };
    for id in missing {
        let mut secret = [0; 32];
        entropy.fill(&mut secret);
        let (state, created_at) = (SigningKeyState::Active, clock.now());
        let key = SigningKey { id: *id, secret, state, created_at };
        control.add_signing_key(key.clone()).await?;
        keys.push(key);
    }
    let subject = keys.iter().find(|key| key.id == SUBJECT_KEY);
    let subject = subject.ok_or(BootstrapError::NoSubjectKey)?.secret;
    let ring = keys.iter().filter(|key| key.id != SUBJECT_KEY).map(|key| RingKey {
        id: key.id,
        secret: key.secret,
        signs: key.state == SigningKeyState::Active,
    });
    Ok(KeyRing::new(ring.collect(), subject)?)
}

/// Makes the admin key of a first start and answers it; `None` where there already is any key, unless `another` is asked
/// for.
pub(crate) async fn admin_key(
    state: &AppState,
    another: bool,
) -> Result<Option<String>, BootstrapError> {
    let control = &state.control;
    let is_first = control.api_keys().await?.is_empty();
    if !is_first && !another {
        return Ok(None);
    }
    let fresh = FreshKey::make(&*state.entropy);
    let tenant: TenantId = TENANT.parse().expect("it has only lower-case letters");
    let (id, hash, scope) = (fresh.id.clone(), fresh.hash, ApiKeyScope::Admin);
    let name = if is_first { "first start" } else { "serve --new-admin-key" };
    let key = NewApiKey { id, tenant, scope, name: name.to_owned(), hash };
    let at = state.clock.now();
    control.add_api_key(key, at).await?;
    let entry = AuditEntry {
        no: 0,
        at,
        actor: "system".to_owned(),
        action: "key.create".to_owned(),
        target: format!("key:{}", fresh.id),
        before: String::new(),
        after: serde_json::json!({"scope": "admin", "name": name}).to_string(),
    };
    control.append_audit(entry).await?;
    state.api_keys.reload().await?;
    Ok(Some(fresh.text))
}
