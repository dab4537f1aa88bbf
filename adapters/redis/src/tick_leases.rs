//! Leases of the admitters: core's `Leases`, kept in one key and changed by compare-and-swap, as limit groups are. The
//! version that a change names is its fencing number: one that was under way while leases passed on is refused.

use jari_line::{Leases, StoreClock};
use jari_ports::{BoxFuture, Held, StoreError, TickLeases};
use jari_units::limits::LEASE;
use jari_units::{Bundle, NodeId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::RedisStore;
use crate::answer::Answer;
use crate::error::Failure;
use crate::feed::decimal;
use crate::keys;
use crate::limits::SWAP_ATTEMPTS;
use crate::rooms::Rooms;
use crate::scripts::Call;

/// The first byte of what is stored: another one is another release's.
const FORMAT: u8 = 1;

/// The leases as their key holds them. The clock never steps back: a server whose clock does would keep the dead alive.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    leases: Leases,
    clock: StoreClock,
}

/// The leases as they were read.
struct Version {
    number: u64,
    wall: Timestamp,
    stored: Stored,
}

impl Rooms {
    /// Changes the leases in one step, whoever else changes them. Answers what `change` did, and with which version.
    async fn change_leases<T>(
        &self,
        change: impl Fn(&mut Leases, Timestamp) -> Option<T>,
    ) -> Result<Option<(T, u64)>, StoreError> {
        let (_, mut version) = self.run_leases(Vec::new(), Vec::new()).await?;
        for _ in 0..SWAP_ATTEMPTS {
            let Version { number, wall, mut stored } = version;
            let now = stored.clock.read(wall);
            let Some(done) = change(&mut stored.leases, now) else {
                return Ok(None);
            };
            let bytes = postcard::to_extend(&stored, vec![FORMAT]);
            let bytes = bytes.map_err(|error| StoreError::Unavailable(error.to_string()))?;
            let (swapped, next) = self.run_leases(decimal(number), bytes).await?;
            if swapped {
                return Ok(Some((done, next.number)));
            }
            version = next;
        }
        Err(StoreError::Unavailable(format!(
            "the admitters' leases were changed by others {SWAP_ATTEMPTS} times in a row"
        )))
    }

    /// Reads the leases and, where `number` is their version, first replaces them by `data`. Whether it did.
    async fn run_leases(
        &self,
        number: Vec<u8>,
        data: Vec<u8>,
    ) -> Result<(bool, Version), StoreError> {
        let keys = [keys::leases(&self.prefix)];
        let arguments = vec![self.time.argument(), number, data];
        let call = Call { script: "group", keys: &keys, arguments };
        let mut answer = Answer::of(self.link.run(&call).await?)?;
        let (_ok, swapped) = (answer.text()?, answer.number()? == 1);
        let (number, wall) = (answer.number()?, Timestamp(answer.number()?));
        let stored = match answer.bytes()?.split_first() {
            None => Stored::default(),
            Some((&FORMAT, data)) => {
                let stored = postcard::from_bytes(data);
                stored.map_err(|_| Failure::odd_answer("leases that are damaged"))?
            }
            Some((format, _)) => {
                return Err(StoreError::Unavailable(format!(
                    "the admitters' leases are written in format {format} by a newer release: finish the upgrade of this node"
                )));
            }
        };
        Ok((swapped, Version { number, wall, stored }))
    }
}

impl TickLeases for RedisStore {
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<Held, StoreError>> {
        Box::pin(async move {
            let renew = |leases: &mut Leases, now| {
                let bundles = leases.renew(node, now);
                Some((bundles, leases.admitters()))
            };
            let changed = self.rooms.change_leases(renew).await?;
            let Some(((bundles, admitters), fence)) = changed else {
                return Err(Failure::odd_answer("nothing to a renewal").into());
            };
            // One of all nodes goes the round.
            self.round.set_ours(bundles.contains(Bundle::FIRST));
            Ok(Held { bundles, lasts: Some(LEASE), admitters, fence })
        })
    }

    fn give_up(&self, node: NodeId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let give_up = |leases: &mut Leases, _now| leases.give_up(node).then_some(());
            self.rooms.change_leases(give_up).await.map(|_| ())
        })
    }
}
