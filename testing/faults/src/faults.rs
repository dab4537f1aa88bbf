//! The faults: what each is called, on which servers it is made, and how the run goes. The making is in the files below.

mod clocks;
mod failover;
mod network;
mod nodes;
mod policies;
mod servers;
mod wiped;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use crate::caps::Caps;
use crate::row::Row;
use crate::site::{Ground, Plan, Store};
use crate::stage::Stage;

/// A window that ends before this has ended early: its whole length is 30 s, its shortest 5 s, and machines are busy.
const EARLY: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    KillRedisAlways,
    KillRedisEverysec,
    PowerCutEverysec,
    FreezeRedis,
    StoreOutage,
    Flushall,
    FlushallSmall,
    WipedAndRestarted,
    Failover,
    FailoverUnheard,
    FailoverNodeLost,
    FailoverSentinel,
    #[value(name = "cut-1")]
    Cut1,
    #[value(name = "cut-10")]
    Cut10,
    #[value(name = "cut-60")]
    Cut60,
    #[value(name = "cut-one-node-60")]
    CutOneNode60,
    Latency,
    SlotMoved,
    ScriptsFlushed,
    Maxmemory,
    NodeClockAhead,
    NodeClockBehind,
    RedisClockForward,
    RedisClockBack,
    NodeKilled,
    NodeFrozen,
    NodesReplaced,
    Policies,
    PoliciesSilent,
}

impl Fault {
    /// What `cargo xtask test` runs: one of each family, a minute or so each.
    pub(crate) const QUICK: [Fault; 6] = [
        Fault::FlushallSmall,
        Fault::KillRedisAlways,
        Fault::Cut10,
        Fault::Failover,
        Fault::NodeKilled,
        Fault::SlotMoved,
    ];

    /// All of the full run: the small form of one of them is for the quick one.
    pub(crate) fn all() -> impl Iterator<Item = Fault> {
        Fault::value_variants().iter().copied().filter(|fault| *fault != Fault::FlushallSmall)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Fault::KillRedisAlways => "`kill -9` of Redis, AOF `always`, down for 2 s",
            Fault::KillRedisEverysec => "`kill -9` of Redis, AOF `everysec`, down for 2 s",
            Fault::PowerCutEverysec => {
                "power cut of Redis, AOF `everysec`: the last 1.5 s are not on its disk"
            }
            Fault::FreezeRedis => "Redis stands still for 5 s (SIGSTOP)",
            Fault::StoreOutage => "Redis gone for 60 s, with what it had on disk (AOF `always`)",
            Fault::Flushall => "`FLUSHALL`, ten waiting for each one inside",
            Fault::FlushallSmall => "`FLUSHALL`",
            Fault::WipedAndRestarted => "Redis wiped and all nodes killed and started anew",
            Fault::Failover => "failover to a replica that lacks the last 1.5 s",
            Fault::FailoverUnheard => {
                "such a failover, and one node had heard nothing of these 1.5 s and comes first"
            }
            Fault::FailoverNodeLost => {
                "such a failover, and one of three nodes dies with the primary"
            }
            Fault::FailoverSentinel => {
                "failover by Sentinel to a replica that lacks the last 1.5 s"
            }
            Fault::Cut1 => "network between nodes and Redis gone for 1 s",
            Fault::Cut10 => "network between nodes and Redis gone for 10 s",
            Fault::Cut60 => "network between nodes and Redis gone for 60 s",
            Fault::CutOneNode60 => "network between one of two nodes and Redis gone for 60 s",
            Fault::Latency => "every answer of Redis takes 200 ms longer, for 30 s",
            Fault::SlotMoved => "the room's slot moves to another primary of a Cluster",
            Fault::ScriptsFlushed => "`SCRIPT FLUSH` ten times a second, for 10 s",
            Fault::Maxmemory => "Redis at `maxmemory` for 10 s",
            Fault::NodeClockAhead => "one node's clock 5 min ahead",
            Fault::NodeClockBehind => "one node's clock 5 min behind",
            Fault::RedisClockForward => "Redis's clock jumps 5 min forward",
            Fault::RedisClockBack => "Redis's clock jumps 5 min back",
            Fault::NodeKilled => "`kill -9` of one of two nodes, started again after 10 s",
            Fault::NodeFrozen => "one of two nodes stands still for 20 s (SIGSTOP)",
            Fault::NodesReplaced => "all nodes replaced one by one (SIGTERM, start)",
            Fault::Policies => "Redis gone for 8 s, one room of each policy",
            Fault::PoliciesSilent => "Redis silent for 14 s, one room of each policy",
        }
    }

    /// What it is made on; `people` come at the start.
    fn plan(self, people: usize) -> Plan {
        let capacity = (people / 5).max(1) as u64;
        let caps = Caps { capacity, rate_per_s: capacity.div_ceil(2), burst: capacity.div_ceil(2) };
        let plan = Plan {
            store: Store::Memory,
            nodes: 2,
            node_clock_s: 0,
            caps,
            // Far shorter than the longest outage: silence of that length would be absence.
            presence_window_ms: 20_000,
            claim_window_ms: 2 * 3_600_000,
            poll_ms: (1_000, 2_500),
            on_store_failure: "wait",
        };
        match self {
            Fault::KillRedisAlways | Fault::StoreOutage => Plan { store: Store::Always, ..plan },
            Fault::KillRedisEverysec | Fault::PowerCutEverysec => {
                Plan { store: Store::Everysec, ..plan }
            }
            Fault::Flushall => {
                let capacity = (people / 11) as u64;
                let burst = capacity.min(200);
                let caps = Caps { capacity, rate_per_s: burst, burst };
                let (poll_ms, presence_window_ms) = ((2_000, 20_000), 90_000);
                Plan { caps, poll_ms, presence_window_ms, ..plan }
            }
            Fault::Failover | Fault::FailoverUnheard => Plan { store: Store::Replicated, ..plan },
            Fault::FailoverNodeLost => Plan { store: Store::Replicated, nodes: 3, ..plan },
            Fault::FailoverSentinel => Plan { store: Store::Sentinel, ..plan },
            // A cut off node is not heard for a minute: the default window, which no balancer exceeds.
            Fault::CutOneNode60 => Plan { presence_window_ms: 90_000, ..plan },
            Fault::SlotMoved => Plan { store: Store::Cluster, ..plan },
            // The default: an unclaimed pass is good for less than the clock is off.
            Fault::NodeClockAhead => Plan { node_clock_s: 300, claim_window_ms: 120_000, ..plan },
            Fault::NodeClockBehind => Plan { node_clock_s: -300, claim_window_ms: 120_000, ..plan },
            Fault::RedisClockForward | Fault::RedisClockBack => {
                Plan { store: Store::Clocked, ..plan }
            }
            // Whoever was with that node asks another one only when this one has not answered for 8 s.
            Fault::NodeKilled | Fault::NodeFrozen | Fault::NodesReplaced => {
                Plan { presence_window_ms: 45_000, ..plan }
            }
            Fault::WipedAndRestarted
            | Fault::FlushallSmall
            | Fault::FreezeRedis
            | Fault::Cut1
            | Fault::Cut10
            | Fault::Cut60
            | Fault::Latency
            | Fault::ScriptsFlushed
            | Fault::Maxmemory
            | Fault::Policies
            | Fault::PoliciesSilent => plan,
        }
    }

    /// How many come at the start, where nobody says otherwise.
    fn people(self, asked: Option<usize>, usual: usize) -> usize {
        match (asked, self) {
            (Some(people), _) => people,
            (None, Fault::Flushall) => 11_000,
            (None, _) => usual,
        }
    }

    /// Whether people who left may be known to nobody any more: after the loss of everything but their own tokens.
    fn forgets_who_left(self) -> bool {
        self == Fault::WipedAndRestarted
    }

    /// Runs it from an empty room to the last question.
    pub(crate) async fn run(
        self,
        ground: Ground,
        asked: Option<usize>,
        usual: usize,
    ) -> Result<Row> {
        let people = self.people(asked, usual);
        let mut stage = Stage::set(ground, self.plan(people), people).await?;
        let away = match self {
            Fault::Policies => Some(policies::Away::Refusing),
            Fault::PoliciesSilent => Some(policies::Away::Silent),
            _ => None,
        };
        if let Some(away) = away {
            return policies::run(stage, away, (&self.name(), self.title())).await;
        }
        stage.fill().await;
        if self == Fault::Flushall {
            let inside = stage.plan.caps.capacity;
            stage.note(format!("{people} people, {inside} of them inside"));
        }
        stage.fault_begins(self != Fault::Flushall);
        self.make(&mut stage).await?;
        stage.well_again().await;
        self.judge_window(&stage);
        stage.ask_everybody(!self.forgets_who_left()).await?;
        Ok(stage.end(&self.name(), self.title()).await)
    }

    /// Where every node that had been there has told, nothing more can come, and nobody need wait for the window's end; where
    /// one of them is gone, its people may still come.
    fn judge_window(self, stage: &Stage) {
        let took = stage.watch.seen.recovered_for().unwrap_or_default();
        let as_it_should = match self {
            Fault::Failover | Fault::FailoverSentinel | Fault::PowerCutEverysec => {
                (Duration::from_secs(1)..EARLY).contains(&took)
            }
            Fault::FailoverNodeLost => took >= EARLY,
            _ => true,
        };
        if !as_it_should {
            stage.broken(format!("the room recovered for {took:.1?}"));
        }
    }

    async fn make(self, stage: &mut Stage) -> Result<()> {
        let seconds = Duration::from_secs;
        match self {
            Fault::KillRedisAlways | Fault::KillRedisEverysec => {
                servers::kill(stage, seconds(2)).await;
            }
            Fault::StoreOutage => servers::kill(stage, seconds(60)).await,
            Fault::PowerCutEverysec => return servers::cut_power(stage).await,
            Fault::FreezeRedis => servers::freeze(stage, seconds(5)).await,
            Fault::Flushall | Fault::FlushallSmall => wiped::flush(stage).await,
            Fault::WipedAndRestarted => wiped::with_all_nodes(stage).await,
            Fault::Failover => failover::to_a_lagging_replica(stage, failover::With::Nothing).await,
            Fault::FailoverUnheard => {
                failover::to_a_lagging_replica(stage, failover::With::Unheard).await;
            }
            Fault::FailoverNodeLost => {
                failover::to_a_lagging_replica(stage, failover::With::NodeLost).await;
            }
            Fault::FailoverSentinel => failover::by_sentinel(stage).await,
            Fault::Cut1 => network::cut(stage, seconds(1)).await,
            Fault::Cut10 => network::cut(stage, seconds(10)).await,
            Fault::Cut60 => network::cut(stage, seconds(60)).await,
            Fault::CutOneNode60 => network::cut_one(stage, seconds(60)).await,
            Fault::Latency => network::slow(stage, seconds(30)).await,
            Fault::SlotMoved => servers::move_slot(stage).await,
            Fault::ScriptsFlushed => servers::forget_scripts(stage, seconds(10)).await,
            Fault::Maxmemory => servers::fill_memory(stage, seconds(10)).await,
            Fault::NodeClockAhead | Fault::NodeClockBehind => {
                return clocks::let_time_pass(stage).await;
            }
            Fault::RedisClockForward => return clocks::jump(stage, 300).await,
            Fault::RedisClockBack => return clocks::jump(stage, -300).await,
            Fault::NodeKilled => nodes::kill(stage, seconds(10)).await,
            Fault::NodeFrozen => nodes::freeze(stage, seconds(20)).await,
            Fault::NodesReplaced => nodes::replace_all(stage).await,
            Fault::Policies | Fault::PoliciesSilent => {}
        }
        Ok(())
    }
}
