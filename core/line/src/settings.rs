//! A room's settings that the line's rules depend on, their defaults and bounds. Page texts and identity are not here.

use jari_units::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::stored::StoredSettings;
use crate::{AutoQueue, Mode, Signal};

/// Largest configurable number of live passes, waiting places and admissions per second.
pub(crate) const COUNT_MAX: u64 = 100_000_000;
/// Longest configurable span: a week.
pub(crate) const SPAN_MAX: Millis = Millis(7 * 24 * 3_600_000);
/// Shortest presence window: below this a phone that changes cells would be "gone".
pub(crate) const PRESENCE_WINDOW_MIN: Millis = Millis::from_secs(10);

/// Nobody is told to ask more often.
const POLL_MIN: Millis = Millis(250);

/// The line's settings. Every field has a default; [`Settings::check`] gives the bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSettings", into = "StoredSettings")]
pub struct Settings {
    /// Live passes at most, 0 to `COUNT_MAX`.
    pub capacity: u64,
    /// Admissions per 1,000 seconds, 0 to `COUNT_MAX` x 1,000 ("200/s" is 200,000).
    pub rate_milli: u64,
    /// Admissions that may come at once after a quiet time: the bucket's size.
    pub burst: u64,
    /// Admissions of one tick at most, 1 to `ADMIT_MAX`. A bound per run, not a promise per second.
    pub per_tick: u64,
    pub pacer: PacerKind,
    /// A claimed pass ends this long after its last use.
    pub pass_ttl: Millis,
    /// An unclaimed pass ends this long after its call.
    pub claim_window: Millis,
    /// A called person who was not there keeps the right to return for this long.
    pub absence_grace: Millis,
    /// Someone seen within one to two of these is present.
    pub presence_window: Millis,
    /// Places in line at most.
    pub max_waiting: u64,
    /// Admissions in all, then the room is sold out. `None`: no end.
    pub admit_total: Option<u64>,
    /// Nobody is admitted before. `None`: open at once.
    pub opens_at: Option<Timestamp>,
    /// Joining starts here (default: at `opens_at`); never after it.
    pub joins_from: Option<Timestamp>,
    /// The room closes by itself. `None`: it stays open.
    pub closes_at: Option<Timestamp>,
    /// Admits only within a limit group's grants.
    pub grouped: bool,
    /// Bounds of the poll interval that visitors are directed to.
    pub poll_near: Millis,
    pub poll_far: Millis,
    pub mode: Mode,
    /// When it queues in mode `auto`.
    pub auto: AutoQueue,
}

/// What decides the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacerKind {
    /// The configured rate.
    Fixed,
    /// Additive increase, multiplicative decrease by live passes.
    Aimd(Aimd),
    /// Rate 0: the tenant admits.
    Manual,
    /// As the site, or the gate before it, says that it does.
    Signal(Signal),
}

/// Parameters of the `aimd` pacer; rates are admissions per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aimd {
    pub start: u64,
    pub increase: u64,
    pub floor: u64,
    pub ceiling: u64,
    /// Congested when this many passes are live.
    pub threshold: u64,
}

impl Default for Aimd {
    fn default() -> Self {
        Aimd { start: 50, increase: 5, floor: 5, ceiling: 200, threshold: 100 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            capacity: 5_000,
            rate_milli: 200_000,
            burst: 200,
            per_tick: 200,
            pacer: PacerKind::Fixed,
            pass_ttl: Millis::from_mins(10),
            claim_window: Millis::from_mins(2),
            absence_grace: Millis::from_mins(10),
            presence_window: Millis::from_secs(90),
            max_waiting: 2_000_000,
            admit_total: None,
            opens_at: None,
            joins_from: None,
            closes_at: None,
            grouped: false,
            poll_near: Millis::from_secs(1),
            poll_far: Millis::from_secs(10),
            mode: Mode::On,
            auto: AutoQueue::default(),
        }
    }
}

/// A setting out of its bounds, with the field as the wire names it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {problem}")]
pub struct SettingsError {
    pub field: &'static str,
    /// The other field, where two do not go together. `problem` reads well for either.
    pub with: Option<&'static str>,
    pub problem: String,
}

impl SettingsError {
    /// The field to blame: of two that do not go together the one that was sent, since its sender knows no other.
    #[must_use]
    pub fn of_sent(&self, sent: impl Fn(&str) -> bool) -> &'static str {
        match self.with {
            Some(with) if sent(with) && !sent(self.field) => with,
            _ => self.field,
        }
    }
}

impl Settings {
    /// Checks every bound and the relations across fields.
    ///
    /// # Errors
    /// The first field out of its bounds (422 `invalid_settings` on the wire).
    pub fn check(&self) -> Result<(), SettingsError> {
        count("capacity", self.capacity, 0, COUNT_MAX)?;
        count("rate_per_s", self.rate_milli.div_ceil(1_000), 0, COUNT_MAX)?;
        count("burst", self.burst, 1, COUNT_MAX)?;
        count("per_tick", self.per_tick, 1, jari_units::limits::ADMIT_MAX)?;
        count("max_waiting", self.max_waiting, 1, COUNT_MAX)?;
        if let Some(total) = self.admit_total {
            count("admit_total", total, 0, jari_units::limits::SEQ_MAX)?;
        }
        span("pass_ttl_ms", self.pass_ttl, Millis::from_secs(5))?;
        span("claim_window_ms", self.claim_window, Millis::from_secs(5))?;
        span("absence_grace_ms", self.absence_grace, Millis::ZERO)?;
        span("presence_window_ms", self.presence_window, PRESENCE_WINDOW_MIN)?;
        span("poll_near_ms", self.poll_near, POLL_MIN)?;
        span("poll_far_ms", self.poll_far, POLL_MIN)?;
        not_above(("poll_near_ms", self.poll_near.0), ("poll_far_ms", self.poll_far.0))?;
        self.check_times()?;
        self.auto.check()?;
        if self.mode == Mode::Auto && self.grouped {
            let problem =
                "a room in a limit group cannot be auto: its admissions are lent for a tick".into();
            return Err(SettingsError { field: "mode", with: Some("group"), problem });
        }
        match self.pacer {
            PacerKind::Aimd(aimd) => aimd.check(),
            PacerKind::Signal(signal) => signal.check(),
            PacerKind::Fixed | PacerKind::Manual => Ok(()),
        }
    }

    fn check_times(&self) -> Result<(), SettingsError> {
        let fail = |field, problem: &str| {
            Err(SettingsError { field, with: Some("opens_at"), problem: problem.into() })
        };
        if let (Some(from), Some(opens)) = (self.joins_from, self.opens_at)
            && from > opens
        {
            return fail("joins_from", "joins_from must not be after opens_at");
        }
        if self.joins_from.is_some() && self.opens_at.is_none() {
            return fail("joins_from", "joins_from needs opens_at");
        }
        if let (Some(opens), Some(closes)) = (self.opens_at, self.closes_at)
            && closes <= opens
        {
            return fail("closes_at", "closes_at must be after opens_at");
        }
        Ok(())
    }

    /// When joining starts, where it has not always.
    #[must_use]
    pub fn joins_start(&self) -> Option<Timestamp> {
        self.joins_from.or(self.opens_at)
    }
}

impl Aimd {
    fn check(&self) -> Result<(), SettingsError> {
        check_rates(self.floor, self.start, self.ceiling)?;
        count("pacer.increase", self.increase, 1, COUNT_MAX)?;
        count("pacer.threshold", self.threshold, 1, COUNT_MAX)
    }
}

/// The rates of a pacer that moves between two.
pub(crate) fn check_rates(floor: u64, start: u64, ceiling: u64) -> Result<(), SettingsError> {
    let (low, first, high) =
        (("pacer.floor", floor), ("pacer.start", start), ("pacer.ceiling", ceiling));
    for (field, rate) in [low, high, first] {
        count(field, rate, 1, COUNT_MAX)?;
    }
    not_above(low, high)?;
    not_above(low, first)?;
    not_above(first, high)
}

/// Two settings of which the first must not be above the second.
fn not_above(low: (&'static str, u64), high: (&'static str, u64)) -> Result<(), SettingsError> {
    if low.1 <= high.1 {
        return Ok(());
    }
    let problem = format!("{} ({}) must not be above {} ({})", low.0, low.1, high.0, high.1);
    Err(SettingsError { field: high.0, with: Some(low.0), problem })
}

pub(crate) fn count(
    field: &'static str,
    value: u64,
    min: u64,
    max: u64,
) -> Result<(), SettingsError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(SettingsError { field, with: None, problem: format!("{value} is not in {min}..={max}") })
}

fn span(field: &'static str, value: Millis, min: Millis) -> Result<(), SettingsError> {
    if (min..=SPAN_MAX).contains(&value) {
        return Ok(());
    }
    let problem = format!("{value} is not in {min}..={SPAN_MAX}");
    Err(SettingsError { field, with: None, problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_bounds_name_the_field() {
        assert_eq!(Settings::default().check(), Ok(()));
        let broken = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.check().expect_err("out of bounds").field
        };
        assert_eq!(broken(|s| s.per_tick = 201), "per_tick");
        assert_eq!(broken(|s| s.burst = 0), "burst");
        assert_eq!(broken(|s| s.pass_ttl = Millis(1)), "pass_ttl_ms");
        assert_eq!(broken(|s| s.poll_far = Millis(500)), "poll_far_ms");
        assert_eq!(broken(|s| s.joins_from = Some(Timestamp(5))), "joins_from");
        assert_eq!(
            broken(|s| {
                s.opens_at = Some(Timestamp(5));
                s.closes_at = Some(Timestamp(5));
            }),
            "closes_at"
        );
        assert_eq!(
            broken(|s| s.pacer = PacerKind::Aimd(Aimd { start: 1, ..Aimd::default() })),
            "pacer.start"
        );
        assert_eq!(broken(|s| s.auto.at_live = Some(0)), "queue_at_live");
        assert_eq!(broken(|s| s.auto.at_arrivals_per_s = Some(0)), "queue_at_arrivals_per_s");
        assert_eq!(broken(|s| s.auto.quiet_for = Millis(4_999)), "quiet_for_ms");
        let grouped = |s: &mut Settings| (s.mode, s.grouped) = (Mode::Auto, true);
        assert_eq!(broken(grouped), "mode");
        let near = Settings { poll_near: Millis(10_001), ..Settings::default() };
        let error = near.check().expect_err("above the other");
        assert_eq!(error.problem, "poll_near_ms (10001) must not be above poll_far_ms (10000)");
        assert_eq!(error.of_sent(|field| field == "poll_near_ms"), "poll_near_ms");
        assert_eq!(error.of_sent(|field| field == "poll_far_ms"), "poll_far_ms");
        assert_eq!(error.of_sent(|_| true), "poll_far_ms");
        assert_eq!(error.of_sent(|_| false), "poll_far_ms");
        let signal = |s: &mut Settings| {
            s.pacer = PacerKind::Signal(Signal { errors_percent: 0, ..Signal::default() });
        };
        assert_eq!(broken(signal), "pacer.errors_percent");
    }
}
