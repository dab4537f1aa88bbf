//! What the room and the site tell while the crowd comes. Decides nothing.

use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::BurstArgs;
use crate::connection::Connection;
use crate::held::Held;

/// One look at both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// When both had answered.
    pub(super) at_s: f64,
    /// Pages that the site works on.
    pub(super) at_site: u64,
    /// Live passes.
    pub(super) inside: u64,
    pub(super) waiting: u64,
    pub(super) queueing: bool,
}

#[derive(Deserialize)]
struct Stats {
    live: u64,
    waiting: u64,
    queueing: Option<IgnoredAny>,
}

/// A connection of its own to each, so that no crowd is before it.
#[derive(Debug)]
pub(super) struct Watch {
    api: Connection,
    stats: String,
    key: String,
    site: Connection,
}

impl Watch {
    pub(super) async fn open(args: &BurstArgs) -> Result<Watch> {
        Ok(Watch {
            api: Connection::open(args.api, args.aim.from, 0).await?,
            stats: format!("/v1/admin/rooms/{}/stats", args.aim.room),
            key: args.key.clone(),
            site: Connection::open(args.site, args.aim.from, 0).await?,
        })
    }

    pub(super) async fn look(&mut self, started: Instant) -> Result<Sample> {
        let asked = self.api.ask(Method::GET, &self.stats, Some(&self.key)).await;
        let Stats { live, waiting, queueing } = told(asked).context("of the room")?;
        let Held { now, .. } = self.site().await?;
        let at_s = started.elapsed().as_secs_f64();
        Ok(Sample { at_s, at_site: now, inside: live, waiting, queueing: queueing.is_some() })
    }

    /// What the site has counted.
    pub(super) async fn site(&mut self) -> Result<Held> {
        told(self.site.ask(Method::GET, "/held", None).await).context("of the site")
    }
}

fn told<T: DeserializeOwned>(answer: Result<(StatusCode, bytes::Bytes)>) -> Result<T> {
    let (status, body) = answer?;
    ensure!(status == StatusCode::OK, "answered {status}");
    Ok(serde_json::from_slice(&body)?)
}
