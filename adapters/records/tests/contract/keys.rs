//! API keys and signing keys: added once, never changed but for their use and revocation.

use std::sync::Arc;

use jari_ports::{
    ApiKeyScope, Control, ControlError, NewApiKey, SigningKey, SigningKeyState, SiteKey,
};
use jari_units::{TenantId, Timestamp};

use super::note;

fn api_key(id: &str) -> NewApiKey {
    NewApiKey {
        id: id.to_owned(),
        tenant: "default".parse().unwrap(),
        scope: ApiKeyScope::Tenant,
        name: format!("key {id}"),
        hash: std::array::from_fn(|at| (at * 8) as u8),
    }
}

pub(crate) async fn an_api_key_comes_back_as_it_was_added(control: Arc<dyn Control>) {
    for scope in [ApiKeyScope::Tenant, ApiKeyScope::Admin] {
        let mut key = api_key(&format!("{scope:?}"));
        key.scope = scope;
        control.add_api_key(key.clone(), Timestamp(12), note()).await.unwrap();
        let read = control.api_keys().await.unwrap().pop().unwrap();
        assert_eq!((read.id, read.tenant, read.scope), (key.id, key.tenant, scope));
        assert_eq!((read.name, read.hash, read.created_at), (key.name, key.hash, Timestamp(12)));
        assert_eq!((read.last_used_at, read.revoked_at, read.expires_at), (None, None, None));
    }
}

pub(crate) async fn api_keys_are_listed_in_order_of_creation(control: Arc<dyn Control>) {
    // All in one millisecond, and with ids in another order.
    for id in ["c", "a", "b"] {
        control.add_api_key(api_key(id), Timestamp(1), note()).await.unwrap();
    }
    let keys = control.api_keys().await.unwrap();
    assert_eq!(keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
}

pub(crate) async fn an_api_key_is_added_once(control: Arc<dyn Control>) {
    let mut other = api_key("a");
    other.hash = [9; 32];
    control.add_api_key(api_key("a"), Timestamp(1), note()).await.unwrap();
    let again = control.add_api_key(other, Timestamp(2), note()).await;
    assert_eq!(again, Err(ControlError::Conflict("API key a".to_owned())));
    assert_eq!(control.api_keys().await.unwrap()[0].hash, api_key("a").hash);
}

/// Nodes that start together for the first time: one makes the first key, the others learn that they need none.
pub(crate) async fn one_of_many_first_keys_is_stored(control: Arc<dyn Control>) {
    let starts = (0..8).map(|node: u32| {
        let control = control.clone();
        tokio::spawn(async move {
            let key = api_key(&format!("node-{node}"));
            control.add_first_api_key(key, Timestamp(1), note()).await.unwrap()
        })
    });
    let mut stored = 0;
    for start in starts.collect::<Vec<_>>() {
        stored += u32::from(start.await.unwrap());
    }
    assert_eq!((stored, control.api_keys().await.unwrap().len()), (1, 1));
    assert_eq!(control.audit(None, None, 10).await.unwrap().entries.len(), 1);
    let later = control.add_first_api_key(api_key("late"), Timestamp(9), note()).await;
    assert_eq!(later, Ok(false));
    control.add_api_key(api_key("second"), Timestamp(9), note()).await.unwrap();
    assert_eq!(control.api_keys().await.unwrap().len(), 2);
}

/// Two nodes note the same busy keys, each in an order of its own.
pub(crate) async fn uses_noted_by_many_at_once_are_all_written(control: Arc<dyn Control>) {
    let ids = ["a", "b", "c", "d", "e", "f"];
    for id in ids {
        control.add_api_key(api_key(id), Timestamp(1), note()).await.unwrap();
    }
    let writes = (0..8_usize).map(|node| {
        let control = control.clone();
        tokio::spawn(async move {
            let mut uses = ids.map(|id| (id.to_owned(), Timestamp(10 + node as u64))).to_vec();
            uses.rotate_left(node % ids.len());
            control.note_api_key_use(uses).await
        })
    });
    for write in writes.collect::<Vec<_>>() {
        assert_eq!(write.await.unwrap(), Ok(()));
    }
    let keys = control.api_keys().await.unwrap();
    assert!(keys.iter().all(|key| key.last_used_at == Some(Timestamp(17))), "{keys:?}");
}

pub(crate) async fn revoking_is_idempotent_and_keeps_the_first_time(control: Arc<dyn Control>) {
    let unknown = control.revoke_api_key("a", Timestamp(5), note()).await;
    assert_eq!(unknown, Err(ControlError::NotFound("API key a".to_owned())));
    control.add_api_key(api_key("a"), Timestamp(1), note()).await.unwrap();
    control.add_api_key(api_key("b"), Timestamp(1), note()).await.unwrap();
    for at in [6, 7] {
        assert_eq!(control.revoke_api_key("a", Timestamp(at), note()).await, Ok(()));
    }
    let revoked: Vec<_> =
        control.api_keys().await.unwrap().iter().map(|key| key.revoked_at).collect();
    assert_eq!(revoked, [Some(Timestamp(6)), None]);
}

pub(crate) async fn uses_are_noted_in_one_write_and_the_newest_stays(control: Arc<dyn Control>) {
    for id in ["a", "b", "c"] {
        control.add_api_key(api_key(id), Timestamp(1), note()).await.unwrap();
    }
    let uses = [("a", 30), ("b", 10), ("unknown", 99), ("a", 20)];
    let uses = uses.map(|(id, at)| (id.to_owned(), Timestamp(at))).to_vec();
    assert_eq!(control.note_api_key_use(uses).await, Ok(()));
    let noted = control.note_api_key_use(vec![("b".to_owned(), Timestamp(11))]).await;
    assert_eq!(noted, Ok(()));
    assert_eq!(control.note_api_key_use(Vec::new()).await, Ok(()));
    let keys = control.api_keys().await.unwrap();
    let last_uses: Vec<_> = keys.iter().map(|key| key.last_used_at).collect();
    assert_eq!(last_uses, [Some(Timestamp(30)), Some(Timestamp(11)), None]);
}

fn signing_key(id: u8, state: SigningKeyState) -> SigningKey {
    SigningKey { id, secret: [id ^ 0xa5; 32], state, created_at: Timestamp(u64::from(id)) }
}

pub(crate) async fn signing_keys_come_back_in_order_of_id(control: Arc<dyn Control>) {
    let keys = [
        signing_key(0, SigningKeyState::Active),
        signing_key(1, SigningKeyState::Retiring),
        signing_key(255, SigningKeyState::Active),
    ];
    for key in [2, 0, 1].map(|at: usize| keys[at].clone()) {
        control.add_signing_key(key, note()).await.unwrap();
    }
    assert_eq!(control.signing_keys().await.unwrap(), keys);
}

pub(crate) async fn a_signing_key_is_added_once(control: Arc<dyn Control>) {
    let first = signing_key(1, SigningKeyState::Active);
    control.add_signing_key(first.clone(), note()).await.unwrap();
    let mut other = first.clone();
    other.secret = [1; 32];
    let again = control.add_signing_key(other, note()).await;
    assert_eq!(again, Err(ControlError::Conflict("signing key 1".to_owned())));
    assert_eq!(control.signing_keys().await.unwrap(), [first]);
}

pub(crate) async fn a_rotated_api_key_ends_and_another_takes_its_place(control: Arc<dyn Control>) {
    let unknown = Err(ControlError::NotFound("API key a".to_owned()));
    let at = Timestamp(5);
    let rotated = control.rotate_api_key("a", api_key("b"), at, Timestamp(9), note()).await;
    assert_eq!(rotated, unknown);
    control.add_api_key(api_key("a"), Timestamp(1), note()).await.unwrap();
    assert_eq!(control.rotate_api_key("a", api_key("b"), at, Timestamp(9), note()).await, Ok(()));
    let exists = Err(ControlError::Conflict("API key b".to_owned()));
    assert_eq!(control.rotate_api_key("a", api_key("b"), at, Timestamp(8), note()).await, exists);
    // Again, before the first one's end: the earlier end stays.
    assert_eq!(control.rotate_api_key("a", api_key("c"), at, Timestamp(20), note()).await, Ok(()));
    let keys = control.api_keys().await.unwrap();
    let ends: Vec<_> = keys.iter().map(|key| (key.id.as_str(), key.expires_at)).collect();
    assert_eq!(ends, [("a", Some(Timestamp(9))), ("b", None), ("c", None)]);
    assert_eq!(keys[1].created_at, Timestamp(5));
    control.revoke_api_key("a", Timestamp(7), note()).await.unwrap();
    let rotated = control.rotate_api_key("a", api_key("d"), at, Timestamp(9), note()).await;
    assert_eq!(rotated, unknown, "a revoked key has no successor");
}

fn site_key(id: &str, tenant: &str, signs_from: u64) -> SiteKey {
    let (created_at, signs_from) = (Timestamp(3), Timestamp(signs_from));
    let (id, tenant) = (id.to_owned(), tenant.parse().unwrap());
    SiteKey { id, tenant, seed: [0xa5; 32], created_at, signs_from, ends_at: None }
}

pub(crate) async fn site_keys_are_added_and_end_the_ones_before(control: Arc<dyn Control>) {
    let missing = Err(ControlError::NotFound("tenant opera".to_owned()));
    let none = Timestamp(0);
    assert_eq!(control.add_site_key(site_key("x", "opera", 1), none, note()).await, missing);
    let opera = jari_ports::Tenant {
        id: "opera".parse().unwrap(),
        name: "Opera".to_owned(),
        rooms_max: 1,
        limits: jari_ports::TenantLimits::default(),
        return_urls: Vec::new(),
        cors_origins: Vec::new(),
        version: 0,
    };
    control.put_tenant(opera.clone(), note()).await.unwrap();
    for (key, others_end_at) in [
        (site_key("z", "opera", 1), 0),
        (site_key("theirs", "default", 1), 0),
        (site_key("y", "opera", 30), 40),
        (site_key("a", "opera", 35), 60),
    ] {
        let added = control.add_site_key(key, Timestamp(others_end_at), note()).await;
        assert_eq!(added, Ok(()));
    }
    let again = control.add_site_key(site_key("y", "opera", 1), Timestamp(5), note()).await;
    assert_eq!(again, Err(ControlError::Conflict("site key y".to_owned())));
    let keys = control.site_keys().await.unwrap();
    let ends: Vec<_> =
        keys.iter().map(|key| (key.id.as_str(), key.ends_at.map(|at| at.0))).collect();
    let want = [("z", Some(40)), ("theirs", None), ("y", Some(60)), ("a", None)];
    assert_eq!(ends, want, "in order of creation, and a refused one ended none");
    assert_eq!(keys[3], site_key("a", "opera", 35));
    control.delete_tenant(&opera.id, note()).await.unwrap();
    let left = control.site_keys().await.unwrap();
    assert_eq!(left, [site_key("theirs", "default", 1)], "they go with their tenant");
}

pub(crate) async fn a_replaced_site_key_is_ended_and_the_one_in_use_is_not(
    control: Arc<dyn Control>,
) {
    let (tenant, other) = ("default".parse().unwrap(), "opera".parse().unwrap());
    let missing = |id: &str| Err(ControlError::NotFound(format!("site key {id}")));
    let end = |tenant: &TenantId, id: &str, at: u64| {
        control.end_site_key(tenant, id, Timestamp(at), note())
    };
    assert_eq!(end(&tenant, "a", 5).await, missing("a"));
    for (id, others_end_at) in [("a", 0), ("b", 40)] {
        let key = site_key(id, "default", 1);
        control.add_site_key(key, Timestamp(others_end_at), note()).await.unwrap();
    }
    assert_eq!(end(&other, "a", 5).await, missing("a"), "another tenant's");
    let in_use = Err(ControlError::InUse("site key b".to_owned()));
    assert_eq!(end(&tenant, "b", 5).await, in_use, "nobody would sign without it");
    for at in [20, 10, 30] {
        assert_eq!(end(&tenant, "a", at).await, Ok(()));
    }
    let keys = control.site_keys().await.unwrap();
    let ends: Vec<_> = keys.iter().map(|key| key.ends_at).collect();
    assert_eq!(ends, [Some(Timestamp(10)), None], "the earliest end stays");
}
