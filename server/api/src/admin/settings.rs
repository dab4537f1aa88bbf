//! A room's settings on the wire. Their bounds are the line's (`Settings::check`), not this file's.

use jari_line::{Aimd, AutoQueue, Mode, PacerKind, Settings, Signal};
use jari_units::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Utc;

/// Every field may be left out: it then has the default shown in the documentation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsBody {
    /// Live passes at most.
    pub capacity: u64,
    /// Admissions per second, to a thousandth: 0, or 0.001 and more.
    pub rate_per_s: f64,
    /// Admissions that may come at once after a quiet time.
    pub burst: u64,
    /// Admissions of one tick at most, 1 to 200.
    pub per_tick: u64,
    pub pacer: PacerBody,
    pub pass_ttl_ms: u64,
    pub claim_window_ms: u64,
    pub absence_grace_ms: u64,
    pub presence_window_ms: u64,
    pub max_waiting: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admit_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joins_from: Option<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Utc>,
    pub poll_near_ms: u64,
    pub poll_far_ms: u64,
    pub mode: ModeName,
    /// Mode `auto` queues from this many live passes on; left out: four fifths of the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_at_live: Option<u64>,
    /// Or from this many newcomers a second on; left out: the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_at_arrivals_per_s: Option<u64>,
    /// And until neither was so for this long.
    pub quiet_for_ms: u64,
}

/// How a room treats whoever comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeName {
    /// Everybody joins the line.
    #[default]
    On,
    /// Everybody passes; those who wait keep their places.
    Off,
    /// People walk in until it is busy, then they queue.
    Auto,
    /// Everybody passes, and is counted as if the room were on.
    Shadow,
}

impl From<Mode> for ModeName {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::On => ModeName::On,
            Mode::Off => ModeName::Off,
            Mode::Auto => ModeName::Auto,
            Mode::Shadow => ModeName::Shadow,
        }
    }
}

impl From<ModeName> for Mode {
    fn from(mode: ModeName) -> Self {
        match mode {
            ModeName::On => Mode::On,
            ModeName::Off => Mode::Off,
            ModeName::Auto => Mode::Auto,
            ModeName::Shadow => Mode::Shadow,
        }
    }
}

/// What decides the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PacerBody {
    Fixed,
    Aimd(AimdBody),
    /// The tenant admits by hand.
    Manual,
    /// As the site, or the gate before it, says that it does.
    Signal(SignalBody),
}

/// Additive increase, multiplicative decrease; rates are admissions per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AimdBody {
    pub start: u64,
    pub increase: u64,
    pub floor: u64,
    pub ceiling: u64,
    /// Congested from this many live passes on.
    pub threshold: u64,
}

/// Additive increase while the site is well, a cut by half when it has too much; rates are admissions per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignalBody {
    /// At first, and where nobody says anything.
    pub start: u64,
    pub increase: u64,
    pub floor: u64,
    pub ceiling: u64,
    /// After a cut the rate stays for so long.
    pub settle_ms: u64,
    /// The reverse proxy calls the site busy when one answer in twenty takes so long, overloaded at twice that; 0: it does
    /// not measure.
    pub slow_ms: u64,
    /// And overloaded when so many of a hundred answers are errors.
    pub errors_percent: u64,
}

/// A number that the line cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberError;

impl std::fmt::Display for NumberError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a rate is 0 or a number from 0.001 to 100,000,000")
    }
}

impl std::error::Error for NumberError {}

/// Beyond this a rate is no rate; the line's own bound is lower or equal.
const RATE_MAX_PER_S: f64 = 100_000_000.0;

/// Admissions per 1,000 s of a rate per second.
///
/// # Errors
/// [`NumberError`] for what is negative, not a number, too large, or so small that it would be rounded to nobody at all.
pub fn rate_milli(per_s: f64) -> Result<u64, NumberError> {
    if !(0.0..=RATE_MAX_PER_S).contains(&per_s) {
        return Err(NumberError);
    }
    let milli = (per_s * 1_000.0).round() as u64;
    if milli == 0 && per_s > 0.0 { Err(NumberError) } else { Ok(milli) }
}

/// The rate per second of admissions per 1,000 s.
#[must_use]
pub fn rate_per_s(milli: u64) -> f64 {
    milli as f64 / 1_000.0
}

impl Default for AimdBody {
    fn default() -> Self {
        Aimd::default().into()
    }
}

impl Default for SignalBody {
    fn default() -> Self {
        Signal::default().into()
    }
}

impl From<Signal> for SignalBody {
    fn from(signal: Signal) -> Self {
        let Signal { start, increase, floor, ceiling, settle, slow, errors_percent } = signal;
        let (settle_ms, slow_ms) = (settle.0, slow.map_or(0, |slow| slow.0));
        SignalBody { start, increase, floor, ceiling, settle_ms, slow_ms, errors_percent }
    }
}

impl From<SignalBody> for Signal {
    fn from(body: SignalBody) -> Self {
        let SignalBody { start, increase, floor, ceiling, settle_ms, slow_ms, errors_percent } =
            body;
        let (settle, slow) = (Millis(settle_ms), (slow_ms > 0).then_some(Millis(slow_ms)));
        Signal { start, increase, floor, ceiling, settle, slow, errors_percent }
    }
}

impl Default for SettingsBody {
    fn default() -> Self {
        (&Settings::default()).into()
    }
}

impl From<Aimd> for AimdBody {
    fn from(aimd: Aimd) -> Self {
        let Aimd { start, increase, floor, ceiling, threshold } = aimd;
        AimdBody { start, increase, floor, ceiling, threshold }
    }
}

impl From<&Settings> for SettingsBody {
    fn from(settings: &Settings) -> Self {
        SettingsBody {
            capacity: settings.capacity,
            rate_per_s: rate_per_s(settings.rate_milli),
            burst: settings.burst,
            per_tick: settings.per_tick,
            pacer: match settings.pacer {
                PacerKind::Fixed => PacerBody::Fixed,
                PacerKind::Aimd(aimd) => PacerBody::Aimd(aimd.into()),
                PacerKind::Manual => PacerBody::Manual,
                PacerKind::Signal(signal) => PacerBody::Signal(signal.into()),
            },
            pass_ttl_ms: settings.pass_ttl.0,
            claim_window_ms: settings.claim_window.0,
            absence_grace_ms: settings.absence_grace.0,
            presence_window_ms: settings.presence_window.0,
            max_waiting: settings.max_waiting,
            admit_total: settings.admit_total,
            opens_at: settings.opens_at.map(Utc),
            joins_from: settings.joins_from.map(Utc),
            closes_at: settings.closes_at.map(Utc),
            poll_near_ms: settings.poll_near.0,
            poll_far_ms: settings.poll_far.0,
            mode: settings.mode.into(),
            queue_at_live: settings.auto.at_live,
            queue_at_arrivals_per_s: settings.auto.at_arrivals_per_s,
            quiet_for_ms: settings.auto.quiet_for.0,
        }
    }
}

impl SettingsBody {
    /// The line's settings; `grouped` is whether the room belongs to a limit group.
    ///
    /// # Errors
    /// [`NumberError`] for a rate that is no rate. All other bounds are for `Settings::check`.
    pub fn to_settings(&self, grouped: bool) -> Result<Settings, NumberError> {
        let at = |time: Option<Utc>| -> Option<Timestamp> { time.map(|utc| utc.0) };
        Ok(Settings {
            capacity: self.capacity,
            rate_milli: rate_milli(self.rate_per_s)?,
            burst: self.burst,
            per_tick: self.per_tick,
            pacer: match self.pacer {
                PacerBody::Fixed => PacerKind::Fixed,
                PacerBody::Manual => PacerKind::Manual,
                PacerBody::Signal(signal) => PacerKind::Signal(signal.into()),
                PacerBody::Aimd(AimdBody { start, increase, floor, ceiling, threshold }) => {
                    PacerKind::Aimd(Aimd { start, increase, floor, ceiling, threshold })
                }
            },
            pass_ttl: Millis(self.pass_ttl_ms),
            claim_window: Millis(self.claim_window_ms),
            absence_grace: Millis(self.absence_grace_ms),
            presence_window: Millis(self.presence_window_ms),
            max_waiting: self.max_waiting,
            admit_total: self.admit_total,
            opens_at: at(self.opens_at),
            joins_from: at(self.joins_from),
            closes_at: at(self.closes_at),
            grouped,
            poll_near: Millis(self.poll_near_ms),
            poll_far: Millis(self.poll_far_ms),
            mode: self.mode.into(),
            auto: AutoQueue {
                at_live: self.queue_at_live,
                at_arrivals_per_s: self.queue_at_arrivals_per_s,
                quiet_for: Millis(self.quiet_for_ms),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_wire() {
        let settings = Settings {
            rate_milli: 1_500,
            pacer: PacerKind::Aimd(Aimd::default()),
            opens_at: Some(Timestamp(1_796_029_200_000)),
            grouped: true,
            ..Settings::default()
        };
        let auto = AutoQueue { at_live: Some(7), ..AutoQueue::default() };
        let pacer = PacerKind::Signal(Signal { slow: None, ..Signal::default() });
        let modal = Settings { mode: Mode::Auto, auto, pacer, ..settings.clone() };
        for settings in [settings, modal] {
            let text = serde_json::to_string(&SettingsBody::from(&settings)).expect("JSON");
            let back: SettingsBody = serde_json::from_str(&text).expect("what was written");
            assert_eq!(back.to_settings(true), Ok(settings), "{text}");
        }
    }

    #[test]
    fn what_is_left_out_is_the_default_and_unknown_fields_are_refused() {
        let body: SettingsBody = serde_json::from_str("{}").expect("all defaults");
        assert_eq!(body.to_settings(false), Ok(Settings::default()));
        assert!(serde_json::from_str::<SettingsBody>(r#"{"capcity": 1}"#).is_err());
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e12, 0.0004, f64::MIN_POSITIVE] {
            assert_eq!(rate_milli(bad), Err(NumberError), "{bad}");
        }
        for (rate, milli) in [(0.0, 0), (-0.0, 0), (0.001, 1), (0.0014, 1), (1e8, 100_000_000_000)]
        {
            assert_eq!(rate_milli(rate), Ok(milli), "{rate}");
        }
    }
}
