//! The tenant of a rush: admits so many once a second, by the clock.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::{Duration, Instant, sleep_until};

use super::RushArgs;
use crate::connection::Connection;

/// Between two calls.
const EVERY: Duration = Duration::from_secs(1);

/// One call, as the tenant saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) due: Instant,
    pub(super) sent: Instant,
    pub(super) answered: Instant,
    /// People called.
    pub(super) called: u64,
}

#[derive(Deserialize)]
struct Answer {
    called: u64,
}

/// Makes all calls. A call that fails ends the run: without it no number means anything.
pub(super) async fn calls(
    args: RushArgs,
    mut tenant: Vec<Connection>,
    started: Instant,
) -> Result<Vec<Call>> {
    let path = format!("/v1/rooms/{}/admit", args.aim.room);
    let body = Bytes::from(format!(r#"{{"count":{}}}"#, args.admit));
    let first = started + Duration::from_secs_f64(args.admit_from * args.scale);
    let count = (f64::from(args.admit_calls) * args.scale).round().max(1.0) as u32;
    let mut calls = Vec::new();
    for nth in 0..count {
        let due = first + EVERY * nth;
        sleep_until(due).await;
        let sent = Instant::now();
        // With several servers each in turn.
        let at = nth as usize % tenant.len();
        let asked = tenant[at].send(Method::POST, &path, Some(&args.key), body.clone());
        let (status, answer) = asked.await.context("a call to admit was not answered")?;
        ensure!(status == StatusCode::OK, "a call to admit was answered {status}");
        let Answer { called } = serde_json::from_slice(&answer)?;
        calls.push(Call { due, sent, answered: Instant::now(), called });
    }
    Ok(calls)
}
