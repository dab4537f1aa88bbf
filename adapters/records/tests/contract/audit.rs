//! The audit trail: numbered without gaps, read from the newest in pages.

use std::sync::Arc;

use jari_ports::{AuditEntry, Control};
use jari_units::Timestamp;

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
    (page.entries.iter().map(|entry| entry.no).collect(), page.next_before_no)
}

pub(crate) async fn an_entry_comes_back_as_it_was_appended(control: Arc<dyn Control>) {
    assert_eq!(append(&control, "room:shop").await, 1);
    let mut want = entry("room:shop");
    want.no = 1;
    let page = control.audit(None, None, 10).await.unwrap();
    assert_eq!((page.entries, page.next_before_no), (vec![want], None));
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
