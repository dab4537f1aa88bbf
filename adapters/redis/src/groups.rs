//! Limit groups: core's `Group`, kept in one key each and changed by compare-and-swap. The rules run on the node that
//! ticks a room; what a group lends is safe however old the rooms' reports are (see `Group`).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use jari_line::{Group, GroupGrant, GroupSettings, Ledger, RoomReport, StoreClock};
use jari_ports::StoreError;
use jari_units::{GroupId, RoomId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::error::Failure;
use crate::feed::decimal;
use crate::keys;
use crate::limits::{PARALLEL, SWAP_ATTEMPTS};
use crate::rooms::{Rooms, Said};
use crate::scripts::Call;
use crate::state::Extent;

/// The first byte of what is stored: another one is another release's.
const FORMAT: u8 = 1;

/// A group as its key holds it.
///
/// One room asking alone would take all that is free before the next one asks. So a room that ticks starts a round in
/// which every member gets its share, and the others find theirs in `waiting` when they tick.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    group: Group,
    members: Vec<RoomId>,
    /// Grants of this round that no tick has taken: number, tokens, live quota.
    waiting: BTreeMap<RoomId, (u64, u64, u64)>,
    clock: StoreClock,
}

impl Stored {
    fn new(settings: GroupSettings, wall: Timestamp) -> Stored {
        let mut clock = StoreClock::default();
        let group = Group::new(settings, clock.read(wall));
        Stored { group, members: Vec::new(), waiting: BTreeMap::new(), clock }
    }
}

/// The group without a room's passes; `for_good` also without the room as a member.
fn without(mut stored: Stored, room: &RoomId, for_good: bool) -> Stored {
    stored.group.release(room);
    stored.waiting.remove(room);
    if for_good {
        stored.members.retain(|member| member != room);
    }
    stored
}

/// What can be done to a group apart from granting.
enum Change<'a> {
    Set { settings: GroupSettings, members: &'a [RoomId] },
    TakeOut { room: &'a RoomId, for_good: bool },
}

/// A group as it was read.
struct Version {
    number: Vec<u8>,
    wall: Timestamp,
    stored: Option<Stored>,
}

#[derive(Debug)]
pub(crate) struct Groups {
    rooms: Arc<Rooms>,
}

impl Groups {
    pub(crate) fn new(rooms: Arc<Rooms>) -> Self {
        Groups { rooms }
    }

    /// What the group lends `room` for its tick; nothing where it is no member. A group that is not there was lost, for the
    /// room names it.
    pub(crate) async fn grant(
        &self,
        group: &GroupId,
        room: &RoomId,
    ) -> Result<Option<GroupGrant>, StoreError> {
        let mut version = self.read(group).await?;
        for _ in 0..SWAP_ATTEMPTS {
            let Some(mut stored) = version.stored else {
                return Err(StoreError::UnknownGroup(group.clone()));
            };
            if !stored.members.contains(room) {
                return Ok(None);
            }
            let mut lent = stored.waiting.remove(room);
            if lent.is_none() {
                let reports = self.reports(&stored.members).await?;
                let now = stored.clock.read(version.wall);
                let grants = stored.group.grant(now, &reports);
                let grants = grants.into_iter().map(|g| (g.grant_no, g.tokens, g.live_quota));
                stored.waiting =
                    reports.into_iter().map(|report| report.room).zip(grants).collect();
                lent = stored.waiting.remove(room);
            }
            let (swapped, now) = self.swap(group, &version.number, &stored).await?;
            if swapped {
                let grant =
                    |(grant_no, tokens, live_quota)| GroupGrant { grant_no, tokens, live_quota };
                return Ok(lent.map(grant));
            }
            version = now;
        }
        Err(contended(group))
    }

    /// What the grouped rooms among `members` report, each at its own moment.
    async fn reports(&self, members: &[RoomId]) -> Result<Vec<RoomReport>, StoreError> {
        let reports = members.iter().cloned().map(|room| self.report(room));
        let reports: Vec<_> = stream::iter(reports).buffered(PARALLEL).try_collect().await?;
        Ok(reports.into_iter().flatten().collect())
    }

    async fn report(&self, room: RoomId) -> Result<Option<RoomReport>, StoreError> {
        let Said::Done(reply) = self.rooms.say("report", &room, Vec::new()).await? else {
            return Ok(None);
        };
        let mut said = reply.outcome;
        let grouped = said.number()? == 1;
        let (used_grant, live, wants) = (said.number()?, said.number()?, said.number()?);
        let (live_quota, recovering) = (said.number()?, said.number()? == 1);
        let report = RoomReport { room, used_grant, live_quota, live, wants, recovering };
        Ok(grouped.then_some(report))
    }

    /// Makes the group or sets its limits and members; all other rooms are released.
    pub(crate) async fn set(
        &self,
        group: &GroupId,
        settings: GroupSettings,
        members: Vec<RoomId>,
    ) -> Result<(), StoreError> {
        // A room is in one group at most: the newest word counts.
        for room in &members {
            let before = self.point(room, group.as_str(), "").await?;
            if let Ok(other) = before.parse::<GroupId>()
                && other != *group
            {
                self.change(&other, &Change::TakeOut { room, for_good: true }).await?;
            }
        }
        let gone = self.change(group, &Change::Set { settings, members: &members }).await?;
        for room in gone {
            self.point(&room, "", group.as_str()).await?;
        }
        Ok(())
    }

    /// Releases a deleted room: its passes no longer count. It stays a member, should it be made again.
    pub(crate) async fn release(&self, group: &GroupId, room: &RoomId) -> Result<(), StoreError> {
        self.change(group, &Change::TakeOut { room, for_good: false }).await.map(|_gone| ())
    }

    /// Changes the group in one step, whoever else changes it. Answers who is no member any more.
    async fn change(
        &self,
        group: &GroupId,
        change: &Change<'_>,
    ) -> Result<Vec<RoomId>, StoreError> {
        let mut version = self.read(group).await?;
        for _ in 0..SWAP_ATTEMPTS {
            let (before, wall) = (version.stored, version.wall);
            let changed = match change {
                Change::Set { settings, members } => {
                    self.with_members(before, wall, *settings, members).await?
                }
                Change::TakeOut { room, for_good } => {
                    before.map(|stored| (without(stored, room, *for_good), Vec::new()))
                }
            };
            let Some((stored, gone)) = changed else {
                return Ok(Vec::new());
            };
            let (swapped, now) = self.swap(group, &version.number, &stored).await?;
            if swapped {
                return Ok(gone);
            }
            version = now;
        }
        Err(contended(group))
    }

    /// The group with these limits and members, and who is no member any more; `None` where it is so already.
    async fn with_members(
        &self,
        before: Option<Stored>,
        wall: Timestamp,
        settings: GroupSettings,
        members: &[RoomId],
    ) -> Result<Option<(Stored, Vec<RoomId>)>, StoreError> {
        let known = before.is_some();
        let mut stored = before.unwrap_or_else(|| Stored::new(settings, wall));
        if known && stored.group.settings() == settings && stored.members == members {
            return Ok(None);
        }
        stored.group.set(settings);
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut stored.members)
            .into_iter()
            .partition(|room| members.contains(room));
        for room in &gone {
            stored = without(stored, room, true);
        }
        for room in members.iter().filter(|room| !kept.contains(room)) {
            match self.rooms.state(room, Extent::Ledger).await {
                Ok(dump) => stored.group.learn(room, &Ledger::from_dump(dump)),
                Err(StoreError::UnknownRoom(_)) => {}
                Err(error) => return Err(error),
            }
        }
        stored.members = members.to_vec();
        Ok(Some((stored, gone)))
    }

    /// Notes in the room which group it is in, '' for none, if it was in `only_if` before ('': in any case).
    async fn point(&self, room: &RoomId, to: &str, only_if: &str) -> Result<String, StoreError> {
        let own = vec![to.as_bytes().to_vec(), only_if.as_bytes().to_vec()];
        match self.rooms.say("set_group", room, own).await? {
            Said::Done(mut reply) => Ok(reply.outcome.text()?),
            Said::Unknown | Said::FeedLost => Err(Failure::odd_answer("nothing to a group").into()),
        }
    }

    async fn read(&self, group: &GroupId) -> Result<Version, StoreError> {
        self.run(group, Vec::new(), Vec::new()).await.map(|(_, version)| version)
    }

    async fn swap(
        &self,
        group: &GroupId,
        number: &[u8],
        stored: &Stored,
    ) -> Result<(bool, Version), StoreError> {
        let bytes = postcard::to_extend(stored, vec![FORMAT]);
        let bytes = bytes.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        self.run(group, number.to_vec(), bytes).await
    }

    async fn run(
        &self,
        group: &GroupId,
        number: Vec<u8>,
        data: Vec<u8>,
    ) -> Result<(bool, Version), StoreError> {
        let keys = [keys::group(&self.rooms.prefix, group)];
        let arguments = vec![self.rooms.time.argument(), number, data];
        let call = Call { script: "group", keys: &keys, arguments };
        let mut answer = Answer::of(self.rooms.link.run(&call).await?)?;
        let (_ok, swapped) = (answer.text()?, answer.number()? == 1);
        let (number, wall) = (decimal(answer.number()?), Timestamp(answer.number()?));
        let stored = match answer.bytes()?.split_first() {
            None => None,
            Some((&FORMAT, data)) => {
                let stored = postcard::from_bytes(data);
                Some(stored.map_err(|_| Failure::odd_answer("a limit group that is damaged"))?)
            }
            Some((format, _)) => {
                return Err(StoreError::Unavailable(format!(
                    "limit group {group} is written in format {format} by a newer release: finish the upgrade of this node"
                )));
            }
        };
        Ok((swapped, Version { number, wall, stored }))
    }
}

fn contended(group: &GroupId) -> StoreError {
    StoreError::Unavailable(format!(
        "limit group {group} was changed by others {SWAP_ATTEMPTS} times in a row"
    ))
}
