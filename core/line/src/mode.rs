//! How a room treats whoever comes: people queue always, never, or by themselves; and when an `auto` room begins and ends
//! to queue. Pure: the gate and the stores act on it.

use jari_units::{Millis, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::Tick;
use crate::ledger::{Ledger, Phase, TOKEN};
use crate::settings::{COUNT_MAX, SPAN_MAX, Settings, SettingsError, count};

/// Variants are only ever added at the end: they are stored in journals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Everybody joins the line.
    #[default]
    On,
    /// Nobody is asked for a pass, and nobody is called: those who wait keep their places.
    Off,
    /// People walk in until the room is busy; then they queue until it was quiet for a while.
    Auto,
    /// The line decides as if it were on; the gate lets everybody pass and counts what it would have done.
    Shadow,
}

/// When an `auto` room queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoQueue {
    /// From this many live passes on, 1 to `COUNT_MAX`. `None`: four fifths of the capacity.
    pub at_live: Option<u64>,
    /// From this many newcomers a second on, 1 to `COUNT_MAX`. `None`: the rate.
    pub at_arrivals_per_s: Option<u64>,
    /// Until neither was so for this long.
    pub quiet_for: Millis,
}

impl Default for AutoQueue {
    fn default() -> Self {
        AutoQueue { at_live: None, at_arrivals_per_s: None, quiet_for: Millis::from_secs(60) }
    }
}

/// What an `auto` room has seen of its traffic. That of other rooms is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auto {
    /// `None`: people walk in.
    pub queueing: Option<Queueing>,
    /// Newcomers are counted from here (line clock), when so many had joined ever.
    pub window_start: Millis,
    pub joined_before: u64,
    /// When it was last busy (line clock).
    pub busy_at: Millis,
}

/// Since when an `auto` room queues, and what began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queueing {
    pub since: Timestamp,
    pub why: Busy,
}

/// What makes an `auto` room queue, in order of precedence. Variants are only ever added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Busy {
    /// Enough people are inside.
    Live,
    /// Many come at once.
    Arrivals,
    /// Somebody who was there could not be let in with the tick.
    Line,
}

/// How a tick leaves a room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Afterwards {
    pub live: u64,
    /// People who were there and were not called.
    pub not_called: u64,
    /// Nobody waits and nobody is inside.
    pub idle: bool,
}

impl AutoQueue {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        count("queue_at_live", self.at_live.unwrap_or(1), 1, COUNT_MAX)?;
        count("queue_at_arrivals_per_s", self.at_arrivals_per_s.unwrap_or(1), 1, COUNT_MAX)?;
        // Shorter than a few ticks, a room would begin and end in one breath.
        count("quiet_for_ms", self.quiet_for.0, 5 * limits::TICK.0, SPAN_MAX.0)
    }
}

impl Settings {
    /// Live passes from which an `auto` room queues: never above its capacity.
    #[must_use]
    pub fn queue_at_live(&self) -> u64 {
        self.auto.at_live.unwrap_or(self.capacity - self.capacity / 5).min(self.capacity)
    }

    /// Newcomers a second from which an `auto` room queues.
    #[must_use]
    pub fn queue_at_arrivals_per_s(&self) -> u64 {
        self.auto.at_arrivals_per_s.unwrap_or(self.rate_milli.div_ceil(1_000)).max(1)
    }
}

impl Ledger {
    /// How many newcomers may walk in before the next tick: none where the room queues, or anybody would be overtaken.
    /// Within capacity and rate as every admission.
    #[must_use]
    pub fn walk_ins(&self) -> u64 {
        let Settings { mode, grouped, .. } = self.settings;
        let shut =
            mode != Mode::Auto || grouped || self.is_recovering() || self.pacer.rate_milli == 0;
        if shut || self.queueing().is_some() || self.phase() != Phase::Open {
            return 0;
        }
        if self.waiting() > 0 || self.callable() > 0 {
            return 0;
        }
        let live = self.passes.live();
        let places =
            self.settings.queue_at_live().saturating_sub(live).min(self.room_for_more(live));
        let newcomers = self.settings.queue_at_arrivals_per_s().saturating_sub(self.newcomers());
        places.min(newcomers).min(self.bucket / TOKEN)
    }

    /// Since when and why an `auto` room queues. One that nobody is in does not, whatever it was before.
    #[must_use]
    pub fn queueing(&self) -> Option<Queueing> {
        self.flow.auto.queueing.filter(|_| !self.is_idle())
    }

    fn newcomers(&self) -> u64 {
        self.totals.joined.saturating_sub(self.flow.auto.joined_before)
    }

    /// What an `auto` room knows after `tick`.
    pub(crate) fn auto_after(&self, tick: &Tick, after: Afterwards) -> Auto {
        if self.settings.mode != Mode::Auto {
            return Auto::default();
        }
        let mut auto = self.flow.auto;
        let newcomers = self.newcomers();
        let span = tick.line_ms - auto.window_start;
        // More than a second's worth within less than a second is enough.
        let per_span = self.settings.queue_at_arrivals_per_s().saturating_mul(span.0.max(1_000));
        let why = if after.live >= self.settings.queue_at_live() {
            Some(Busy::Live)
        } else if newcomers.saturating_mul(1_000) >= per_span {
            Some(Busy::Arrivals)
        } else if after.not_called > 0 {
            Some(Busy::Line)
        } else {
            None
        };
        match (why, auto.queueing) {
            (Some(why), was) => {
                auto.busy_at = tick.line_ms;
                auto.queueing = was.or(Some(Queueing { since: tick.now, why }));
            }
            (None, Some(_))
                if after.idle || tick.line_ms - auto.busy_at >= self.settings.auto.quiet_for =>
            {
                auto.queueing = None;
            }
            (None, _) => {}
        }
        if span >= limits::TICK {
            auto.window_start = tick.line_ms;
            auto.joined_before = self.totals.joined;
        }
        auto
    }

    /// What an `auto` room starts from where it was another one before.
    pub(crate) fn fresh_auto(&self) -> Auto {
        match self.settings.mode {
            Mode::Auto => Auto {
                window_start: self.clocks.line_ms,
                joined_before: self.totals.joined,
                ..Auto::default()
            },
            Mode::On | Mode::Off | Mode::Shadow => Auto::default(),
        }
    }
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
