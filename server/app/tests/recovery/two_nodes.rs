//! Two nodes on one store, one of them behind the other when the store loses everything.

use std::collections::BTreeSet;

use jari_api::PlaceStatus;
use jari_line::{Loss, Past, RecoverOutcome, Settings};
use jari_ports::{LineStore, OnStoreFailure};
use jari_testkit::eventually;
use jari_units::Mark;
use url::Url;

use crate::check::{one_each, order};
use crate::people::{Person, all};
use crate::site::{Node, Site, room_id};

const PEOPLE: usize = 60;

struct Pair {
    site: Site,
    first: Node,
    /// Heard of nothing since half of the people had come.
    behind: Node,
    people: Vec<Person>,
    /// Left at the first node; the other has not heard of it.
    gone: Person,
}

async fn pair() -> Pair {
    let settings = Settings { capacity: 0, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let (first, behind) = (site.node().await, site.node().await);
    let mut people = site.people(PEOPLE);
    for person in &mut people[..PEOPLE / 2] {
        person.join(&first.url).await;
    }
    site.store.deafen(true);
    assert_eq!(people[0].poll(&behind.url).await.0, 200);
    site.store.deafen(false);
    for (nth, person) in people[PEOPLE / 2..].iter_mut().enumerate() {
        let node = if nth % 2 == 0 { &first } else { &behind };
        assert_eq!(person.join(&node.url).await.0, 201);
    }
    let gone = people.remove(10);
    assert_eq!(gone.clone().leave(&first.url).await, 204);
    Pair { site, first, behind, people, gone }
}

/// Everybody asks, at one node and the other in turn.
async fn ask(people: &mut [Person], nodes: [&Url; 2]) {
    for (nth, person) in people.iter_mut().enumerate() {
        assert_eq!(person.poll(nodes[nth % 2]).await.0, 503, "{}", person.seq);
    }
}

async fn same_as_before(site: &Site, people: &mut [Person], node: &Url) {
    let numbers: Vec<_> = people.iter().map(|person| person.seq).collect();
    let told = all(people, async |person| person.told(node).await).await;
    order(&told);
    assert!(told.iter().all(|view| view.status == PlaceStatus::Waiting));
    assert_eq!(numbers, told.iter().map(|view| view.seq).collect::<Vec<_>>());
    one_each(people);
    let (_, view) = site.person().join(node).await;
    assert!(view.is_some_and(|view| view.seq > PEOPLE as u64));
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_two_nodes_tell_what_each_knew_and_the_newer_word_counts() {
    let Pair { site, first, behind, mut people, mut gone } = pair().await;
    site.store.fall_back();
    site.noticed_by(&first).await;
    // Whoever serves nobody notices with the first who asks.
    people[0].poll(&behind.url).await;
    site.noticed_by(&behind).await;
    ask(&mut people, [&behind.url, &first.url]).await;
    site.recovered().await;
    same_as_before(&site, &mut people, &first.url).await;
    assert_eq!(gone.told(&behind.url).await.status, PlaceStatus::Ended, "one node knew");
    assert_eq!(gone.told(&first.url).await.status, PlaceStatus::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_what_only_a_dead_node_knew_comes_back_by_receipts() {
    let Pair { site, first, behind, mut people, .. } = pair().await;
    first.kill();
    site.store.fall_back();
    people[0].poll(&behind.url).await;
    site.noticed_by(&behind).await;
    ask(&mut people, [&behind.url, &behind.url]).await;
    site.recovered().await;
    // Who left at the dead node waits here, as far as this one knew: everybody else is in order around them.
    let numbers: Vec<_> = people.iter().map(|person| person.seq).collect();
    let told = all(&mut people, async |person| person.told(&behind.url).await).await;
    assert_eq!(numbers, told.iter().map(|view| view.seq).collect::<Vec<_>>());
    assert!(told.iter().all(|view| view.status == PlaceStatus::Waiting));
    assert!(told.is_sorted_by_key(|view| view.seq) && told.is_sorted_by_key(|view| view.position));
    let positions: BTreeSet<_> = told.iter().filter_map(|view| view.position).collect();
    assert_eq!(positions.len(), told.len(), "nobody shares a position");
    assert!(positions.last().is_some_and(|last| *last <= PEOPLE as u64));
    let (_, view) = site.person().join(&behind.url).await;
    assert!(view.is_some_and(|view| view.seq > PEOPLE as u64));
}

/// Another node has it recovered, and this one's feed never says so: its next answer does.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_an_answer_of_a_newer_history_makes_a_node_read_the_room_again() {
    let (site, node, _) = unaware(1).await;
    let another = recovered_by_another(&site, &node).await;
    eventually("the node is at the new history", async || {
        (site.mark_of(&node).incarnation == another.incarnation).then_some(())
    })
    .await;
}

/// A room that was not told yet knows nobody who could leave: only its recovery makes that true.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_who_leaves_at_a_node_that_has_not_heard_of_a_recovery_stays_gone() {
    let (site, node, mut people) = unaware(2).await;
    recovered_by_another(&site, &node).await;
    let mut gone = people.remove(1);
    let acknowledged = eventually("it is answered", async || {
        let status = gone.clone().leave(&node.url).await;
        (status != 503).then_some(status)
    });
    assert_eq!(acknowledged.await, 204);
    site.noticed_by(&node).await;
    assert_eq!(people[0].poll(&node.url).await.0, 503);
    site.recovered().await;
    assert_eq!(gone.told(&node.url).await.status, PlaceStatus::Ended);
    assert_eq!(people[0].told(&node.url).await.status, PlaceStatus::Waiting);
}

/// A node that serves these people, and that no event reaches.
async fn unaware(people: usize) -> (Site, Node, Vec<Person>) {
    let settings = Settings { capacity: 0, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let first = site.node().await;
    let mut people = site.people(people);
    for person in &mut people {
        assert_eq!(person.join(&first.url).await.0, 201);
    }
    first.kill();
    let node = site.node().await;
    site.store.deafen(true);
    assert_eq!(people[0].poll(&node.url).await.0, 200);
    site.store.deafen(false);
    (site, node, people)
}

/// The store loses everything, and another node notices first. The mark that the room begins anew with.
async fn recovered_by_another(site: &Site, node: &Node) -> Mark {
    site.store.fall_back();
    let seen = Loss::Seen(Past { mark: site.mark_of(node), origin: None });
    let settings = Settings { capacity: 0, ..Settings::default() };
    let another = site.store.recover(&room_id(), settings, seen, u64::MAX).await.expect("answered");
    assert_ne!(another.outcome, RecoverOutcome::NothingLost);
    another.mark
}
