//! The flags that describe a room, and the patch of its definition that they make. Checks no bounds: the server does.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::span::{OrNone, count_or_none, id_or_none, rate, span_ms, time_or_none};
use jari_api::Utc;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnStoreFailure {
    /// Passes go on, newcomers wait.
    Wait,
    /// Nobody passes.
    Refuse,
    /// Everybody passes.
    Pass,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Handover {
    /// By the pass cookie: the gate is on the site's own host.
    Cookie,
    /// By a one-time token in the address that they are sent to.
    Token,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Challenge {
    /// Nothing.
    Off,
    /// Their device does a short calculation; in anonymous rooms only.
    #[value(name = "proof_of_work")]
    ProofOfWork,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pacer {
    /// Always the rate.
    Fixed,
    /// Faster while few are inside, slower while many are.
    Aimd,
    /// Nobody by itself: `jari room admit`, or the tenant's own calls.
    Manual,
    /// As the site, or the reverse proxy before it, says that it does.
    Signal,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Everybody joins the line.
    On,
    /// Everybody passes; those who wait keep their places.
    Off,
    /// People walk in until it is busy, then they queue.
    Auto,
    /// Everybody passes, and is counted as if the room were on.
    Shadow,
}

/// Whether people queue.
#[derive(Debug, Args)]
pub(super) struct ModeFields {
    /// How the room treats whoever comes. [default: on]
    #[arg(long, value_enum, help_heading = "Mode")]
    mode: Option<Mode>,
    /// Mode auto queues from this many live passes on, or none. [default: none: 4/5 of the capacity]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = "Mode")]
    queue_at_live: Option<OrNone<u64>>,
    /// Or from this many newcomers a second on, or none. [default: none: the rate]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = "Mode")]
    queue_at_arrivals: Option<OrNone<u64>>,
    /// And until neither was so for this long. [default: 1m]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Mode")]
    quiet_for: Option<u64>,
}

/// How many are let in, and how fast.
#[derive(Debug, Args)]
pub(super) struct LimitFields {
    /// Live passes at most: how many people may be inside. [default: 5000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    capacity: Option<u64>,
    /// Admissions per second, up to 3 decimals. [default: 200]
    #[arg(long, value_name = "PER_SECOND", value_parser = rate, help_heading = "Limits")]
    rate: Option<f64>,
    /// Admissions that may come at once after a quiet time. [default: 200]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    burst: Option<u64>,
    /// Admissions of one tick (a second) at most, 1 to 200. [default: 200]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    per_tick: Option<u64>,
    /// What decides the rate. [default: fixed]
    #[arg(long, value_enum, help_heading = "Limits")]
    pacer: Option<Pacer>,
    /// Places in line at most. [default: 2000000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_waiting: Option<u64>,
    /// Admissions in all, then the room is sold out; or none. [default: none]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = "Limits")]
    admit_total: Option<OrNone<u64>>,
}

/// How long passes and places last.
#[derive(Debug, Args)]
pub(super) struct SpanFields {
    /// A used pass ends this long after its last use, and not before its claim window. [default: 10m]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    pass_ttl: Option<u64>,
    /// A pass never used ends this long after its turn came. [default: 2m]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    claim_window: Option<u64>,
    /// Who was away at the turn may come back for this long. [default: 10m]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    absence_grace: Option<u64>,
    /// Someone heard from within one to two of these is present. [default: 90s]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    presence_window: Option<u64>,
}

/// What a room is. Left out: as it was, or the default.
#[derive(Debug, Args)]
pub(super) struct RoomFields {
    /// The room's name on the Korean page.
    #[arg(long, value_name = "TEXT", help_heading = "Room")]
    title_ko: Option<String>,
    /// The room's name on the English page.
    #[arg(long, value_name = "TEXT", help_heading = "Room")]
    title_en: Option<String>,
    /// Where an admitted person goes: an http(s) URL, or a path on this server. [default: /]
    #[arg(long, value_name = "URL", help_heading = "Room")]
    target_url: Option<String>,
    /// The limit group the room shares, or none. [default: none]
    #[arg(long, value_name = "ID", value_parser = id_or_none, help_heading = "Room")]
    group: Option<OrNone<String>>,
    /// What the gate does while the store is down. [default: wait]
    #[arg(long, value_enum, help_heading = "Room")]
    on_store_failure: Option<OnStoreFailure>,
    /// How an admitted person shows their pass to the site. [default: cookie]
    #[arg(long, value_enum, help_heading = "Room")]
    handover: Option<Handover>,
    /// What newcomers do before they get a place. [default: off]
    #[arg(long, value_enum, help_heading = "Room")]
    challenge: Option<Challenge>,
    /// Tries that solve it at the latest, half of them on average: 100 to 1000000. [default: 10000]
    #[arg(long, value_name = "TRIES", help_heading = "Room")]
    challenge_difficulty: Option<u32>,

    #[command(flatten)]
    mode: ModeFields,

    #[command(flatten)]
    limits: LimitFields,

    /// Nobody is admitted before (RFC 3339), or none. [default: none]
    #[arg(long, value_name = "TIME", value_parser = time_or_none, help_heading = "Times")]
    opens_at: Option<OrNone<Utc>>,
    /// Joining starts here (RFC 3339), not after opens-at; or none. [default: none]
    #[arg(long, value_name = "TIME", value_parser = time_or_none, help_heading = "Times")]
    joins_from: Option<OrNone<Utc>>,
    /// The room closes by itself (RFC 3339), or none. [default: none]
    #[arg(long, value_name = "TIME", value_parser = time_or_none, help_heading = "Times")]
    closes_at: Option<OrNone<Utc>>,
    #[command(flatten)]
    spans: SpanFields,
    /// Pages ask this often near the front. [default: 1s]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    poll_near: Option<u64>,
    /// Pages ask this often far back. [default: 10s]
    #[arg(long, value_name = "SPAN", value_parser = span_ms, help_heading = "Times")]
    poll_far: Option<u64>,
}

/// Puts a field into a patch where it was given.
fn put<T: Into<Value>>(patch: &mut Map<String, Value>, name: &str, value: Option<T>) {
    if let Some(value) = value {
        patch.insert(name.to_owned(), value.into());
    }
}

impl RoomFields {
    /// The patch that these flags make: only what was given.
    pub(super) fn patch(&self) -> Value {
        let mut patch = Map::new();
        let mut title = Map::new();
        put(&mut title, "ko", self.title_ko.as_deref());
        put(&mut title, "en", self.title_en.as_deref());
        put(&mut patch, "title", (!title.is_empty()).then_some(title));
        put(&mut patch, "target_url", self.target_url.as_deref());
        put(&mut patch, "group", self.group.as_ref().map(OrNone::json));
        put(&mut patch, "on_store_failure", self.on_store_failure.as_ref().map(name_of));
        put(&mut patch, "handover", self.handover.as_ref().map(name_of));
        put(&mut patch, "challenge", self.challenge.as_ref().map(name_of));
        put(&mut patch, "challenge_difficulty", self.challenge_difficulty);
        let settings = self.settings();
        put(&mut patch, "settings", (!settings.is_empty()).then_some(settings));
        Value::Object(patch)
    }

    fn settings(&self) -> Map<String, Value> {
        let mut patch = Map::new();
        self.mode.put_into(&mut patch);
        self.limits.put_into(&mut patch);
        put(&mut patch, "opens_at", self.opens_at.as_ref().map(OrNone::json));
        put(&mut patch, "joins_from", self.joins_from.as_ref().map(OrNone::json));
        put(&mut patch, "closes_at", self.closes_at.as_ref().map(OrNone::json));
        self.spans.put_into(&mut patch);
        put(&mut patch, "poll_near_ms", self.poll_near);
        put(&mut patch, "poll_far_ms", self.poll_far);
        patch
    }
}

impl Pacer {
    /// Takes back what only the pacer before it may have had; the rates that both have stay.
    fn patch(self) -> Value {
        let kind = name_of(&self);
        match self {
            Pacer::Fixed | Pacer::Manual => json!({"kind": kind}),
            Pacer::Aimd => {
                json!({"kind": kind, "settle_ms": null, "slow_ms": null, "errors_percent": null})
            }
            Pacer::Signal => json!({"kind": kind, "threshold": null}),
        }
    }
}

impl ModeFields {
    /// Puts what was given into a patch of the settings.
    pub(super) fn put_into(&self, patch: &mut Map<String, Value>) {
        put(patch, "mode", self.mode.as_ref().map(name_of));
        put(patch, "queue_at_live", self.queue_at_live.as_ref().map(OrNone::json));
        put(patch, "queue_at_arrivals_per_s", self.queue_at_arrivals.as_ref().map(OrNone::json));
        put(patch, "quiet_for_ms", self.quiet_for);
    }
}

impl LimitFields {
    /// Puts what was given into a patch of the settings.
    pub(super) fn put_into(&self, patch: &mut Map<String, Value>) {
        put(patch, "capacity", self.capacity);
        put(patch, "rate_per_s", self.rate);
        put(patch, "burst", self.burst);
        put(patch, "per_tick", self.per_tick);
        put(patch, "pacer", self.pacer.map(Pacer::patch));
        put(patch, "max_waiting", self.max_waiting);
        put(patch, "admit_total", self.admit_total.as_ref().map(OrNone::json));
    }
}

impl SpanFields {
    /// Puts what was given into a patch of the settings.
    pub(super) fn put_into(&self, patch: &mut Map<String, Value>) {
        put(patch, "pass_ttl_ms", self.pass_ttl);
        put(patch, "claim_window_ms", self.claim_window);
        put(patch, "absence_grace_ms", self.absence_grace);
        put(patch, "presence_window_ms", self.presence_window);
    }
}

fn name_of(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no variant is hidden");
    value.get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        fields: RoomFields,
    }

    #[test]
    fn only_what_was_given_is_in_the_patch() {
        let patch = |flags: &[&str]| {
            let line = std::iter::once("test").chain(flags.iter().copied());
            Flags::parse_from(line).fields.patch()
        };
        assert_eq!(patch(&[]), json!({}));
        let flags = ["--rate", "0.5", "--group", "none", "--pass-ttl", "5m", "--title-ko", "티켓"];
        let want = json!({
            "title": {"ko": "티켓"},
            "group": null,
            "settings": {"rate_per_s": 0.5, "pass_ttl_ms": 300_000},
        });
        assert_eq!(patch(&flags), want);
        let want = json!({"settings": {"pacer": {"kind": "manual"}, "opens_at": null}});
        assert_eq!(patch(&["--pacer", "manual", "--opens-at", "none"]), want);
        let flags = ["--mode", "auto", "--queue-at-live", "80", "--quiet-for", "30s"];
        let want = json!({"mode": "auto", "queue_at_live": 80, "quiet_for_ms": 30_000});
        assert_eq!(patch(&flags), json!({"settings": want}));
        let flags = ["--challenge", "proof_of_work", "--challenge-difficulty", "20000"];
        let want = json!({"challenge": "proof_of_work", "challenge_difficulty": 20_000});
        assert_eq!(patch(&flags), want);
    }
}
