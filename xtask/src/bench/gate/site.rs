//! A site behind Jari's reverse proxy, and people with a pass before it: what the parts before a site load. Measures nothing.

use std::path::PathBuf;

use anyhow::Result;

use super::numbers::free_port;
use crate::bench::setting::{ROOM, Setting};
use crate::bench::started::Started;

/// The most that a room lets in of a tick, once a second.
const OPEN: [&str; 4] = ["--per-tick", "200", "--rate", "200"];

/// Jari before a site whose pages need a pass.
#[derive(Debug)]
pub(super) struct Protected {
    pub(super) jari: Started,
    /// Where visitors come in.
    pub(super) url: String,
    pub(super) upstream: Upstream,
}

/// The site: pages of two kilobytes from handlers that do nothing, on axum alone; and pages that count how many of them are
/// worked on at once.
#[derive(Debug)]
pub(super) struct Upstream {
    _process: Started,
    pub(super) url: String,
    pub(super) port: u16,
}

impl Upstream {
    pub(super) fn start(setting: &Setting) -> Result<Upstream> {
        let process = setting.baseline(&["--plain"])?;
        let url = process.url.clone();
        let port = url.rsplit(':').next().unwrap_or_default().parse()?;
        Ok(Upstream { _process: process, url, port })
    }
}

impl Protected {
    /// Starts both, in a folder of this name, with requests at the site at once at most.
    pub(super) fn start(setting: &Setting, name: &str, max_upstream: u32) -> Result<Protected> {
        let upstream = Upstream::start(setting)?;
        let listen = format!("127.0.0.1:{}", free_port()?);
        let max = max_upstream.to_string();
        let more = [
            ("JARI__PROTECT__UPSTREAM", upstream.url.as_str()),
            ("JARI__PROTECT__LISTEN", &listen),
            ("JARI__PROTECT__ROOM", ROOM),
            ("JARI__PROTECT__PATH", "/tickets/*"),
            ("JARI__PROTECT__MAX_UPSTREAM", &max),
        ];
        let jari = setting.server(name, &more)?;
        Ok(Protected { jari, url: format!("http://{listen}"), upstream })
    }
}

/// A room that lets everybody in.
pub(super) fn open_room(setting: &Setting, server: &Started) -> Result<()> {
    let mut args = vec!["create", ROOM];
    args.extend(OPEN);
    setting.operate(server, &args)
}

/// Lets people into the room, each with a pass that was used; where they are written.
pub(super) fn passes(setting: &Setting, server: &Started, name: &str) -> Result<PathBuf> {
    let out = setting.folder(name)?.join("passes");
    let (people, file) = (setting.size.inside.to_string(), out.display().to_string());
    setting.load(server, &["passes", "--room", ROOM], &["--people", &people, "--out", &file])?;
    Ok(out)
}
