//! The keys that sign tokens for tenants' sites, in memory as control has them. Which of them signs, `jari_pass` decides.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jari_api::{KeySet, PublicKey};
use jari_pass::{KeyTimes, signer};
use jari_ports::{Control, ControlError, Entropy, SiteKey};
use jari_units::{TenantId, Timestamp};
use jsonwebtoken::{DecodingKey, EncodingKey};
use serde_json::json;

use crate::api_keys::Caller;
use crate::changes::Turn;
use crate::handlers::admin::trail::{Step, entry};
use crate::problem_response::Refusal;
use crate::state::AppState;

/// Bytes of a key's public id: enough that a million keys do not meet by chance.
const ID_BYTES: usize = 8;

/// What goes before the 32 bytes of an Ed25519 private key in a PKCS #8 document (RFC 8410).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A key, ready to sign and to check.
pub(crate) struct Ready {
    pub(crate) id: String,
    pub(crate) tenant: TenantId,
    times: KeyTimes,
    pub(crate) signing: EncodingKey,
    pub(crate) checking: DecodingKey,
    /// The public key's 32 bytes, base64url.
    public: String,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ready { id, tenant, times, .. } = self;
        write!(f, "Ready {{ id: {id:?}, tenant: {tenant}, times: {times:?}, keys: redacted }}")
    }
}

impl Ready {
    /// `None` for a seed that makes no key, which none of ours does.
    fn new(key: &SiteKey) -> Option<Ready> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&key.seed).ok()?;
        let public = pair.public_key().as_ref();
        let document = [&PKCS8_HEAD[..], &key.seed].concat();
        Some(Ready {
            id: key.id.clone(),
            tenant: key.tenant.clone(),
            times: KeyTimes { signs_from: key.signs_from, ends_at: key.ends_at },
            signing: EncodingKey::from_ed_der(&document),
            checking: DecodingKey::from_ed_der(public),
            public: URL_SAFE_NO_PAD.encode(public),
        })
    }
}

/// All tenants' keys.
#[derive(Debug)]
pub struct SiteKeys {
    control: Arc<dyn Control>,
    ready: ArcSwap<Vec<Arc<Ready>>>,
}

impl SiteKeys {
    /// Reads the keys.
    ///
    /// # Errors
    /// Where control does not answer.
    pub async fn load(control: Arc<dyn Control>) -> Result<Self, ControlError> {
        let keys = SiteKeys { control, ready: ArcSwap::default() };
        keys.reload().await?;
        Ok(keys)
    }

    /// Reads the keys again: call after each change.
    ///
    /// # Errors
    /// Where control does not answer; the keys known so far stay.
    pub async fn reload(&self) -> Result<(), ControlError> {
        let keys = self.control.site_keys().await?;
        let ready = keys.iter().filter_map(Ready::new).map(Arc::new).collect();
        self.ready.store(Arc::new(ready));
        Ok(())
    }

    /// The key that signs for `tenant` now.
    pub(crate) fn signer(&self, tenant: &TenantId, now: Timestamp) -> Option<Arc<Ready>> {
        let ready = self.ready.load();
        let of: Vec<_> = ready.iter().filter(|key| key.tenant == *tenant).collect();
        let times: Vec<_> = of.iter().map(|key| key.times).collect();
        signer(&times, now).map(|at| Arc::clone(of[at]))
    }

    /// The key of that id, where what it signed is good.
    pub(crate) fn find(&self, id: &str, now: Timestamp) -> Option<Arc<Ready>> {
        self.good(&self.ready.load(), now).find(|key| key.id == id).cloned()
    }

    /// How many keys of `tenant` are good.
    pub(crate) fn count(&self, tenant: &TenantId, now: Timestamp) -> usize {
        self.good(&self.ready.load(), now).filter(|key| key.tenant == *tenant).count()
    }

    /// What sites check tokens with by themselves.
    #[must_use]
    pub fn key_set(&self, now: Timestamp) -> KeySet {
        let public = |key: &Arc<Ready>| PublicKey {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            x: key.public.clone(),
            kid: key.id.clone(),
            usage: "sig".to_owned(),
            alg: "EdDSA".to_owned(),
        };
        KeySet { keys: self.good(&self.ready.load(), now).map(public).collect() }
    }

    fn good<'a>(
        &self,
        ready: &'a Guard<Arc<Vec<Arc<Ready>>>>,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a Arc<Ready>> {
        ready.iter().filter(move |key| key.times.is_good(now))
    }
}

/// A key made just now.
#[must_use]
pub(crate) fn fresh(
    entropy: &dyn Entropy,
    tenant: TenantId,
    (created_at, signs_from): (Timestamp, Timestamp),
) -> SiteKey {
    let (mut id, mut seed) = ([0; ID_BYTES], [0; 32]);
    entropy.fill(&mut id);
    entropy.fill(&mut seed);
    let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
    SiteKey { id, tenant, seed, created_at, signs_from, ends_at: None }
}

/// Makes the tenant's first key where it has none that is good: a room of its is about to hand tokens over.
///
/// # Errors
/// Where control does not answer.
pub(crate) async fn ensure(
    state: &AppState,
    turn: &mut Turn<'_>,
    caller: &Caller,
    tenant: &TenantId,
) -> Result<(), Refusal> {
    let now = state.clock.now();
    if state.site_keys.count(tenant, now) > 0 {
        return Ok(());
    }
    let key = fresh(&*state.entropy, tenant.clone(), (now, now));
    let told = Step::made(json!({"key": key.id}));
    let entry = entry(state, caller, "site-key.create", format!("tenant:{tenant}"), &told);
    state.control.add_site_key(key, now, entry).await?;
    turn.wrote();
    Ok(state.site_keys.reload().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jitter::tests::Fixed;

    /// RFC 8032, 7.1, test 1.
    #[test]
    fn a_public_key_is_the_one_that_belongs_to_the_seed() {
        let hex = |text: &str| -> Vec<u8> {
            let digits = text.as_bytes().chunks(2);
            let byte = |pair: &[u8]| {
                let pair = std::str::from_utf8(pair).expect("digits");
                u8::from_str_radix(pair, 16).expect("hex")
            };
            digits.map(byte).collect()
        };
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        let tenant: TenantId = "opera".parse().expect("an id");
        let times = (Timestamp(1), Timestamp(1));
        let mut key = fresh(&Fixed(7), tenant, times);
        key.seed = seed.try_into().expect("32 bytes");
        let ready = Ready::new(&key).expect("a key");
        assert_eq!(ready.public, URL_SAFE_NO_PAD.encode(public));
        assert_eq!(ready.id.len(), 2 * ID_BYTES);
        let shown = format!("{key:?} {ready:?}");
        assert!(!shown.contains("157") && !shown.contains("9d61"), "{shown}");
    }
}
