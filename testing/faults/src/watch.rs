//! Watches the nodes as an operator does: whether each says it is ready, its numbers, and what it says of the room. Touches
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use jari_api::LineState;
use jari_api::admin::RoomStats;
use parking_lot::Mutex;
use reqwest::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::caps::Sample;

/// How often each node is looked at.
const EVERY: Duration = Duration::from_millis(250);
/// A node that says nothing for so long has said nothing.
const SILENT: Duration = Duration::from_secs(3);
/// Characters kept of what a node says of its readiness.
const TEXT_MAX: usize = 160;

/// One node as it was when it was looked at last.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    ready: bool,
    store_answers: bool,
    open: bool,
    tick_ms: u64,
}

/// What `/readyz` said, each time it changed: since when, the status (0: nothing), the text's first line.
pub(crate) type Readiness = Vec<(Duration, u16, String)>;

/// The numbers that a fault moves, at their highest since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Peaks {
    pub(crate) store_down_s: f64,
    pub(crate) recovering: f64,
    pub(crate) unchecked: f64,
    pub(crate) lull: f64,
}

#[derive(Debug)]
pub(crate) struct Seen {
    begun: Instant,
    samples: Mutex<Vec<Sample>>,
    nodes: Mutex<Vec<OfNode>>,
    peaks: Mutex<Peaks>,
    /// When a node first and last said that the room recovers, since the last `fault_begins`.
    recovering: Mutex<Option<(Instant, Instant)>>,
}

#[derive(Debug, Default)]
struct OfNode {
    latest: Option<Latest>,
    readiness: Readiness,
}

#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) seen: Arc<Seen>,
    client: Client,
    room: String,
    key: String,
    eyes: JoinSet<()>,
}

impl Watch {
    pub(crate) fn new(room: &str, key: &str) -> Watch {
        let seen = Seen {
            begun: Instant::now(),
            samples: Mutex::default(),
            nodes: Mutex::default(),
            peaks: Mutex::default(),
            recovering: Mutex::default(),
        };
        let client = Client::builder().timeout(SILENT).build();
        let client = client.expect("an HTTP client can be made");
        let (room, key) = (room.to_owned(), key.to_owned());
        Watch { seen: Arc::new(seen), client, room, key, eyes: JoinSet::new() }
    }

    /// Watches one more node from now on.
    pub(crate) fn also(&mut self, public: &Url, ops: &Url) {
        let node = {
            let mut nodes = self.seen.nodes.lock();
            nodes.push(OfNode::default());
            nodes.len() - 1
        };
        let at = |path: &str| ops.join(path).expect("a path makes an address");
        let stats = format!("v1/admin/rooms/{}/stats", self.room);
        let eye = Eye {
            node,
            seen: self.seen.clone(),
            client: self.client.clone(),
            key: self.key.clone(),
            ready: at("readyz"),
            metrics: at("metrics"),
            stats: public.join(&stats).expect("a path makes an address"),
        };
        self.eyes.spawn(eye.look_on());
    }
}

impl Seen {
    /// From now on counts.
    pub(crate) fn fault_begins(&self) {
        *self.peaks.lock() = Peaks::default();
        *self.recovering.lock() = None;
        for node in self.nodes.lock().iter_mut() {
            let last = node.readiness.pop();
            node.readiness = last
                .map(|(_, status, text)| (self.begun.elapsed(), status, text))
                .into_iter()
                .collect();
        }
    }

    /// Whether each of these nodes is ready, hears the store, and shows an open room that ticked lately.
    pub(crate) fn are_well(&self, alive: impl Iterator<Item = usize>) -> bool {
        let nodes = self.nodes.lock();
        let latest: Vec<_> = alive.map(|node| nodes[node].latest).collect();
        let newest = latest.iter().flatten().map(|latest| latest.tick_ms).max().unwrap_or(0);
        latest.iter().all(|latest| {
            latest.is_some_and(|latest| {
                let ticks = newest - latest.tick_ms < 3_000;
                latest.ready && latest.store_answers && latest.open && ticks
            })
        })
    }

    /// The newest tick that any node told of.
    pub(crate) fn newest_tick(&self) -> u64 {
        let nodes = self.nodes.lock();
        nodes.iter().filter_map(|node| Some(node.latest?.tick_ms)).max().unwrap_or(0)
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().clone()
    }

    pub(crate) fn peaks(&self) -> Peaks {
        *self.peaks.lock()
    }

    /// For how long some node said that the room recovers.
    pub(crate) fn recovered_for(&self) -> Option<Duration> {
        self.recovering.lock().map(|(first, last)| last - first)
    }

    /// Of each node, what it said of its readiness since the fault began.
    pub(crate) fn readiness(&self) -> Vec<Readiness> {
        self.nodes.lock().iter().map(|node| node.readiness.clone()).collect()
    }

    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }
}

/// What looks at one node.
struct Eye {
    node: usize,
    seen: Arc<Seen>,
    client: Client,
    key: String,
    ready: Url,
    metrics: Url,
    stats: Url,
}

impl Eye {
    async fn look_on(self) {
        loop {
            let (ready, numbers, room) =
                tokio::join!(self.ask_ready(), self.numbers(), self.room());
            self.note(ready, numbers, room);
            sleep(EVERY).await;
        }
    }

    async fn get(&self, url: &Url) -> Option<(u16, String)> {
        let answer = self.client.get(url.clone()).bearer_auth(&self.key).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.text().await.ok()?))
    }

    async fn ask_ready(&self) -> (u16, String) {
        let (status, text) = self.get(&self.ready).await.unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        (status, first.chars().take(TEXT_MAX).collect())
    }

    async fn numbers(&self) -> Option<Peaks> {
        let (_, text) = self.get(&self.metrics).await?;
        Some(Peaks {
            store_down_s: number(&text, "jari_store_down_seconds"),
            recovering: number(&text, "jari_rooms_recovering"),
            unchecked: number(&text, "jari_gate_unchecked_total"),
            lull: number(&text, "jari_lull"),
        })
    }

    async fn room(&self) -> Option<Sample> {
        let asked = self.seen.begun.elapsed();
        let (status, text) = self.get(&self.stats).await?;
        let stats: RoomStats = serde_json::from_str(&text).ok().filter(|_| status == 200)?;
        Some(Sample {
            node: self.node,
            asked,
            told: self.seen.begun.elapsed(),
            tick_ms: stats.now.0.0,
            live: stats.live,
            admitted: stats.admitted_total,
            recovering: stats.state == LineState::Recovering,
        })
    }

    fn note(&self, (status, text): (u16, String), numbers: Option<Peaks>, room: Option<Sample>) {
        let seen = &self.seen;
        {
            let mut nodes = seen.nodes.lock();
            let of = &mut nodes[self.node];
            of.latest = numbers.zip(room).map(|(numbers, room)| Latest {
                ready: status == 200,
                store_answers: numbers.store_down_s == 0.0,
                open: !room.recovering && numbers.recovering == 0.0,
                tick_ms: room.tick_ms,
            });
            if of.readiness.last().is_none_or(|last| last.1 != status) {
                of.readiness.push((seen.begun.elapsed(), status, text));
            }
        }
        if let Some(numbers) = numbers {
            let mut peaks = seen.peaks.lock();
            peaks.store_down_s = peaks.store_down_s.max(numbers.store_down_s);
            peaks.recovering = peaks.recovering.max(numbers.recovering);
            peaks.unchecked = peaks.unchecked.max(numbers.unchecked);
            peaks.lull = peaks.lull.max(numbers.lull);
            if numbers.recovering > 0.0 {
                let now = Instant::now();
                let mut span = seen.recovering.lock();
                *span = Some((span.map_or(now, |(first, _)| first), now));
            }
        }
        seen.samples.lock().extend(room);
    }
}

/// The sum of a metric over its labels; 0 where it is not shown.
fn number(text: &str, name: &str) -> f64 {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labelled) => labelled.split_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    values.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_no_other_is_taken_for_it() {
        let text = "# TYPE jari_lull gauge\njari_lull{room=\"a\"} 1\njari_lull{room=\"b\"} 1\n\
            jari_lull_other 5\njari_store_down_seconds 2.5\n";
        assert!((number(text, "jari_lull") - 2.0).abs() < 1e-9);
        assert!((number(text, "jari_store_down_seconds") - 2.5).abs() < 1e-9);
        assert!(number(text, "jari_absent").abs() < 1e-9);
    }
}
