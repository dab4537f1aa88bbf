//! Two nodes on one Redis with the same records: what every part of the bench loads. Measures nothing.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::server::Redis;
use crate::bench::setting::Setting;
use crate::bench::started::Started;

/// A node hears of a room that another one made within about a second.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Site {
    /// Before the Redis, so that they end first.
    nodes: [Started; 2],
    pub(super) redis: Redis,
}

impl Site {
    /// A Redis and nodes of their own, in a folder of this name.
    pub(super) fn start(setting: &Setting, name: &str, more: &[(&str, &str)]) -> Result<Site> {
        Site::on(Redis::start(setting)?, setting, name, more)
    }

    pub(super) fn on(
        redis: Redis,
        setting: &Setting,
        name: &str,
        more: &[(&str, &str)],
    ) -> Result<Site> {
        let (url, folder) = (redis.url(), setting.folder(name)?);
        let mut all = vec![("JARI__STORE__URL", url.as_str())];
        all.extend(more);
        let first = Started::jari(&setting.jari, &folder, &all)?;
        let second = Started::beside(&first, &setting.jari, &folder, &all)?;
        Ok(Site { nodes: [first, second], redis })
    }

    pub(super) fn nodes(&self) -> [&Started; 2] {
        self.nodes.each_ref()
    }

    pub(super) fn first(&self) -> &Started {
        &self.nodes[0]
    }

    /// Makes a room as [`Setting::roomy`] does, and waits until both nodes know it.
    pub(super) fn room(&self, setting: &Setting, room: &str, more: &[&str]) -> Result<()> {
        setting.roomy(self.first(), room, more)?;
        let (second, made) = (&self.nodes[1], Setting::now());
        while let Err(error) = setting.operate(second, &["show", room]) {
            ensure!(Setting::since(made) < KNOWN_WITHIN, "the second node: {error:#}");
            sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}
