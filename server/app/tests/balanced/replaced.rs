//! All nodes replaced one by one under load, as an upgrade does: no call fails, no stream breaks off without having been sent
//! away, nobody's place is lost.

use std::time::Duration;

use jari_servers::BalancerKind;
use tokio::time::sleep;

use crate::configured::NODES;
use crate::crowd::Crowd;
use crate::house::House;

const PEOPLE: usize = 100;
/// Somebody new comes this often.
const COMES_EVERY: Duration = Duration::from_millis(100);

async fn replace_all(kind: BalancerKind, settings: &[(&'static str, &str)]) {
    let mut house = House::with(kind, true, settings).await;
    let mut crowd = Crowd::gather(&house, PEOPLE).await;
    for nth in 0..NODES {
        let replaced = async {
            house.replace(nth).await;
            // As the guide says: the next one only when the balancer has taken this one back.
            house.wait_until_it_serves(nth).await;
        };
        let began = tokio::time::Instant::now();
        tokio::pin!(replaced);
        loop {
            tokio::select! {
                () = &mut replaced => break,
                () = sleep(COMES_EVERY) => crowd.one_more().await,
            }
        }
        crate::report(format_args!("node {nth} was replaced within {:?}", began.elapsed()));
    }
    let repeated = house.balanced.repeated().await;
    let counts = crowd.check().await;
    crate::report(format_args!(
        "{kind:?}, all nodes replaced: the balancer tried {repeated} calls again; {counts:?}"
    ));
    assert_eq!(counts.failed, Vec::<String>::new(), "{counts:?}");
    assert_eq!(counts.broke_off + counts.given_up, 0, "{counts:?}");
    assert!(counts.sent_away > 0, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_nginx_all_nodes_are_replaced_and_no_call_fails() {
    replace_all(BalancerKind::Nginx, &[]).await;
}

/// Envoy asks nodes whether they are ready: they say that they go before they go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_envoy_all_nodes_are_replaced_and_no_call_fails() {
    replace_all(BalancerKind::Envoy, &[("JARI__HTTP__DRAIN_NOTICE_MS", "3000")]).await;
}
