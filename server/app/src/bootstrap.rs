//! The first start: signing keys and one admin key, made from the system's randomness. Later starts only read them, and so
//! do other nodes that start at the same moment.

use jari_http::api_keys::FreshKey;
use jari_http::{AppState, KeyRingError, SUBJECT_KEY, key_ring};
use jari_pass::KeyRing;
use jari_ports::{
    ApiKeyScope, AuditEntry, Clock, Control, ControlError, Entropy, NewApiKey, SigningKey,
    SigningKeyState,
};
use jari_units::{TenantId, Timestamp};
use thiserror::Error;

/// The tenant of an installation that serves one.
pub(crate) const TENANT: &str = "default";
/// The first key that signs.
const FIRST_SIGNING_KEY: u8 = 1;

#[derive(Debug, Error)]
pub enum BootstrapError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Ring(#[from] KeyRingError),
}

/// The key ring; its keys are made where there are none.
pub(crate) async fn signing_keys(
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
        let note = entry("signing-key.create", format!("signing-key:{id}"), created_at, "");
        match control.add_signing_key(key, note).await {
            // Another node was quicker: its key is the installation's.
            Ok(()) | Err(ControlError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !missing.is_empty() {
        keys = control.signing_keys().await?;
    }
    Ok(key_ring(&keys)?)
}

/// Makes the admin key of a first start and answers it; `None` where there already is any key, unless `another` is asked
/// for.
pub(crate) async fn admin_key(
    state: &AppState,
    another: bool,
) -> Result<Option<String>, BootstrapError> {
    let control = &state.control;
    let first = admin("first start", state);
    if control.add_first_api_key(first.key, first.at, first.entry).await? {
        state.api_keys.reload().await?;
        return Ok(Some(first.text));
    }
    if !another {
        return Ok(None);
    }
    let made = admin("serve --new-admin-key", state);
    control.add_api_key(made.key, made.at, made.entry).await?;
    state.api_keys.reload().await?;
    Ok(Some(made.text))
}

/// An admin key with what control is to hold of it.
struct Admin {
    text: String,
    key: NewApiKey,
    at: Timestamp,
    entry: AuditEntry,
}

fn admin(name: &str, state: &AppState) -> Admin {
    let FreshKey { id, text, hash } = FreshKey::make(&*state.entropy);
    let tenant: TenantId = TENANT.parse().expect("it has only lower-case letters");
    let at = state.clock.now();
    let told = serde_json::json!({"scope": "admin", "name": name}).to_string();
    let entry = entry("key.create", format!("key:{id}"), at, &told);
    let key = NewApiKey { id, tenant, scope: ApiKeyScope::Admin, name: name.to_owned(), hash };
    Admin { text, key, at, entry }
}

/// What Jari itself did.
pub(crate) fn entry(action: &str, target: String, at: Timestamp, after: &str) -> AuditEntry {
    AuditEntry {
        no: 0,
        at,
        actor: "system".to_owned(),
        action: action.to_owned(),
        target,
        before: String::new(),
        after: after.to_owned(),
    }
}
