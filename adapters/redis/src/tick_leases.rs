//! Leases of the admitters: core's `Leases`, kept in one key and changed by compare-and-swap, as limit groups are. When each was
//! heard from last stands beside it, so that a renewal which moves nothing is one call and changes no version. Which rooms are due
//! stands beside it too, and comes along when it is to be asked for anyway.

use jari_line::Leases;
use jari_ports::{BoxFuture, Held, StoreError, TickLeases};
use jari_units::limits::LEASE;
use jari_units::{Bundle, BundleSet, NodeId, Timestamp};
use parking_lot::Mutex;

use crate::RedisStore;
use crate::answer::Answer;
use crate::error::Failure;
use crate::feed::decimal;
use crate::keys;
use crate::limits::SWAP_ATTEMPTS;
use crate::scripts::Call;

/// The first byte of what is stored: another one is another release's.
const FORMAT: u8 = 1;

/// The record that this node read last, and its version: it is not sent again while it is the same.
#[derive(Debug, Default)]
pub(crate) struct LastRead(Mutex<(u64, Leases)>);

/// What is to replace the record.
struct Put {
    /// Of the record that it replaces.
    version: u64,
    leases: Leases,
    /// Who was an admitter in that one, and is no more.
    gone: Vec<NodeId>,
}

/// The leases as they were read.
struct Read {
    swapped: bool,
    /// The renewal counts, as nothing had to be changed for it.
    counted: bool,
    version: u64,
    now: Timestamp,
    fence: u64,
    leases: Leases,
    heard: Vec<NodeId>,
}

impl Read {
    fn put(&self, leases: Leases) -> Put {
        let gone = self.heard.iter().copied().filter(|node| !leases.has(*node)).collect();
        Put { version: self.version, leases, gone }
    }
}

impl RedisStore {
    /// Reads the leases and, where it is still of that version, first replaces the record. `node` is there; `None` goes away.
    async fn lease(&self, node: Option<NodeId>, put: Option<&Put>) -> Result<Read, StoreError> {
        let [index, _] = keys::due(&self.rooms.prefix);
        let keys = [keys::leases(&self.rooms.prefix), index];
        let (known, last) = self.last_read.0.lock().clone();
        let mut data = Vec::new();
        if let Some(put) = put {
            data = postcard::to_extend(&put.leases, vec![FORMAT])
                .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        }
        let version = put.map_or(known, |put| put.version);
        let node = node.map(decimal).unwrap_or_default();
        let question = self.rooms.ask_due_along(&self.due);
        let along = question.as_ref().map_or(Vec::new(), |_| b"due".to_vec());
        let mut arguments = vec![self.rooms.time.argument(), node, decimal(version), data, along];
        arguments.extend(put.iter().flat_map(|put| put.gone.iter().copied().map(decimal)));
        let call = Call { script: "lease", keys: &keys, arguments };
        let mut answer = Answer::of(self.rooms.link.run(&call).await?)?;
        let (_ok, swapped, counted) =
            (answer.text()?, answer.number()? == 1, answer.number()? == 1);
        let (now_version, now) = (answer.number()?, Timestamp(answer.number()?));
        let (fence, data) = (answer.number()?, answer.bytes()?);
        let mut leases = match put.filter(|_| swapped) {
            Some(put) => put.leases.clone(),
            None if now_version == version && version == known => last,
            None => read(&data)?,
        };
        *self.last_read.0.lock() = (now_version, leases.clone());
        let mut heard = Vec::new();
        let mut each = answer.list()?;
        while !each.is_empty() {
            let (node, at) = (each.number()?, Timestamp(each.number()?));
            leases.hear(node, at);
            heard.push(node);
        }
        if let Some(question) = question {
            self.due.answered(&question, answer.list()?)?;
        }
        Ok(Read { swapped, counted, version: now_version, now, fence, leases, heard })
    }
}

fn read(data: &[u8]) -> Result<Leases, StoreError> {
    match data.split_first() {
        None => Ok(Leases::default()),
        Some((&FORMAT, data)) => {
            let stored = postcard::from_bytes(data);
            Ok(stored.map_err(|_| Failure::odd_answer("leases that are damaged"))?)
        }
        Some((format, _)) => Err(StoreError::Unavailable(format!(
            "the admitters' leases are written in format {format} by a newer release: finish the upgrade of this node"
        ))),
    }
}

fn contended() -> StoreError {
    StoreError::Unavailable(format!(
        "the admitters' leases were changed by others {SWAP_ATTEMPTS} times in a row"
    ))
}

impl TickLeases for RedisStore {
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<Held, StoreError>> {
        Box::pin(async move {
            let mut put: Option<(Put, BundleSet)> = None;
            for _ in 0..SWAP_ATTEMPTS {
                let read = self.lease(Some(node), put.as_ref().map(|(put, _)| put)).await?;
                let mut leases = read.leases.clone();
                let bundles = match put {
                    Some((_, bundles)) if read.swapped => bundles,
                    _ => leases.renew(node, read.now),
                };
                if read.swapped || (read.counted && leases.is_held_as(&read.leases)) {
                    // One of all nodes goes the round.
                    self.due.round.set_ours(bundles.contains(Bundle::FIRST));
                    let admitters = leases.admitters();
                    return Ok(Held { bundles, lasts: Some(LEASE), admitters, fence: read.fence });
                }
                put = Some((read.put(leases), bundles));
            }
            Err(contended())
        })
    }

    fn give_up(&self, node: NodeId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut put: Option<Put> = None;
            for _ in 0..SWAP_ATTEMPTS {
                let read = self.lease(None, put.as_ref()).await?;
                let mut leases = read.leases.clone();
                if !leases.give_up(node) {
                    return Ok(());
                }
                put = Some(read.put(leases));
            }
            Err(contended())
        })
    }
}
