//! The gate while a room recovers: who is inside stays inside, and each policy holds. And a limit group that was lost.

use jari_line::{GroupSettings, Ledger, Settings};
use jari_pass::PassToken;
use jari_ports::{Clock, OnStoreFailure};
use jari_units::{Millis, Timestamp};

use crate::site::{ROOM, Site, ring};

/// Everything is lost but the cookies, under each policy.
async fn shown_at_the_gate(policy: OnStoreFailure) -> (u16, u16, u16) {
    let settings = Settings { capacity: 2, ..Settings::default() };
    let site = Site::new(settings, policy).await;
    let running = site.node().await;
    let mut person = site.person();
    person.join(&running.url).await;
    person.go_in(&running.url).await;
    let cookie = person.cookie("pass");
    let pass: PassToken = ring().open(&cookie, Timestamp(0)).expect("ours");
    running.kill();
    site.store.fall_back();
    let restarted = site.node().await;
    let node = &restarted.url;
    site.noticed_by(&restarted).await;

    let inside = person.gate(node).await;
    // Another one, whose cookie has run out: whether the pass still lives, nobody has told yet.
    let expired = PassToken {
        pass: jari_units::PassId { seq: pass.pass.seq + 1, ..pass.pass },
        expires_at: site.clock.now(),
        ..pass
    };
    let mut late = site.person();
    late.cookies.insert(format!("jari_pass_{ROOM}"), ring().sign(&expired));
    let late = late.gate(node).await;
    let stranger = site.person().gate(node).await;
    let live = |room: &Ledger| assert!(room.passes().live() <= 1, "let in meanwhile");
    site.drive("the window is over", live, |room| !room.is_recovering()).await;
    assert_eq!(person.gate(node).await, 204, "and after it");
    assert_eq!(site.ledger().await.passes().live(), 1);
    (inside, late, stranger)
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_pass_comes_back_by_its_cookie_and_each_policy_holds() {
    let (wait, refuse, pass) = tokio::join!(
        shown_at_the_gate(OnStoreFailure::Wait),
        shown_at_the_gate(OnStoreFailure::Refuse),
        shown_at_the_gate(OnStoreFailure::Pass),
    );
    assert_eq!(wait, (204, 503, 428));
    assert_eq!(refuse, (204, 503, 428));
    assert_eq!(pass, (204, 204, 428));
}

/// A lost group is told to the store anew: without it a grouped room would let nobody in for ever.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_a_limit_group_is_pushed_again_after_a_loss() {
    let settings = Settings { capacity: 50, ..Settings::default() };
    let group = GroupSettings { capacity: 3, rate_milli: 1_000_000, burst: 1_000 };
    let site = Site::grouped(settings, group).await;
    let running = site.node().await;
    let node = &running.url;
    let mut people = site.people(6);
    for person in &mut people {
        assert_eq!(person.join(node).await.0, 201);
    }
    let inside = |room: &Ledger| room.passes().live();
    site.until("the group is full", |room| (inside(room) == 3).then_some(())).await;
    for person in &mut people[..3] {
        person.go_in(node).await;
    }
    site.store.fall_back();
    site.noticed_by(&running).await;
    let at_most = |room: &Ledger| assert!(inside(room) <= 3, "{} inside", inside(room));
    site.drive("the window is over", at_most, |room| !room.is_recovering()).await;
    assert_eq!(people[0].leave(node).await, 204);
    people[3].told(node).await;
    let next = |room: &Ledger| inside(room) == 3 && room.serving() == 4;
    site.drive("the next is called within the group's limit", at_most, next).await;
    site.run_for(Millis::from_secs(5)).await;
    at_most(&site.ledger().await);
}
