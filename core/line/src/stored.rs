//! Settings as journals and checkpoints hold them. The layout never changes: what came later stands behind a variant that
//! only settings which use it have, so that old files stay readable and others are still written as ever.

use jari_units::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Aimd, AutoQueue, Mode, PacerKind, Settings, Signal};

/// [`Settings`] in the order of their first release. postcard knows fields by their order alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredSettings {
    capacity: u64,
    rate_milli: u64,
    burst: u64,
    per_tick: u64,
    pacer: StoredPacer,
    pass_ttl: Millis,
    claim_window: Millis,
    absence_grace: Millis,
    presence_window: Millis,
    max_waiting: u64,
    admit_total: Option<u64>,
    opens_at: Option<Timestamp>,
    joins_from: Option<Timestamp>,
    closes_at: Option<Timestamp>,
    grouped: bool,
    poll_near: Millis,
    poll_far: Millis,
}

/// The pacer, or with it all that came after the first release. Variants are only ever added at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum StoredPacer {
    Fixed,
    Aimd(Aimd),
    Manual,
    Signal(Signal),
    WithMode { pacer: PacerKind, mode: Mode, auto: AutoQueue },
}

impl Settings {
    /// Whether they use what journals of the first format do not hold: a mode, or the `signal` pacer.
    #[must_use]
    pub fn use_modes(&self) -> bool {
        self.has_mode() || matches!(self.pacer, PacerKind::Signal(_))
    }

    fn has_mode(&self) -> bool {
        self.mode != Mode::default() || self.auto != AutoQueue::default()
    }
}

impl From<Settings> for StoredSettings {
    fn from(settings: Settings) -> Self {
        let Settings { pacer, mode, auto, .. } = settings;
        let pacer = match pacer {
            pacer if settings.has_mode() => StoredPacer::WithMode { pacer, mode, auto },
            PacerKind::Fixed => StoredPacer::Fixed,
            PacerKind::Aimd(aimd) => StoredPacer::Aimd(aimd),
            PacerKind::Manual => StoredPacer::Manual,
            PacerKind::Signal(signal) => StoredPacer::Signal(signal),
        };
        StoredSettings {
            capacity: settings.capacity,
            rate_milli: settings.rate_milli,
            burst: settings.burst,
            per_tick: settings.per_tick,
            pacer,
            pass_ttl: settings.pass_ttl,
            claim_window: settings.claim_window,
            absence_grace: settings.absence_grace,
            presence_window: settings.presence_window,
            max_waiting: settings.max_waiting,
            admit_total: settings.admit_total,
            opens_at: settings.opens_at,
            joins_from: settings.joins_from,
            closes_at: settings.closes_at,
            grouped: settings.grouped,
            poll_near: settings.poll_near,
            poll_far: settings.poll_far,
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        let (mode, auto) = Default::default();
        let (pacer, mode, auto) = match stored.pacer {
            StoredPacer::Fixed => (PacerKind::Fixed, mode, auto),
            StoredPacer::Aimd(aimd) => (PacerKind::Aimd(aimd), mode, auto),
            StoredPacer::Manual => (PacerKind::Manual, mode, auto),
            StoredPacer::Signal(signal) => (PacerKind::Signal(signal), mode, auto),
            StoredPacer::WithMode { pacer, mode, auto } => (pacer, mode, auto),
        };
        Settings {
            capacity: stored.capacity,
            rate_milli: stored.rate_milli,
            burst: stored.burst,
            per_tick: stored.per_tick,
            pacer,
            pass_ttl: stored.pass_ttl,
            claim_window: stored.claim_window,
            absence_grace: stored.absence_grace,
            presence_window: stored.presence_window,
            max_waiting: stored.max_waiting,
            admit_total: stored.admit_total,
            opens_at: stored.opens_at,
            joins_from: stored.joins_from,
            closes_at: stored.closes_at,
            grouped: stored.grouped,
            poll_near: stored.poll_near,
            poll_far: stored.poll_far,
            mode,
            auto,
        }
    }
}
