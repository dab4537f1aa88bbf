//! The store falls back under a running node with ten thousand in line and a thousand inside: to nothing, and to older
//! files that do not say so. Its replica brings all of them back.

use jari_api::PlaceStatus;
use jari_line::{Ledger, Settings};
use jari_ports::OnStoreFailure;
use url::Url;

use crate::check::{Cap, one_each, order};
use crate::people::{Person, all};
use crate::site::Site;

const INSIDE: usize = 1_000;
const WAITING: usize = 10_000;
const CAP: Cap = Cap { capacity: INSIDE as u64, inside: INSIDE as u64 };

fn settings() -> Settings {
    let capacity = INSIDE as u64;
    Settings {
        capacity,
        rate_milli: 2_000_000,
        burst: 1_000,
        per_tick: 1_000,
        ..Settings::default()
    }
}

async fn join(people: &mut [Person], node: &Url) {
    let joined = all(people, async |person| person.join(node).await.0).await;
    assert!(joined.iter().all(|status| *status == 201), "everybody gets a place");
}

/// Everybody at their place; those inside have used their pass. Those inside come first.
async fn crowd(site: &Site, node: &Url, loss: Loss) -> Vec<Person> {
    let mut people = site.people(INSIDE + WAITING);
    let (early, late) = people.split_at_mut(INSIDE + WAITING / 2);
    join(early, node).await;
    let full = |room: &Ledger| (room.passes().live() == CAP.capacity).then_some(());
    site.until("it is full", full).await;
    if loss == Loss::Older {
        site.store.snapshot().await;
    }
    join(late, node).await;
    people.sort_by_key(|person| person.seq);
    all(&mut people[..INSIDE], async |person| person.go_in(node).await).await;
    people
}

#[derive(Clone, Copy, PartialEq)]
enum Loss {
    Everything,
    Older,
}

async fn everybody_is_back(loss: Loss) {
    let site = Site::new(settings(), OnStoreFailure::Wait).await;
    let running = site.node().await;
    let node = &running.url;
    let mut people = crowd(&site, node, loss).await;
    let numbers: Vec<_> = people.iter().map(|person| person.seq).collect();
    let (inside, waiting) = people.split_at_mut(INSIDE);

    site.store.fall_back();
    site.noticed_by(&running).await;
    // People are told that it is being put right, and nobody new gets a number.
    let told = waiting[0].refused(node).await;
    assert_eq!(told["code"], "recovering");
    assert!(told["poll_after_ms"].as_u64().is_some_and(|after| (4_000..8_000).contains(&after)));
    let mut newcomer = site.person();
    assert_eq!(newcomer.join(node).await.0, 503);
    let passed = all(inside, async |person| person.gate(node).await).await;
    assert!(passed.iter().all(|status| *status == 204), "who is inside stays inside");
    site.drive("the window is over", |room| CAP.see(room), |room| !room.is_recovering()).await;

    let told = all(waiting, async |person| person.told(node).await).await;
    assert!(told.iter().all(|view| view.status == PlaceStatus::Waiting));
    order(&told);
    let passed = all(inside, async |person| person.gate(node).await).await;
    assert!(passed.iter().all(|status| *status == 204), "and after it");
    assert_eq!(numbers, people.iter().map(|person| person.seq).collect::<Vec<_>>());
    one_each(&people);
    let highest = *numbers.last().expect("many");
    let (status, view) = newcomer.join(node).await;
    assert_eq!(status, 201);
    assert!(view.is_some_and(|view| view.seq > highest), "new numbers are above all old ones");

    goes_on(&site, node, &mut people).await;
}

/// Whoever leaves makes room for the first in line, and for no more.
async fn goes_on(site: &Site, node: &Url, people: &mut [Person]) {
    const LEAVING: usize = 100;
    let left = all(&mut people[..LEAVING], async |person| person.leave(node).await).await;
    assert!(left.iter().all(|status| *status == 204));
    let full = |room: &Ledger| room.passes().live() == CAP.capacity;
    site.drive("those who left are replaced", |room| CAP.see(room), full).await;
    let next = &mut people[INSIDE..INSIDE + LEAVING];
    all(next, async |person| person.go_in(node).await).await;
    CAP.see(&site.ledger().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_an_emptied_store_has_everybody_back_from_a_replica() {
    everybody_is_back(Loss::Everything).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_store_that_fell_back_has_everybody_back_from_a_replica() {
    everybody_is_back(Loss::Older).await;
}
