//! The node's own counters and times, and how they are written. Noted without a lock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jari_api::Code;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rustc_hash::FxHashMap;

use super::calls::Calls;
use super::families::{Families, Labels};
use super::latency::{Latency, NOTICE_BUCKETS_S, STORE_BUCKETS_S};
use super::resolved::Resolved;
use super::rooms::{OTHERS, ROOMS_MAX};
use super::{Cache, Notice, StoreOutcome, Would};
use crate::protect::Reason;

#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) calls: Calls,
    /// All codes from the start, so that the first refusal is a step and not a beginning.
    refused: FxHashMap<&'static str, AtomicU64>,
    /// By operation and how it came back.
    store: Resolved<(&'static str, StoreOutcome), Latency>,
    pub(super) tick: Latency,
    pub(super) streams: Arc<AtomicI64>,
    notices: [Latency; 2],
    /// Hits and misses, by cache.
    caches: [[AtomicU64; 2]; 2],
    pub(super) connections: Arc<AtomicI64>,
    pub(super) connections_refused: AtomicU64,
    passed_unchecked: Resolved<String, AtomicU64>,
    /// By what gates would have done, had their rooms' modes let them.
    shadowed: [Resolved<String, AtomicU64>; Would::ALL.len()],
    /// By call and outcome; both are words of ours.
    site: Resolved<(&'static str, String), AtomicU64>,
    /// By outcome, a word of ours.
    challenges: Resolved<&'static str, AtomicU64>,
    pub(super) returns_dropped: AtomicU64,
    /// By why a protected site gave no answer.
    site_failures: [AtomicU64; Reason::ALL.len()],
    /// Renewed certificates that were taken, and that could not be used.
    certificates: [AtomicU64; 2],
    pub(super) unlisted: AtomicU64,
}

impl Default for Numbers {
    fn default() -> Self {
        let codes = Code::ALL.iter().map(|code| (code.as_str(), AtomicU64::new(0)));
        Numbers {
            calls: Calls::default(),
            refused: codes.collect(),
            store: Resolved::default(),
            tick: Latency::new(STORE_BUCKETS_S),
            streams: Arc::default(),
            notices: [Latency::new(NOTICE_BUCKETS_S), Latency::new(NOTICE_BUCKETS_S)],
            caches: Default::default(),
            connections: Arc::default(),
            connections_refused: AtomicU64::new(0),
            passed_unchecked: Resolved::default(),
            shadowed: Default::default(),
            site: Resolved::default(),
            challenges: Resolved::default(),
            returns_dropped: AtomicU64::new(0),
            site_failures: Default::default(),
            certificates: Default::default(),
            unlisted: AtomicU64::new(0),
        }
    }
}

impl Numbers {
    pub(super) fn refused(&self, reason: &'static str) {
        if let Some(count) = self.refused.get(reason) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn store_answered(
        &self,
        operation: &'static str,
        outcome: StoreOutcome,
        took: Duration,
    ) {
        let latency = || Latency::new(STORE_BUCKETS_S);
        self.store.with(&(operation, outcome), latency, |latency| latency.note(took));
    }

    pub(super) fn told(&self, notice: Notice) -> &Latency {
        &self.notices[notice as usize]
    }

    pub(super) fn cache(&self, cache: Cache, hit: bool) -> &AtomicU64 {
        &self.caches[cache as usize][usize::from(!hit)]
    }

    pub(super) fn passed_unchecked(&self, room: &str) {
        count_of(&self.passed_unchecked, room);
    }

    pub(super) fn shadowed(&self, room: &str, would: Would) {
        count_of(&self.shadowed[would as usize], room);
    }

    fn write_modes(&self, families: &mut Families<'_>) -> fmt::Result {
        let of = |would: Would| self.shadowed[would as usize].list().into_iter();
        let off =
            of(Would::Off).map(|(room, count)| (vec![("room", room.into())], count.load(Relaxed)));
        let help = "Requests that the gate let pass because the room is off";
        families.counters(("jari_gate_off", help), off)?;
        let shadowed = Would::ALL.into_iter().filter(|would| *would != Would::Off);
        let shadowed = shadowed.flat_map(|would| {
            of(would).map(move |(room, count)| {
                let labels = vec![("room", room.into()), ("would", would.as_str().into())];
                (labels, count.load(Relaxed))
            })
        });
        let help = "Requests that the gate let pass because the room is a shadow, by what it would have done";
        families.counters(("jari_gate_shadow", help), shadowed)
    }

    pub(super) fn site_asked(&self, call: &'static str, outcome: &str, passes: u64) {
        let key = (call, outcome.to_owned());
        self.site.with(&key, AtomicU64::default, |count| count.fetch_add(passes, Relaxed));
    }

    pub(super) fn site_failures(&self, reason: Reason) -> &AtomicU64 {
        &self.site_failures[reason as usize]
    }

    pub(super) fn certificates(&self, taken: bool) -> &AtomicU64 {
        &self.certificates[usize::from(!taken)]
    }

    fn write_protected(&self, families: &mut Families<'_>) -> fmt::Result {
        let failures = Reason::ALL.into_iter().map(|reason| {
            let labels = vec![("reason", reason.as_str().into())];
            (labels, self.site_failures(reason).load(Relaxed))
        });
        let help = "Requests that the protected site gave no answer to, by why";
        families.counters(("jari_site_failures", help), failures)?;
        let renewed = [(true, "taken"), (false, "refused")].map(|(taken, outcome)| {
            (vec![("outcome", outcome.into())], self.certificates(taken).load(Relaxed))
        });
        let help = "Changed certificates of the site's listener that were read while it served";
        families.counters(("jari_certificate_renewals", help), renewed)
    }

    pub(super) fn challenged(&self, outcome: &'static str) {
        self.challenges.with(&outcome, AtomicU64::default, |count| count.fetch_add(1, Relaxed));
    }

    fn write_challenges(&self, families: &mut Families<'_>) -> fmt::Result {
        let outcomes = self.challenges.list().into_iter();
        let outcomes = outcomes
            .map(|(outcome, count)| (vec![("outcome", outcome.into())], count.load(Relaxed)));
        let help = "Challenges made, and joins that were to show a solution, by what it was worth";
        families.counters(("jari_challenges", help), outcomes)
    }

    fn write_site(&self, families: &mut Families<'_>) -> fmt::Result {
        let asked = self.site.list().into_iter().map(|((call, outcome), count)| {
            let labels = vec![("call", call.into()), ("outcome", outcome.into())];
            (labels, count.load(Relaxed))
        });
        let help = "Passes that sites asked about, by call and how each of them stood";
        families.counters(("jari_site_passes", help), asked)
    }

    fn write_store(&self, families: &mut Families<'_>) -> fmt::Result {
        let store = self.store.list().into_iter().map(|((operation, outcome), latency)| {
            let outcome = outcome.as_str().into();
            let labels = vec![("operation", operation.into()), ("outcome", outcome)];
            (labels, latency.snapshot())
        });
        let help = "From the call of a line store's operation to its answer";
        families.histograms(("jari_store_duration_seconds", help), store)?;
        let unlisted = [(Labels::new(), self.unlisted.load(Relaxed))];
        let help = "People blocked or allowed by name whom the store has lost";
        families.counters(("jari_unlisted", help), unlisted)?;
        let tick = [(Labels::new(), self.tick.snapshot())];
        families.histograms(("jari_tick_duration_seconds", "One tick of one room"), tick)
    }

    fn write_streams(&self, families: &mut Families<'_>) -> fmt::Result {
        families
            .gauges(("jari_streams", "Event streams open"), plain(self.streams.load(Relaxed)))?;
        let notices = [(Notice::Line, "line"), (Notice::Place, "place")];
        let notices = notices
            .map(|(notice, frame)| (vec![("frame", frame.into())], self.told(notice).snapshot()));
        let help = "From an event's arrival on this node to its frame in a stream's socket";
        families.histograms(("jari_notice_latency_seconds", help), notices)
    }

    fn write_caches(&self, families: &mut Families<'_>) -> fmt::Result {
        let caches = [(Cache::RoomView, "room_view"), (Cache::RoomPage, "room_page")];
        let asked = caches.into_iter().flat_map(|(cache, name)| {
            [(true, "hit"), (false, "miss")].map(|(hit, outcome)| {
                let labels = vec![("cache", name.into()), ("outcome", outcome.into())];
                (labels, self.cache(cache, hit).load(Relaxed))
            })
        });
        let help = "Answers asked of what is kept ready, by whether it was";
        families.counters(("jari_cache_requests", help), asked)
    }

    fn write_connections(&self, families: &mut Families<'_>) -> fmt::Result {
        let open = plain(self.connections.load(Relaxed));
        families.gauges(("jari_connections", "Connections open"), open)?;
        let refused = [(Labels::new(), self.connections_refused.load(Relaxed))];
        let help = "Connections closed at once because the limit was reached";
        families.counters(("jari_connections_refused", help), refused)
    }

    fn write_refused(&self, families: &mut Families<'_>) -> fmt::Result {
        let codes = Code::ALL.iter().map(|code| code.as_str());
        let refused = codes
            .map(|reason| (vec![("reason", reason.into())], self.refused[reason].load(Relaxed)));
        families.counters(("jari_refused", "Calls refused, by the code told"), refused)?;
        let unchecked = self.passed_unchecked.list().into_iter();
        let unchecked =
            unchecked.map(|(room, count)| (vec![("room", room.into())], count.load(Relaxed)));
        let help = "Requests that the gate let pass unchecked while the store was down";
        families.counters(("jari_gate_unchecked", help), unchecked)?;
        let dropped = [(Labels::new(), self.returns_dropped.load(Relaxed))];
        let help =
            "Addresses to lead visitors back to that were dropped, as nobody has allowed them";
        families.counters(("jari_returns_dropped", help), dropped)
    }
}

/// Those that have a label keep it, whoever came first.
fn count_of(counts: &Resolved<String, AtomicU64>, room: &str) {
    let room = if counts.contains(room) || counts.len() < ROOMS_MAX { room } else { OTHERS };
    counts.with(room, AtomicU64::default, |count| count.fetch_add(1, Relaxed));
}

fn plain(count: i64) -> [(Labels, f64); 1] {
    [(Labels::new(), count as f64)]
}

impl Collector for Numbers {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        let version = vec![("version", env!("CARGO_PKG_VERSION").into())];
        families.gauges(("jari_build_info", "1, by the version that runs"), [(version, 1.0)])?;
        self.calls.write(&mut families)?;
        self.write_refused(&mut families)?;
        self.write_modes(&mut families)?;
        self.write_site(&mut families)?;
        self.write_protected(&mut families)?;
        self.write_challenges(&mut families)?;
        self.write_store(&mut families)?;
        self.write_streams(&mut families)?;
        self.write_caches(&mut families)?;
        self.write_connections(&mut families)
    }
}
