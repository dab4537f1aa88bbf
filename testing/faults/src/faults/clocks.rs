//! Wrong clocks: of a node from its start, of the server while it runs.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::stage::Stage;

/// Long enough that people of both nodes come, wait, go in and leave.
const WHILE: Duration = Duration::from_secs(30);

/// The node's clock has been wrong all along: people go through both nodes meanwhile, and some change from one to the
/// other with what they hold.
pub(super) async fn let_time_pass(stage: &mut Stage) -> Result<()> {
    let last = stage.site.nodes.len() - 1;
    let (right, wrong) = (stage.site.time_of(0).await?, stage.site.time_of(last).await?);
    let (off, planned) = (wrong - right, stage.plan.node_clock_s);
    anyhow::ensure!((off - planned).abs() < 10, "its clock is off by {off} s, not {planned} s");
    sleep(WHILE / 2).await;
    stage.crowd.turn_all().await;
    sleep(WHILE / 2).await;
    stage.note("everybody changed to the other node halfway");
    Ok(())
}

/// The server's clock is set, by so many seconds.
pub(super) async fn jump(stage: &mut Stage, seconds: i64) -> Result<()> {
    let before = time_of(&stage.site.servers[0]);
    stage.site.primary().set_clock(seconds);
    sleep(Duration::from_secs(1)).await;
    let jumped = time_of(&stage.site.servers[0]) - before;
    anyhow::ensure!(
        (jumped - seconds).abs() < 10,
        "the clock moved by {jumped} s, not {seconds} s"
    );
    sleep(WHILE).await;
    Ok(())
}

fn time_of(server: &jari_servers::Server) -> i64 {
    let told = server.ask_list("TIME");
    told.first().and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
}
