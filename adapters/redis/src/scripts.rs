//! The Lua scripts: assembled from their parts once, called by hash, sent whole where a server does not know them.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use redis::Cmd;

use crate::limits::{self, Tidying};

macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../scripts/parts/", $name, ".lua"))
    };
}

const KEYS: &str = part!("keys");
const WHOLE: &str = part!("whole");
const ROOM: &str = part!("room");
const WALL: &str = part!("wall");
const HOME: &str = part!("home");
const GUARD: &str = part!("guard");
/// What every operation on an existing room begins with.
const BASE: &[&str] = &[
    KEYS,
    WHOLE,
    ROOM,
    HOME,
    GUARD,
    part!("at_home"),
    part!("taken"),
    part!("bits"),
    part!("passes"),
    part!("descent"),
    WALL,
    part!("due"),
];

/// The same for what only looks and gives nothing: it may be asked of a copy of the room, too.
const OF_COPIES: &[&str] = &[
    KEYS,
    WHOLE,
    ROOM,
    GUARD,
    part!("bits"),
    part!("passes"),
    part!("descent"),
    WALL,
    part!("due"),
];

/// The same for a room that may not be there.
const RECOVER: &[&str] =
    &[KEYS, WHOLE, ROOM, HOME, part!("taken"), part!("bits"), part!("passes"), WALL];

/// For a room that may not be there, and needs nothing more.
const BARE: &[&str] = &[KEYS, WHOLE, ROOM];

/// What follows a room: asked by every node for every event, so it reads a handful of scalars instead of a hundred.
const GLANCE: &[&str] = &[KEYS, part!("glance"), ROOM, HOME, GUARD];

/// May write at `maxmemory`: what it frees, or what nobody may lose by a full store, is worth its few bytes.
const ALLOW_OOM: &str = "allow-oom";
/// Reads only: served by a server that takes no writes, and at `maxmemory`.
const READS: &str = "no-writes,allow-oom";

/// A script's name, its flags and what goes before its own text.
struct Source {
    name: &'static str,
    flags: &'static str,
    base: &'static [&'static str],
    parts: &'static [&'static str],
    text: &'static str,
}

macro_rules! source {
    ($name:literal, $flags:expr, $base:expr, [$($part:literal),*]) => {
        Source {
            name: $name,
            flags: $flags,
            base: $base,
            parts: &[$(part!($part)),*],
            text: include_str!(concat!("../scripts/", $name, ".lua")),
        }
    };
}

const SOURCES: &[Source] = &[
    source!("create", "", &[KEYS, WHOLE, ROOM, HOME, WALL], ["clock", "settings", "fresh", "due"]),
    source!("delete", ALLOW_OOM, BARE, []),
    source!("join", "", BASE, ["intact", "subjects", "phase", "call", "flow"]),
    source!("leave", ALLOW_OOM, BASE, ["intact", "subjects", "ends"]),
    source!("seen", ALLOW_OOM, BASE, []),
    source!(
        "admit",
        ALLOW_OOM,
        BASE,
        ["phase", "clock", "call", "flow", "sets", "receipts", "settle", "evicted"]
    ),
    source!("admit_now", ALLOW_OOM, BASE, ["intact", "subjects", "phase", "call"]),
    source!("claim", ALLOW_OOM, BASE, ["intact", "ids"]),
    source!("touch", ALLOW_OOM, BASE, ["intact", "ids"]),
    source!("extend_for_payment", ALLOW_OOM, BASE, ["intact"]),
    source!("redeem", ALLOW_OOM, BASE, ["intact"]),
    source!("end_pass", ALLOW_OOM, BASE, ["intact", "ids", "ends"]),
    source!("revoke", ALLOW_OOM, BASE, ["intact", "subjects", "ends"]),
    source!("change", ALLOW_OOM, BASE, ["subjects", "ends", "phase", "settings", "flow"]),
    source!("read", READS, &[KEYS, WHOLE, ROOM, HOME, GUARD, part!("at_home")], []),
    source!("events", READS, GLANCE, []),
    source!("report", ALLOW_OOM, OF_COPIES, ["phase", "report"]),
    source!("set_group", ALLOW_OOM, BARE, []),
    source!("group", ALLOW_OOM, &[WALL], []),
    source!("lease", ALLOW_OOM, &[WALL], ["due_at"]),
    source!(
        "recover",
        ALLOW_OOM,
        RECOVER,
        ["clock", "settings", "fresh", "descent", "sets", "evicted"]
    ),
    source!("restore", ALLOW_OOM, BASE, ["settings", "sets"]),
    source!("reattach", ALLOW_OOM, BASE, ["subjects", "sets", "receipts"]),
    source!("attend", ALLOW_OOM, BASE, ["clock"]),
    source!("signal", ALLOW_OOM, BASE, ["flow"]),
    source!("wants", READS, OF_COPIES, []),
    source!("served", READS, BARE, ["wall"]),
    source!("due", READS, &[WALL], ["due_at"]),
    source!("probe", ALLOW_OOM, &[], []),
    source!("note_due", ALLOW_OOM, &[], []),
];

/// A script as a server takes it. Its hash is its version: nodes of two releases each call their own text, and share
/// rooms as long as both know the rooms' format.
#[derive(Debug)]
struct Script {
    text: String,
    /// SHA-1 in hexadecimal: what Redis calls it by.
    hash: String,
}

impl Script {
    fn new(text: String) -> Self {
        let sha1 = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
        let hash = sha1.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Script { text, hash }
    }
}

/// All scripts by name.
#[derive(Debug)]
pub(crate) struct Scripts(BTreeMap<&'static str, Script>);

impl Scripts {
    pub(crate) fn new(tidying: Tidying) -> Self {
        let constants: String = limits::for_scripts(tidying)
            .into_iter()
            .map(|(name, value)| format!("local {name} = {value}\n"))
            .collect();
        let assemble = |source: &Source| {
            let head = match source.flags {
                "" => "#!lua\n".to_owned(),
                flags => format!("#!lua flags={flags}\n"),
            };
            let parts = source.base.iter().chain(source.parts).copied().collect::<String>();
            Script::new(format!("{head}{constants}{parts}{}", source.text))
        };
        Scripts(SOURCES.iter().map(|source| (source.name, assemble(source))).collect())
    }

    /// The call by hash.
    pub(crate) fn by_hash(&self, call: &Call<'_>) -> Cmd {
        command("EVALSHA", &self.0[call.script].hash, call)
    }

    /// The call with the whole text: the server knows the script from then on.
    pub(crate) fn by_text(&self, call: &Call<'_>) -> Cmd {
        command("EVAL", &self.0[call.script].text, call)
    }
}

fn command(name: &str, script: &str, call: &Call<'_>) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(call.keys.len()).arg(call.keys).arg(&call.arguments);
    command
}

/// One call of a script.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) script: &'static str,
    pub(crate) keys: &'a [String],
    pub(crate) arguments: Vec<Vec<u8>>,
}
