//! What a burst came to, as text and JSON. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::World;
use super::watch::Sample;
use crate::found::ms;
use crate::held::Held;

/// Of the looks at room and site so many are told, the first and the last of them always.
const TIMELINE_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BurstReport {
    pub(super) people: u64,
    pub(super) walked_in: u64,
    pub(super) sent_to_room: u64,
    /// Of those: whose turn came, and who got their page.
    pub(super) went_in: u64,
    pub(super) errors: BTreeMap<String, u64>,
    /// From the first arrival to the first answer that sent somebody to the room.
    pub(super) first_refused_ms: Option<f64>,
    /// From the first arrival until the room was seen to queue. It began before: when enough had come for it.
    pub(super) queueing_ms: Option<f64>,
    /// From when an arrival was due to the answer that sent them to the room.
    refused_p99_ms: f64,
    /// How long after they were due people came: the generator's own delay.
    late_p99_ms: f64,
    /// Pages that the site worked on at once, at the most. The site counted them itself.
    pub(super) most_at_site: u64,
    /// Live passes at the most, of all looks.
    pub(super) most_inside: u64,
    most_waiting: u64,
    pub(super) timeline: Vec<Sample>,
}

impl BurstReport {
    pub(super) fn new(world: &World, people: u64, samples: &[Sample], held: Held) -> BurstReport {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (counts, refusals) = (&world.counts, world.refusals.lock());
        let first = |queues: &&Sample| queues.queueing;
        let most = |what: fn(&Sample) -> u64| samples.iter().map(what).max().unwrap_or(0);
        let first_refused = *world.first_refused.lock();
        BurstReport {
            people,
            walked_in: of(&counts.walked_in),
            sent_to_room: of(&counts.sent_to_room),
            went_in: of(&counts.went_in),
            errors: refusals.errors.clone(),
            first_refused_ms: first_refused.map(|after| after.as_secs_f64() * 1_000.0),
            queueing_ms: samples.iter().find(first).map(|sample| sample.at_s * 1_000.0),
            refused_p99_ms: ms(&refusals.latencies, 0.99),
            late_p99_ms: ms(&refusals.late, 0.99),
            most_at_site: held.most,
            most_inside: most(|sample| sample.inside),
            most_waiting: most(|sample| sample.waiting),
            timeline: thinned(samples),
        }
    }
}

fn thinned(samples: &[Sample]) -> Vec<Sample> {
    let every = samples.len().div_ceil(TIMELINE_MAX).max(1);
    let last = samples.len().saturating_sub(1);
    let kept = samples.iter().enumerate().filter(|(nth, _)| nth % every == 0 || *nth == last);
    kept.map(|(_, sample)| *sample).collect()
}

impl fmt::Display for BurstReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BurstReport { people, walked_in, sent_to_room, went_in, errors, .. } = self;
        writeln!(f, "{people} people, {walked_in} walked in, {sent_to_room} sent to the room")?;
        writeln!(f, "            of whom {went_in} went in later; errors {errors:?}")?;
        let after = |ms: Option<f64>| ms.map_or("never".to_owned(), |ms| format!("{ms:.0} ms"));
        writeln!(
            f,
            "queues      after {}; the first was sent to the room after {}",
            after(self.queueing_ms),
            after(self.first_refused_ms)
        )?;
        let BurstReport { most_at_site, most_inside, most_waiting, .. } = self;
        writeln!(f, "at once     {most_at_site} pages at the site, {most_inside} passes, at most")?;
        write!(
            f,
            "line        {most_waiting} at most; refusals p99 {:.1} ms, arrivals late by {:.1} ms at p99",
            self.refused_p99_ms, self.late_p99_ms
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_bounded_and_has_both_ends() {
        let sample = |nth: usize| Sample {
            at_s: nth as f64,
            at_site: 0,
            inside: 0,
            waiting: 0,
            queueing: false,
        };
        for count in [0, 1, 200, 201, 750] {
            let samples: Vec<Sample> = (0..count).map(sample).collect();
            let told = thinned(&samples);
            assert!(told.len() <= TIMELINE_MAX + 1, "{count}: {}", told.len());
            assert_eq!((told.first(), told.last()), (samples.first(), samples.last()), "{count}");
        }
    }
}
