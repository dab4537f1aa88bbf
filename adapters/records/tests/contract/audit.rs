//! The audit trail: numbered without gaps, one chain, read from the newest in pages.

use std::sync::Arc;

use jari_audit::{ChainCheck, EntryHash, Start};
use jari_ports::{AuditEntry, Control, RoomDefinition, SigningKey, SigningKeyState};
use jari_units::Timestamp;

use super::{note, room};

fn entry(target: &str) -> AuditEntry {
    AuditEntry {
        no: 0,
        at: Timestamp(1_800_000_000_000),
        actor: "key:abc".to_owned(),
        action: "room.pause".to_owned(),
        target: target.to_owned(),
        before: r#"{"paused": false}"#.to_owned(),
        after: r#"{"paused": true, "왜": "점검"}"#.to_owned(),
    }
}

async fn append(control: &Arc<dyn Control>, target: &str) -> u64 {
    control.append_audit(entry(target)).await.unwrap()
}

async fn numbers(
    control: &Arc<dyn Control>,
    target: Option<&str>,
    before_no: Option<u64>,
    limit: u32,
) -> (Vec<u64>, Option<u64>) {
    let page = control.audit(target.map(str::to_owned), before_no, limit).await.unwrap();
    (page.entries.iter().map(|chained| chained.entry.no).collect(), page.next_before_no)
}

pub(crate) async fn an_entry_comes_back_as_it_was_appended(control: Arc<dyn Control>) {
    assert_eq!(append(&control, "room:shop").await, 1);
    let mut want = entry("room:shop");
    want.no = 1;
    let page = control.audit(None, None, 10).await.unwrap();
    let said: Vec<_> = page.entries.into_iter().map(|chained| chained.entry).collect();
    assert_eq!((said, page.next_before_no), (vec![want], None));
}

pub(crate) async fn concurrent_entries_get_every_number_once(control: Arc<dyn Control>) {
    let appends = (0..24).map(|_| {
        let control = control.clone();
        tokio::spawn(async move { append(&control, "room:shop").await })
    });
    let mut given = Vec::new();
    for append in appends.collect::<Vec<_>>() {
        given.push(append.await.unwrap());
    }
    given.sort_unstable();
    assert_eq!(given, (1..=24).collect::<Vec<_>>());
}

pub(crate) async fn pages_go_from_the_newest_to_the_first(control: Arc<dyn Control>) {
    assert_eq!(numbers(&control, None, None, 2).await, (vec![], None));
    for _ in 0..5 {
        append(&control, "room:shop").await;
    }
    assert_eq!(numbers(&control, None, None, 2).await, (vec![5, 4], Some(4)));
    assert_eq!(numbers(&control, None, Some(4), 2).await, (vec![3, 2], Some(2)));
    assert_eq!(numbers(&control, None, Some(2), 2).await, (vec![1], None));
    // A last page that is exactly full has none after it.
    assert_eq!(numbers(&control, None, None, 5).await, (vec![5, 4, 3, 2, 1], None));
    assert_eq!(numbers(&control, None, Some(1), 5).await, (vec![], None));
    assert_eq!(numbers(&control, None, Some(u64::MAX), 1).await, (vec![5], Some(5)));
}

pub(crate) async fn a_target_filters_exactly(control: Arc<dyn Control>) {
    for target in ["room:a", "room:ab", "group:a", "room:a"] {
        append(&control, target).await;
    }
    assert_eq!(numbers(&control, Some("room:a"), None, 10).await, (vec![4, 1], None));
    assert_eq!(numbers(&control, Some("room:a"), None, 1).await, (vec![4], Some(4)));
    assert_eq!(numbers(&control, Some("room:a"), Some(4), 1).await, (vec![1], None));
    assert_eq!(numbers(&control, Some("room:%"), None, 10).await, (vec![], None));
}

pub(crate) async fn a_page_has_between_one_and_200_entries(control: Arc<dyn Control>) {
    for _ in 0..201 {
        append(&control, "room:shop").await;
    }
    assert_eq!(numbers(&control, None, None, 0).await, (vec![201], Some(201)));
    let (all, next) = numbers(&control, None, None, u32::MAX).await;
    assert_eq!((all.len(), next), (200, Some(2)));
}

/// Checks the chain as the port shows it, and answers its length.
async fn chained(control: &Arc<dyn Control>) -> u64 {
    let mut entries = Vec::new();
    let mut before_no = None;
    loop {
        let page = control.audit(None, before_no, 7).await.unwrap();
        entries.extend(page.entries);
        before_no = page.next_before_no;
        if before_no.is_none() {
            break;
        }
    }
    let mut check = ChainCheck::new(Start::First, None);
    for entry in entries.iter().rev() {
        check.take(entry).unwrap();
    }
    check.end(entries.len() as u64, None).unwrap().map_or(0, |head| head.no)
}

pub(crate) async fn each_entry_names_the_hash_of_the_one_before_it(control: Arc<dyn Control>) {
    append(&control, "room:shop").await;
    control.put_room(room("shop"), note()).await.unwrap();
    append(&control, "room:shop").await;
    let entries = control.audit(None, None, 10).await.unwrap().entries;
    let links: Vec<_> = entries.iter().rev().map(|chained| chained.link).collect();
    assert_eq!(links[0].prev_hash, EntryHash::NONE);
    assert_eq!((links[1].prev_hash, links[2].prev_hash), (links[0].hash, links[1].hash));
    // Filtered, an entry still shows its own place.
    let of_room = control.audit(Some("room:shop".to_owned()), None, 1).await.unwrap().entries;
    assert_eq!(of_room[0].link, links[2]);
    assert_eq!(chained(&control).await, 3);
}

pub(crate) async fn writes_and_entries_at_once_make_one_chain(control: Arc<dyn Control>) {
    let mut writing = tokio::task::JoinSet::new();
    for no in 0..12_u8 {
        let control = control.clone();
        writing.spawn(async move {
            append(&control, "room:shop").await;
            let key = SigningKey {
                id: no,
                secret: [no; 32],
                state: SigningKeyState::Active,
                created_at: Timestamp(1),
            };
            control.add_signing_key(key, note()).await.unwrap();
            control.put_room(room(&format!("room-{no}")), note()).await.unwrap();
            // Refused: it takes no number and leaves no gap.
            let stale = RoomDefinition { version: 9, ..room(&format!("room-{no}")) };
            control.put_room(stale, note()).await.unwrap_err();
        });
    }
    writing.join_all().await;
    assert_eq!(chained(&control).await, 36);
}
