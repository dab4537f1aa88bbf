//! signal: the site, or a node that measures it, says how it is doing. The worst word that still counts steers the
//! `signal` pacer.

use jari_units::{Mark, Millis, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;
use crate::settings::{COUNT_MAX, PacerKind, SPAN_MAX, SettingsError, check_rates, count};
use crate::{Auto, Done, Event, LostHistory, Room};

/// Whose word it is: a node's number, or [`SITE`].
pub type Source = u64;

/// The site itself, by the tenant's API. No node has this number.
pub const SITE: Source = 0;

/// How the site is doing, from good to bad. Variants are only ever added at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Load {
    /// It could take more.
    Ok,
    /// It has what it can take.
    Busy,
    /// It has too much.
    Overloaded,
}

/// A source's last word. It counts until it is replaced or its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    pub source: Source,
    pub load: Load,
    pub until: Timestamp,
}

/// What a room has seen of its own traffic and of the site behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    pub auto: Auto,
    /// In order of source.
    pub words: Vec<Word>,
}

/// Parameters of the `signal` pacer; rates are admissions per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// At first, and where nobody says anything.
    pub start: u64,
    /// Added each second while all is well.
    pub increase: u64,
    pub floor: u64,
    pub ceiling: u64,
    /// After a cut the rate stays for so long: what it does to the site shows only then.
    pub settle: Millis,
    /// A gate before the site calls it busy when one answer in twenty takes this long, and overloaded at twice that.
    /// `None`: gates do not measure.
    pub slow: Option<Millis>,
    /// And overloaded when so many of a hundred answers are errors of the site, 1 to 100.
    pub errors_percent: u64,
}

impl Default for Signal {
    fn default() -> Self {
        Signal {
            start: 50,
            increase: 5,
            floor: 5,
            ceiling: 200,
            settle: Millis::from_secs(5),
            slow: Some(Millis::from_secs(2)),
            errors_percent: 10,
        }
    }
}

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOutcome {
    /// The room's pacer heeds no signals; nothing was recorded.
    Unheeded,
    /// The source said so already, and its word counts for long enough; nothing was recorded.
    Unchanged,
    Heard,
}

impl Room {
    /// Takes a source's word, which counts for `span` from the room's last tick on, or until its next word.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn signal(
        &mut self,
        mark: Mark,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Result<Done<SignalOutcome>, LostHistory> {
        self.guard(mark)?;
        if !matches!(self.ledger.settings.pacer, PacerKind::Signal(_)) {
            return Ok(self.commit(SignalOutcome::Unheeded, None));
        }
        let now = self.ledger.clocks.now;
        let span = span.min(limits::SIGNAL_SPAN_MAX);
        let mut words = self.ledger.flow.words.iter();
        let known = words.find(|word| word.source == source && word.load == load);
        if known.is_some_and(|word| word.until.since(now).0 > span.0 / 2) {
            return Ok(self.commit(SignalOutcome::Unchanged, None));
        }
        let event = Event::Signalled(Word { source, load, until: now + span });
        Ok(self.commit(SignalOutcome::Heard, Some(event)))
    }
}

impl Ledger {
    /// What the room has seen of its traffic.
    #[must_use]
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The worst word that counts now.
    #[must_use]
    pub fn worst_word(&self) -> Option<Load> {
        self.flow.worst(self.clocks.now)
    }

    pub(crate) fn signalled(&mut self, word: Word) {
        let now = self.clocks.now;
        let words = &mut self.flow.words;
        words.retain(|known| known.source != word.source && known.until > now);
        if words.len() >= limits::SIGNAL_SOURCES_MAX {
            // Whose word ends soonest has said nothing for longest.
            let oldest = words.iter().min_by_key(|known| (known.until, known.source)).copied();
            words.retain(|known| Some(*known) != oldest);
        }
        let at = words.partition_point(|known| known.source < word.source);
        words.insert(at, word);
    }
}

impl Flow {
    pub(crate) fn worst(&self, now: Timestamp) -> Option<Load> {
        self.words.iter().filter(|word| word.until > now).map(|word| word.load).max()
    }

    /// The words that still count at `now`.
    pub(crate) fn words_at(&self, now: Timestamp) -> Vec<Word> {
        self.words.iter().filter(|word| word.until > now).copied().collect()
    }
}

impl Signal {
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        check_rates(self.floor, self.start, self.ceiling)?;
        count("pacer.increase", self.increase, 1, COUNT_MAX)?;
        count("pacer.settle_ms", self.settle.0, limits::TICK.0, SPAN_MAX.0)?;
        count("pacer.slow_ms", self.slow.unwrap_or(Millis(1)).0, 1, SPAN_MAX.0)?;
        count("pacer.errors_percent", self.errors_percent, 1, 100)
    }

    /// The rate after `rate` (both in whole admissions per second), and whether it was cut.
    pub(crate) fn next(&self, rate: u64, worst: Option<Load>) -> (u64, bool) {
        let next = match worst {
            Some(Load::Overloaded) => (rate / 2).max(self.floor),
            Some(Load::Busy) => rate,
            Some(Load::Ok) => rate + self.increase,
            // Nobody says anything: what was learned is forgotten step by step.
            None if rate > self.start => rate.saturating_sub(self.increase).max(self.start),
            None => (rate + self.increase).min(self.start),
        };
        let next = next.clamp(self.floor, self.ceiling);
        (next, worst == Some(Load::Overloaded) && next < rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::join::tests::{room, room_with};

    fn heeding() -> Room {
        let pacer = PacerKind::Signal(Signal::default());
        room_with(Settings { pacer, ..Settings::default() })
    }

    fn say(room: &mut Room, source: Source, load: Load) -> SignalOutcome {
        room.signal(Mark::NONE, source, load, Millis(10_000)).expect("no mark").outcome
    }

    #[test]
    fn only_a_signal_pacer_heeds() {
        assert_eq!(say(&mut room(), SITE, Load::Overloaded), SignalOutcome::Unheeded);
        assert_eq!(say(&mut heeding(), SITE, Load::Overloaded), SignalOutcome::Heard);
    }

    /// A site that speaks every second makes few events.
    #[test]
    fn the_same_word_counts_on_without_an_event() {
        let mut room = heeding();
        let mut outcomes = Vec::new();
        for tick in 0..8_u64 {
            outcomes.push(say(&mut room, SITE, Load::Busy));
            let now = Timestamp(1_000_000 + (tick + 1) * 1_000);
            room.admit(Mark::NONE, now, None).expect("no mark");
        }
        let heard = outcomes.iter().filter(|outcome| **outcome == SignalOutcome::Heard).count();
        assert_eq!(heard, 2, "{outcomes:?}");
        assert_eq!(room.ledger().worst_word(), Some(Load::Busy));
    }

    #[test]
    fn each_sources_last_word_counts_and_the_worst_of_them() {
        let mut room = heeding();
        say(&mut room, 7, Load::Ok);
        say(&mut room, 9, Load::Overloaded);
        assert_eq!(room.ledger().worst_word(), Some(Load::Overloaded));
        say(&mut room, 9, Load::Ok);
        assert_eq!(room.ledger().worst_word(), Some(Load::Ok));
    }

    #[test]
    fn a_silent_source_stops_counting() {
        let mut room = heeding();
        say(&mut room, SITE, Load::Overloaded);
        room.join(Mark::NONE, &[crate::join::tests::key(1)]).expect("no mark");
        let mut told = Vec::new();
        for at in [1_004_000, 1_009_999, 1_010_000] {
            room.admit(Mark::NONE, Timestamp(at), None).expect("no mark");
            told.push(room.ledger().worst_word());
        }
        assert_eq!(told, [Some(Load::Overloaded), Some(Load::Overloaded), None]);
        assert!(room.ledger().flow().words.is_empty(), "and is forgotten");
    }

    #[test]
    fn words_are_bounded_and_the_oldest_goes() {
        let mut room = heeding();
        for source in 0..limits::SIGNAL_SOURCES_MAX as u64 + 3 {
            let span = Millis(10_000 + source);
            room.signal(Mark::NONE, source, Load::Ok, span).expect("no mark");
        }
        let sources: Vec<_> = room.ledger().flow().words.iter().map(|word| word.source).collect();
        let last = limits::SIGNAL_SOURCES_MAX as u64 + 2;
        assert_eq!(sources, (3..=last).collect::<Vec<_>>());
    }
}
