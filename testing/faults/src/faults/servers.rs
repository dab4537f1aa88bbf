//! Faults of the server that holds the line: dead, without its last seconds, standing still, full, forgetful, moved.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::{Instant, sleep};

use crate::site::ROOM;
use crate::stage::Stage;

/// What the disk lacks after a power cut: more than the second between two syncs, so that something is missing for sure.
const UNSYNCED: Duration = Duration::from_millis(1_500);
/// How long a server is away whose power was cut.
const AWAY: Duration = Duration::from_secs(2);

/// Dead for so long, then started with what is on its disk.
pub(super) async fn kill(stage: &mut Stage, down: Duration) {
    stage.site.primary().kill();
    sleep(down).await;
    tokio::task::block_in_place(|| stage.site.primary().start_again());
}

/// Dead, and what it had written since the last sync never reached the disk.
pub(super) async fn cut_power(stage: &mut Stage) -> Result<()> {
    let log = log_of(stage)?;
    let synced = log.metadata()?.len();
    sleep(UNSYNCED).await;
    stage.site.primary().kill();
    let written = log.metadata()?.len();
    ensure!(written > synced, "nothing was written in {UNSYNCED:?}: nothing would be lost");
    std::fs::OpenOptions::new().write(true).open(&log)?.set_len(synced)?;
    stage.note(format!("{} bytes of the log were cut off", written - synced));
    sleep(AWAY).await;
    tokio::task::block_in_place(|| stage.site.primary().start_again());
    Ok(())
}

/// The part of the append-only log that grows.
fn log_of(stage: &mut Stage) -> Result<PathBuf> {
    let folder = stage.site.primary().folder().join("appendonlydir");
    let files = std::fs::read_dir(&folder).context("the server keeps no log")?;
    let mut files = files.flatten().map(|file| file.path());
    files.find(|file| file.display().to_string().ends_with(".incr.aof")).context("no log grows")
}

/// Connections stay and nothing answers.
pub(super) async fn freeze(stage: &mut Stage, span: Duration) {
    stage.site.primary().pause();
    sleep(span).await;
    stage.site.primary().resume();
}

/// Every script has to be sent again, all the time.
pub(super) async fn forget_scripts(stage: &mut Stage, span: Duration) {
    let (end, mut times) = (Instant::now() + span, 0);
    while Instant::now() < end {
        stage.site.primary().ask("SCRIPT FLUSH");
        times += 1;
        sleep(Duration::from_millis(100)).await;
    }
    stage.note(format!("{times} times"));
}

/// No memory for anything new, then enough again.
pub(super) async fn fill_memory(stage: &mut Stage, span: Duration) {
    stage.site.primary().ask("CONFIG SET maxmemory 1mb");
    sleep(span).await;
    stage.site.primary().ask("CONFIG SET maxmemory 0");
}

/// To another primary, key by key, while people come.
pub(super) async fn move_slot(stage: &mut Stage) {
    sleep(Duration::from_secs(3)).await;
    let cluster = stage.site.cluster.as_ref().expect("the plan has one");
    let begun = Instant::now();
    tokio::task::block_in_place(|| cluster.move_slot_of(&format!("jari:{{{ROOM}}}:s")));
    let took = begun.elapsed().as_millis();
    stage.note(format!("moved in {took} ms"));
    sleep(Duration::from_secs(3)).await;
}
