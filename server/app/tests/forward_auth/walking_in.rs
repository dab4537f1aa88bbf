//! Rooms whose gate joins people itself (`auto`, `shadow`): every cookie of its answer reaches the browser, so that whoever is
//! inside stays who they are.

use jari_servers::BalancerKind;
use jari_testkit::{Answer, eventually};
use reqwest::Method;
use serde_json::json;

use crate::stage::{ROOM, Stage, ask, go};
use crate::with_each_proxy;

/// People who come at once: many more than may walk in.
const RUSH: usize = 60;
/// What the gate's first answer sets.
const ALL: [&str; 3] = ["jari_visitor", "jari_place_shop", "jari_pass_shop"];

/// The names of the cookies that an answer sets, each in a header of its own.
fn set(answer: &Answer) -> Vec<String> {
    let cookies = answer.headers.get_all("set-cookie").iter();
    let names = cookies.filter_map(|cookie| cookie.to_str().ok()?.split('=').next());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn all() -> Vec<String> {
    let mut all = ALL.map(str::to_owned).to_vec();
    all.sort_unstable();
    all
}

async fn who_walked_in_stays_inside_when_the_room_begins_to_queue(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let auto = json!({"mode": "auto", "capacity": 3, "queue_at_live": 2, "quiet_for_ms": 5_000});
    stage.app().operator().set(ROOM, auto).await;
    let (first, second) = (stage.visitor(), stage.visitor());
    let answer = go(&first, "/tickets/1").await.expect(200);
    assert_eq!(set(&answer), all(), "{answer:?}");
    let kept = answer.headers.get_all("cache-control").iter().collect::<Vec<_>>();
    assert!(format!("{kept:?}").contains("private"), "no cache between may keep it: {answer:?}");
    let _ = go(&second, "/tickets/1").await.expect(200);
    eventually("the room queues", async || {
        let stats = stage.app().operator().stats(ROOM).await;
        stats.queueing.is_some().then_some(())
    })
    .await;
    for visitor in [&first, &second] {
        let _ = go(visitor, "/tickets/1").await.expect(200);
        let posted = visitor.request(Method::POST, "/tickets/upload").body("a form");
        assert_eq!(ask(posted).await.expect(200).text(), "6");
    }
    let stats = stage.app().operator().stats(ROOM).await;
    assert_eq!((stats.joined_total, stats.live), (2, 2), "each is one person");
    let _ = go(&stage.visitor(), "/tickets/1").await.expect(303);
    // The names by which the gate tells cookies apart are for the proxy: nothing of a token is readable to scripts.
    let told = |answer: &Answer| format!("{:?}", answer.headers).contains("jari-set-");
    assert!(!told(&go(&first, "/tickets/1").await) && !told(&answer), "{answer:?}");
    let seen = format!("{:?}", stage.site.seen());
    assert!(!seen.contains("jari-set-"), "{seen}");
}

async fn a_shadow_room_counts_a_browser_once(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    stage.app().operator().set(ROOM, json!({"mode": "shadow"})).await;
    let visitor = stage.visitor();
    for _ in 0..4 {
        let _ = go(&visitor, "/tickets/1").await.expect(200);
    }
    assert_eq!(stage.app().operator().stats(ROOM).await.joined_total, 1);
    let seen = stage.site.last_seen();
    assert_eq!(seen.header("jari-unchecked").as_deref(), Some("shadow"));
}

/// In a rush the queue begins between two answers. Whoever got a place with one has it in their browser, however the proxy
/// asks: a place that belongs to nobody would be called, and hold the others up.
async fn every_place_that_a_rush_is_given_belongs_to_somebody(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let auto = json!({"mode": "auto", "capacity": 5, "queue_at_live": 4, "quiet_for_ms": 60_000});
    stage.app().operator().set(ROOM, auto).await;
    let people: Vec<_> = (0..RUSH).map(|_| stage.visitor()).collect();
    let rush = people.iter().map(|visitor| go(visitor, "/tickets/1"));
    let answers = futures_util::future::join_all(rush).await;
    let named = |answer: &Answer| {
        let names = set(answer);
        let has = |name| names.iter().any(|known| known == name);
        assert!(matches!(answer.status.as_u16(), 200 | 303), "{answer:?}");
        assert!(answer.status != 200 || has("jari_pass_shop"), "{answer:?}");
        has("jari_place_shop") && has("jari_visitor")
    };
    let placed = answers.iter().filter(|answer| named(answer)).count();
    let stats = stage.app().operator().stats(ROOM).await;
    assert_eq!(stats.joined_total, placed as u64, "{kind:?}");
    assert!(!format!("{answers:?}").contains("jari-set-"), "for proxies alone");
}

with_each_proxy! {
    who_walked_in_stays_inside_when_the_room_begins_to_queue
    a_shadow_room_counts_a_browser_once
    every_place_that_a_rush_is_given_belongs_to_somebody
}
