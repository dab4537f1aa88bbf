//! Whether the servers throw keys away when their memory is full, which loses lines: looked at now and then, told in the log and
//! to whoever asks whether the store is well. Changes nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Value;
use tokio::time::sleep;

use crate::limits::{EVICTION_CHECK, EVICTION_CHECK_FIRST};
use crate::link::Link;
use crate::rooms::Rooms;

/// What the last look has found.
#[derive(Debug, Default)]
pub(crate) struct Eviction {
    warning: Mutex<Option<String>>,
}

impl Eviction {
    pub(crate) fn warning(&self) -> Option<String> {
        self.warning.lock().clone()
    }

    /// Looks until the store is closed. Makes no connection by itself.
    pub(crate) async fn watch(self: Arc<Self>, rooms: Weak<Rooms>) {
        let mut pause = EVICTION_CHECK_FIRST;
        loop {
            sleep(pause).await;
            let Some(rooms) = rooms.upgrade() else { return };
            pause = match rooms.link.is_connected() {
                true => self.look(&rooms.link).await,
                false => EVICTION_CHECK_FIRST,
            };
        }
    }

    /// How long to wait until the next look.
    async fn look(&self, link: &Link) -> Duration {
        let mut memory = redis::cmd("INFO");
        memory.arg("memory");
        // A server that says nothing of its memory is asked again with others' patience; calls tell what is wrong with it.
        let Ok(said) = link.command(&memory).await else { return EVICTION_CHECK };
        let found = evicting(&said).map(|policy| {
            format!("{:?} has maxmemory-policy {policy}: at maxmemory it throws lines away; set maxmemory-policy noeviction", link.address())
        });
        if let Some(warning) = &found {
            tracing::warn!(store = ?link.address(), "{warning}");
        }
        *self.warning.lock() = found;
        EVICTION_CHECK
    }
}

/// The policy of a server that has a limit and would throw keys away at it; a Cluster answers with several servers' words.
fn evicting(said: &Value) -> Option<String> {
    match said {
        Value::BulkString(bytes) => policy_in(&String::from_utf8_lossy(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => policy_in(text),
        Value::Array(values) => values.iter().find_map(evicting),
        Value::Map(pairs) => pairs.iter().find_map(|(_, value)| evicting(value)),
        _ => None,
    }
}

fn policy_in(info: &str) -> Option<String> {
    let value = |name: &str| info.lines().find_map(|line| line.trim_end().strip_prefix(name));
    let is_limited = value("maxmemory:").is_some_and(|bytes| bytes != "0");
    let policy = value("maxmemory_policy:")?;
    (is_limited && policy != "noeviction").then(|| policy.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_with_another_policy_is_told() {
        let info = |max: &str, policy: &str| {
            let text = format!(
                "# Memory\r\nused_memory:1\r\nmaxmemory:{max}\r\nmaxmemory_policy:{policy}\r\n"
            );
            Value::BulkString(text.into_bytes())
        };
        assert_eq!(evicting(&info("0", "allkeys-lru")), None);
        assert_eq!(evicting(&info("1000", "noeviction")), None);
        let bad = info("1000", "allkeys-lru");
        assert_eq!(evicting(&bad).as_deref(), Some("allkeys-lru"));
        let node = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let cluster = Value::Map(vec![(node("a:1"), info("0", "noeviction")), (node("b:2"), bad)]);
        assert_eq!(evicting(&cluster).as_deref(), Some("allkeys-lru"));
    }
}
