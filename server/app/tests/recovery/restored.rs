//! An old backup is put in place while people hold newer receipts, and every node starts anew: only receipts are left.

use jari_api::PlaceStatus;
use jari_line::{Ledger, Settings};
use jari_ports::OnStoreFailure;
use jari_units::Millis;

use crate::check::{one_each, order};
use crate::people::all;
use crate::site::Site;

const CAPACITY: u64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_after_an_old_backup_whoever_asks_has_their_place_and_nobody_gains_one() {
    let settings = Settings { capacity: CAPACITY, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let running = site.node().await;
    let node = running.url.clone();
    let mut early = site.people(40);
    for person in &mut early {
        assert_eq!(person.join(&node).await.0, 201);
    }
    for person in &mut early[..5] {
        person.go_in(&node).await;
    }
    site.store.backup();

    // What the backup lacks: newcomers, people who left, one who went and one who came in.
    let mut late = site.people(20);
    for person in &mut late {
        assert_eq!(person.join(&node).await.0, 201);
    }
    let mut gone: Vec<_> = [0, 7, 8].map(|nth| early[nth].clone()).into();
    for nth in [0, 7, 8] {
        assert_eq!(early[nth].leave(&node).await, 204);
    }
    early[5].go_in(&node).await;
    // Long enough ago that the loss is not taken for the moment after.
    site.clock.advance(Millis::from_mins(4));
    let now = jari_ports::Clock::now(&site.clock);
    site.until("the room ticks", |room| (room.clocks().now >= now).then_some(())).await;
    let mut there: Vec<_> = early.into_iter().chain(late).collect();
    there.retain(|person| gone.iter().all(|gone| gone.seq != person.seq));
    let before = all(&mut there, async |person| person.told(&node).await).await;
    let numbers: Vec<_> = there.iter().map(|person| person.seq).collect();

    running.kill();
    site.store.fall_back();
    let restarted = site.node().await;
    let node = &restarted.url;
    site.noticed_by(&restarted).await;
    // Everybody's page asks, those who left too.
    for person in there.iter_mut().chain(&mut gone) {
        let (status, view) = person.poll(node).await;
        assert!(status == 503 || view.is_some_and(|view| view.status == PlaceStatus::Admitted));
    }
    let mut newcomer = site.person();
    assert_eq!(newcomer.join(node).await.0, 503);
    let admitted = site.ledger().await.totals().admitted;
    site.recovered().await;
    let room = site.ledger().await;
    assert!(room.passes().live() <= CAPACITY, "{} inside", room.passes().live());
    assert_eq!(room.totals().admitted, admitted, "nobody was let in");

    let told = all(&mut there, async |person| person.told(node).await).await;
    for (view, before) in told.iter().zip(&before) {
        assert_eq!((view.seq, view.status), (before.seq, before.status), "as before");
    }
    assert_eq!(numbers, there.iter().map(|person| person.seq).collect::<Vec<_>>());
    order(&told);
    one_each(&there);
    for person in &mut gone {
        assert_eq!(person.told(node).await.status, PlaceStatus::Ended, "{} had left", person.seq);
        assert_eq!(person.gate(node).await, 428);
    }
    let (_, view) = newcomer.join(node).await;
    assert!(view.is_some_and(|view| view.seq > *numbers.iter().max().expect("many")));
    goes_on(&site, node, &mut there).await;
}

/// One who is inside leaves, and the first in line goes in: nobody else.
async fn goes_on(site: &Site, node: &url::Url, there: &mut [crate::people::Person]) {
    let inside = |room: &Ledger| room.passes().live();
    assert_eq!(inside(&site.ledger().await), CAPACITY);
    assert_eq!(there[0].leave(node).await, 204);
    let see = |room: &Ledger| assert!(inside(room) <= CAPACITY);
    site.drive("the next is called", see, |room| inside(room) == CAPACITY).await;
    there[5].go_in(node).await;
}

/// Files put back by other means say nothing of it; the first receipt of a number that they lack does.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_receipt_shows_that_the_store_is_an_old_one() {
    let settings = Settings { capacity: 0, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let running = site.node().await;
    let mut people = site.people(4);
    for person in &mut people[..2] {
        person.join(&running.url).await;
    }
    site.store.snapshot().await;
    for person in &mut people[2..] {
        assert_eq!(person.join(&running.url).await.0, 201);
    }
    running.kill();
    site.store.fall_back();
    let restarted = site.node().await;
    let node = &restarted.url;
    assert!(!site.ledger().await.is_recovering(), "nobody knows yet");
    // Not a place that the next newcomer would be given too.
    people[3].poll(node).await;
    site.noticed_by(&restarted).await;
    for person in &mut people {
        assert_eq!(person.poll(node).await.0, 503);
    }
    site.recovered().await;
    let told = all(&mut people, async |person| person.told(node).await).await;
    order(&told);
    assert_eq!(told.iter().map(|view| view.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
}
