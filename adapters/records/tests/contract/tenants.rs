//! Tenants: versions as for rooms, what names one, and how many rooms it may have.

use std::sync::Arc;

use jari_ports::{
    ApiKeyScope, AuditEntry, Control, ControlError, NewApiKey, RoomDefinition, Tenant, TenantLimits,
};
use jari_units::{TenantId, Timestamp};

use super::{note, room};

fn id(text: &str) -> TenantId {
    text.parse().unwrap()
}

fn tenant(text: &str, version: u64) -> Tenant {
    Tenant {
        id: id(text),
        name: "오페라 \"극장\"".to_owned(),
        rooms_max: 2,
        limits: TenantLimits { joins_per_minute: 600, entries_per_minute: 60 },
        return_urls: vec![
            "https://한국.example/예매".parse().unwrap(),
            "http://localhost:3000".parse().unwrap(),
        ],
        cors_origins: vec!["https://app.example:8443".parse().unwrap()],
        version,
    }
}

fn of(tenant: &str, room_id: &str) -> RoomDefinition {
    RoomDefinition { tenant: id(tenant), ..room(room_id) }
}

fn key(tenant: &str, key_id: &str) -> NewApiKey {
    let (tenant, scope) = (id(tenant), ApiKeyScope::Tenant);
    NewApiKey { id: key_id.to_owned(), tenant, scope, name: String::new(), hash: [1; 32] }
}

fn missing(tenant: &str) -> ControlError {
    ControlError::NotFound(format!("tenant {tenant}"))
}

pub(crate) async fn tenants_are_written_by_version_and_listed_by_id(control: Arc<dyn Control>) {
    let first: Vec<_> = control.tenants().await.unwrap().iter().map(|it| it.id.clone()).collect();
    assert_eq!(first, [id("default")], "there from the start");
    assert_eq!(control.put_tenant(tenant("opera", 0), note()).await, Ok(1));
    let exists = control.put_tenant(tenant("opera", 0), note()).await;
    assert_eq!(exists, Err(ControlError::Conflict("tenant opera".to_owned())));
    assert_eq!(control.put_tenant(tenant("circus", 1), note()).await, Err(missing("circus")));
    let renamed = Tenant { name: "Opera".to_owned(), ..tenant("opera", 1) };
    assert_eq!(control.put_tenant(renamed.clone(), note()).await, Ok(2));
    let stale = control.put_tenant(renamed.clone(), note()).await;
    assert_eq!(stale, Err(ControlError::Conflict("tenant opera".to_owned())));
    assert_eq!(control.put_tenant(tenant("circus", 0), note()).await, Ok(1));
    let all = control.tenants().await.unwrap();
    let circus = Tenant { version: 1, ..tenant("circus", 0) };
    assert_eq!(all[0], circus);
    assert_eq!((&all[1].id, &all[2]), (&id("default"), &Tenant { version: 2, ..renamed }));
}

pub(crate) async fn what_names_no_tenant_is_refused(control: Arc<dyn Control>) {
    assert_eq!(control.put_room(of("opera", "aida"), note()).await, Err(missing("opera")));
    let added = control.add_api_key(key("opera", "a"), Timestamp(1), note()).await;
    assert_eq!(added, Err(missing("opera")));
    assert!(control.rooms().await.unwrap().is_empty());
    assert!(control.api_keys().await.unwrap().is_empty());
}

pub(crate) async fn a_tenant_in_use_is_not_deleted(control: Arc<dyn Control>) {
    control.put_tenant(tenant("opera", 0), note()).await.unwrap();
    control.put_room(of("opera", "aida"), note()).await.unwrap();
    control.add_api_key(key("opera", "a"), Timestamp(1), note()).await.unwrap();
    let in_use = Err(ControlError::InUse("tenant opera".to_owned()));
    assert_eq!(control.delete_tenant(&id("opera"), note()).await, in_use);
    control.delete_room(&"aida".parse().unwrap(), note()).await.unwrap();
    assert_eq!(control.delete_tenant(&id("opera"), note()).await, in_use, "its key is good");
    control.revoke_api_key("a", Timestamp(2), note()).await.unwrap();
    assert_eq!(control.delete_tenant(&id("opera"), note()).await, Ok(()));
    assert_eq!(control.delete_tenant(&id("opera"), note()).await, Err(missing("opera")));
    assert_eq!(control.api_keys().await.unwrap().len(), 1, "who it was is still told");
}

/// A key that was replaced opens nothing once its end has come, and keeps nobody.
pub(crate) async fn a_tenant_whose_keys_have_ended_is_deleted(control: Arc<dyn Control>) {
    control.put_tenant(tenant("opera", 0), note()).await.unwrap();
    control.add_api_key(key("opera", "a"), Timestamp(1), note()).await.unwrap();
    let ends_at = Timestamp(5);
    control.rotate_api_key("a", key("opera", "b"), Timestamp(2), ends_at, note()).await.unwrap();
    control.revoke_api_key("b", Timestamp(3), note()).await.unwrap();
    let opera = id("opera");
    let in_use = Err(ControlError::InUse("tenant opera".to_owned()));
    let at = |at| AuditEntry { at: Timestamp(at), ..note() };
    assert_eq!(control.delete_tenant(&opera, at(4)).await, in_use);
    assert_eq!(
        control.delete_tenant(&opera, at(5)).await,
        Ok(()),
        "a key whose end is now has ended"
    );
}

/// Also with many at once: of twelve rooms that come together, two are made.
pub(crate) async fn a_tenant_has_no_more_rooms_than_it_may(control: Arc<dyn Control>) {
    control.put_tenant(tenant("opera", 0), note()).await.unwrap();
    let made = (0..12).map(|no| {
        let control = control.clone();
        tokio::spawn(async move { control.put_room(of("opera", &format!("r{no}")), note()).await })
    });
    let mut full = 0;
    for made in made.collect::<Vec<_>>() {
        match made.await.unwrap() {
            Ok(1) => {}
            Err(ControlError::Full(tenant)) if tenant == id("opera") => full += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((full, control.rooms().await.unwrap().len()), (10, 2));
    // Those that are there can be changed, whatever is allowed by now.
    let fewer = Tenant { rooms_max: 1, ..tenant("opera", 1) };
    control.put_tenant(fewer, note()).await.unwrap();
    let first = control.rooms().await.unwrap().remove(0);
    assert_eq!(control.put_room(first, note()).await, Ok(2));
    control.put_room(room("another-tenant-s"), note()).await.unwrap();
}

/// A tenant that is deleted while a room of it is made: one of the two is refused, and no room is nobody's.
pub(crate) async fn a_room_and_its_tenants_end_do_not_cross(control: Arc<dyn Control>) {
    for no in 0..10 {
        let name = format!("t{no}");
        control.put_tenant(tenant(&name, 0), note()).await.unwrap();
        let (deleting, tenant_id) = (control.clone(), id(&name));
        let deleting = async move { deleting.delete_tenant(&tenant_id, note()).await };
        let making = control.put_room(of(&name, &format!("r{no}")), note());
        let (deleted, made) = tokio::join!(deleting, making);
        assert!(deleted.is_ok() != made.is_ok(), "{deleted:?} {made:?}");
    }
}
