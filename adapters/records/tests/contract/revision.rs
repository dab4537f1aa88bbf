//! The revision, by which other nodes notice a write, and the entry that each write brings along.

use std::sync::Arc;

use jari_line::GroupSettings;
use jari_ports::{
    ApiKeyScope, Control, LimitGroup, NewApiKey, RoomDefinition, SigningKey, SigningKeyState,
    SiteKey, Tenant, TenantLimits,
};
use jari_units::{TenantId, Timestamp};

use super::{note, room};

fn group(version: u64) -> LimitGroup {
    let settings = GroupSettings { capacity: 1, rate_milli: 1, burst: 1 };
    LimitGroup { id: "all".parse().unwrap(), settings, version }
}

fn api_key(id: &str) -> NewApiKey {
    let (tenant, scope) = ("default".parse().unwrap(), ApiKeyScope::Admin);
    NewApiKey { id: id.to_owned(), tenant, scope, name: String::new(), hash: [1; 32] }
}

fn signing_key() -> SigningKey {
    let (state, created_at) = (SigningKeyState::Active, Timestamp(1));
    SigningKey { id: 1, secret: [1; 32], state, created_at }
}

const TIMES: (Timestamp, Timestamp) = (Timestamp(1), Timestamp(2));

fn site_key(tenant: &str) -> SiteKey {
    let (id, tenant) = ("k".to_owned(), tenant.parse().unwrap());
    let (created_at, signs_from) = TIMES;
    SiteKey { id, tenant, seed: [1; 32], created_at, signs_from, ends_at: None }
}

fn stale() -> RoomDefinition {
    RoomDefinition { version: 9, ..room("shop") }
}

async fn entries(control: &Arc<dyn Control>) -> u64 {
    control.audit(None, None, 1).await.unwrap().entries.first().map_or(0, |last| last.entry.no)
}

/// Awaits a write, and that it raised the revision and brought one entry.
macro_rules! raises {
    ($control:ident, $write:expr) => {{
        let (revision, noted) = ($control.revision().await.unwrap(), entries(&$control).await);
        let _ = $write.await.unwrap();
        let after = $control.revision().await.unwrap();
        assert!(after > revision, "{} left {revision}", stringify!($write));
        assert_eq!(entries(&$control).await, noted + 1, "{}", stringify!($write));
    }};
}

pub(crate) async fn every_write_raises_the_revision_and_nothing_else_does(
    control: Arc<dyn Control>,
) {
    assert_eq!(control.revision().await, Ok(0));
    let second = RoomDefinition { version: 1, ..room("shop") };
    let opera = |version| Tenant {
        id: "opera".parse().unwrap(),
        name: "Opera".to_owned(),
        rooms_max: 1,
        limits: TenantLimits::default(),
        return_urls: Vec::new(),
        cors_origins: Vec::new(),
        version,
    };
    raises!(control, control.put_tenant(opera(0), note()));
    raises!(control, control.put_tenant(opera(1), note()));
    raises!(control, control.delete_tenant(&opera(0).id, note()));
    raises!(control, control.put_room(room("shop"), note()));
    raises!(control, control.put_room(second, note()));
    raises!(control, control.delete_room(&room("shop").id, note()));
    raises!(control, control.put_group(group(0), note()));
    raises!(control, control.put_group(group(1), note()));
    raises!(control, control.delete_group(&group(0).id, note()));
    raises!(control, control.add_first_api_key(api_key("a"), Timestamp(1), note()));
    raises!(control, control.add_api_key(api_key("b"), Timestamp(1), note()));
    raises!(control, control.revoke_api_key("a", Timestamp(2), note()));
    raises!(control, control.rotate_api_key("b", api_key("c"), TIMES.0, TIMES.1, note()));
    raises!(control, control.add_signing_key(signing_key(), note()));
    raises!(control, control.add_site_key(site_key("default"), Timestamp(1), note()));
    let next = SiteKey { id: "next".to_owned(), ..site_key("default") };
    raises!(control, control.add_site_key(next, Timestamp(9), note()));
    raises!(control, control.end_site_key(&"default".parse().unwrap(), "k", TIMES.1, note()));
    let revision = control.revision().await;
    control.note_api_key_use(vec![("b".to_owned(), Timestamp(3))]).await.unwrap();
    control.append_audit(note()).await.unwrap();
    control.rooms().await.unwrap();
    assert_eq!(control.revision().await, revision);
}

pub(crate) async fn a_write_and_its_entry_are_there_together(control: Arc<dyn Control>) {
    control.put_room(room("shop"), note()).await.unwrap();
    let mut want = note();
    want.no = 1;
    let entries = control.audit(None, None, 10).await.unwrap().entries;
    assert_eq!((entries.len(), &entries[0].entry), (1, &want));
}

pub(crate) async fn a_refused_write_leaves_no_trace(control: Arc<dyn Control>) {
    let id = room("shop").id;
    control.put_group(group(0), note()).await.unwrap();
    let member = RoomDefinition { group: Some(group(0).id), ..room("member") };
    control.put_room(member, note()).await.unwrap();
    control.add_first_api_key(api_key("a"), Timestamp(1), note()).await.unwrap();
    control.add_signing_key(signing_key(), note()).await.unwrap();
    let before = (control.revision().await, entries(&control).await);
    let unknown = Some("unknown".parse().unwrap());
    let ungrouped = RoomDefinition { group: unknown, ..room("shop") };
    assert!(control.put_room(stale(), note()).await.is_err());
    assert!(control.put_room(room("member"), note()).await.is_err());
    assert!(control.put_room(ungrouped, note()).await.is_err());
    assert!(control.delete_room(&id, note()).await.is_err());
    assert!(control.put_group(group(7), note()).await.is_err());
    assert!(control.delete_group(&group(0).id, note()).await.is_err());
    assert!(control.add_api_key(api_key("a"), Timestamp(1), note()).await.is_err());
    assert_eq!(control.add_first_api_key(api_key("b"), Timestamp(1), note()).await, Ok(false));
    assert!(control.revoke_api_key("unknown", Timestamp(1), note()).await.is_err());
    assert!(
        control.rotate_api_key("unknown", api_key("d"), TIMES.0, TIMES.1, note()).await.is_err()
    );
    assert!(control.rotate_api_key("a", api_key("a"), TIMES.0, TIMES.1, note()).await.is_err());
    assert!(control.add_signing_key(signing_key(), note()).await.is_err());
    assert!(control.add_site_key(site_key("unknown"), Timestamp(1), note()).await.is_err());
    let default: TenantId = "default".parse().unwrap();
    assert!(control.end_site_key(&default, "unknown", Timestamp(1), note()).await.is_err());
    assert_eq!((control.revision().await, entries(&control).await), before);
    // The trail goes on without a gap.
    assert_eq!(control.append_audit(note()).await, Ok(before.1 + 1));
}

/// Readers beside writers: nobody sees a revision whose write is not there yet.
pub(crate) async fn what_is_read_after_a_revision_is_as_new(control: Arc<dyn Control>) {
    let writer = control.clone();
    let writing = tokio::spawn(async move {
        for number in 0..20 {
            writer.put_room(room(&format!("room-{number}")), note()).await.unwrap();
        }
    });
    while !writing.is_finished() {
        let revision = control.revision().await.unwrap();
        let rooms = control.rooms().await.unwrap().len() as u64;
        assert!(rooms >= revision, "{rooms} rooms at revision {revision}");
    }
    writing.await.unwrap();
    assert_eq!(control.revision().await, Ok(20));
}
