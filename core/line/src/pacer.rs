//! What decides the rate: a pure step per line second, kept in the room so that two admitters cannot step twice.

use jari_units::{Millis, limits};
use serde::{Deserialize, Serialize};

use crate::Load;
use crate::settings::{Aimd, PacerKind, Settings};

/// The pacer's state: the rate the bucket fills at, and when the next step is due on the line clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacerState {
    pub rate_milli: u64,
    pub due: Millis,
}

impl PacerState {
    pub(crate) fn start(settings: &Settings) -> Self {
        PacerState { rate_milli: start_rate(settings), due: Millis::ZERO }
    }

    /// The state after new settings: an unchanged pacer keeps what it has learned.
    pub(crate) fn follow(&mut self, old: &Settings, new: &Settings) {
        match (old.pacer, new.pacer) {
            (PacerKind::Aimd(_), PacerKind::Aimd(aimd)) => {
                self.keep_within(aimd.floor, aimd.ceiling);
            }
            (PacerKind::Signal(_), PacerKind::Signal(signal)) => {
                self.keep_within(signal.floor, signal.ceiling);
            }
            _ => self.rate_milli = start_rate(new),
        }
    }

    fn keep_within(&mut self, floor: u64, ceiling: u64) {
        self.rate_milli = self.rate_milli.clamp(floor * 1_000, ceiling * 1_000);
    }

    /// The state after a tick at `line_ms` with `live` passes, where `worst` is the worst that is said of the site.
    pub(crate) fn step(
        self,
        settings: &Settings,
        (live, worst): (u64, Option<Load>),
        line_ms: Millis,
    ) -> Self {
        if line_ms < self.due && !matches!(settings.pacer, PacerKind::Fixed | PacerKind::Manual) {
            return self;
        }
        // Steps stay on a grid of ticks, so that jitter does not skip one; time that was missed is not made up.
        let next = self.due + limits::TICK;
        let due = if next <= line_ms { line_ms + limits::TICK } else { next };
        match settings.pacer {
            PacerKind::Fixed | PacerKind::Manual => {
                PacerState { rate_milli: start_rate(settings), ..self }
            }
            PacerKind::Aimd(aimd) => {
                PacerState { rate_milli: aimd.next(self.rate_milli, live), due }
            }
            PacerKind::Signal(signal) => {
                let (rate, cut) = signal.next(self.rate_milli / 1_000, worst);
                let due = if cut { line_ms + signal.settle } else { due };
                PacerState { rate_milli: rate * 1_000, due }
            }
        }
    }
}

fn start_rate(settings: &Settings) -> u64 {
    match settings.pacer {
        PacerKind::Fixed => settings.rate_milli,
        PacerKind::Aimd(aimd) => aimd.start * 1_000,
        PacerKind::Manual => 0,
        PacerKind::Signal(signal) => signal.start * 1_000,
    }
}

impl Aimd {
    /// The rate after `rate_milli`: halved (rounded down to a whole admission per second) while congested, else raised.
    fn next(&self, rate_milli: u64, live: u64) -> u64 {
        let rate = rate_milli / 1_000;
        let next = if live >= self.threshold {
            (rate / 2).max(self.floor)
        } else {
            (rate + self.increase).min(self.ceiling)
        };
        next * 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aimd() -> Settings {
        Settings { pacer: PacerKind::Aimd(Aimd::default()), ..Settings::default() }
    }

    /// The trace that the replaced ticket shop published.
    #[test]
    fn aimd_follows_the_replaced_systems_trace() {
        let settings = aimd();
        let mut pacer = PacerState::start(&settings);
        let live = [0, 0, 0, 100, 99];
        let mut trace = vec![pacer.rate_milli / 1_000];
        for (second, live) in live.into_iter().enumerate() {
            pacer = pacer.step(&settings, (live, None), Millis::from_secs(second as u64));
            trace.push(pacer.rate_milli / 1_000);
        }
        assert_eq!(trace, [50, 55, 60, 65, 32, 37]);
    }

    #[test]
    fn aimd_stays_within_floor_and_ceiling() {
        let settings = aimd();
        for (live, end) in [(0, 200), (1_000, 5)] {
            let mut pacer = PacerState::start(&settings);
            for second in 0..60 {
                pacer = pacer.step(&settings, (live, None), Millis::from_secs(second));
            }
            assert_eq!(pacer.rate_milli, end * 1_000);
        }
    }

    #[test]
    fn two_ticks_in_one_second_step_once_and_jitter_skips_none() {
        let settings = aimd();
        let mut pacer = PacerState::start(&settings);
        for at in [0, 5, 990, 1_003, 1_900, 2_000, 2_999, 3_000] {
            pacer = pacer.step(&settings, (0, None), Millis(at));
        }
        assert_eq!(pacer.rate_milli, 70_000, "four seconds, four steps");
    }

    #[test]
    fn manual_admits_nobody_by_itself() {
        let settings = Settings { pacer: PacerKind::Manual, ..Settings::default() };
        assert_eq!(PacerState::start(&settings).rate_milli, 0);
    }
}
