//! How a crowd behaves on the whole: shares and spreads with their defaults. Draws nobody.

use jari_units::Millis;
use thiserror::Error;

/// The widest spread of a log-normal span: at 2, one in forty draws is fifty times the median.
const SIGMA_MAX: f64 = 2.0;
/// The longest median or mean: a day. A crowd that takes longer is a mistyped number.
const SPAN_MAX: Millis = Millis::from_secs(86_400);

/// A log-normal span: half are shorter than `median`, two thirds within a factor of e^`sigma` of it.
///
/// People's tasks last log-normally: Brown et al., "Statistical analysis of a telephone call center", JASA 100 (2005),
/// found it for service times of 140,000 calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: Millis,
    pub sigma: f64,
}

/// The crowd's habits. Shares are 0 to 1 of all people; without a source named, a value is an assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct Habits {
    /// Browsers that hold a live stream; the others poll. Assumption: mobile networks and proxies cut off a third.
    pub streams: f64,
    /// From being called or let in to the next click.
    pub reaction: Spread,
    /// People who give up at all if it takes long.
    pub impatient: f64,
    /// Mean patience of those; exponential, as Brown et al. (2005) found for most of the range of callers' patience.
    pub patience_mean: Millis,
    /// Of those who give up, the share who press "leave"; the rest just close the page.
    pub says_goodbye: f64,
    /// People whose phone locks while they wait, so that it goes silent for a while, and for how long.
    pub idles: f64,
    pub idle: Spread,
    /// People who close the page and come back, and how long they are away.
    pub closes_page: f64,
    pub away: Spread,
    /// People who press refresh, up to three times: each is a new join of the same person.
    pub refreshes: f64,
    /// People who open the room in a second tab, and how long they keep it.
    pub second_tabs: f64,
    pub second_tab: Spread,
    /// When an interruption begins, at the latest, after joining.
    pub interrupted_within: Millis,
    /// People who are called and do not go in: present, but not looking.
    pub no_shows: f64,
    /// Time inside, from the first use of the pass to the last.
    pub dwell: Spread,
    /// Between two uses of the pass while inside.
    pub touch_every: Millis,
    /// People who end their visit; the others vanish and their pass runs out.
    pub ends_visit: f64,
}

impl Default for Habits {
    fn default() -> Self {
        let spread = |secs, sigma| Spread { median: Millis::from_secs(secs), sigma };
        Habits {
            streams: 0.65,
            reaction: Spread { median: Millis(1_500), sigma: 0.6 },
            impatient: 0.25,
            patience_mean: Millis::from_mins(12),
            says_goodbye: 0.4,
            idles: 0.20,
            idle: spread(60, 0.8),
            closes_page: 0.06,
            away: spread(120, 0.7),
            refreshes: 0.15,
            second_tabs: 0.08,
            second_tab: spread(90, 0.6),
            interrupted_within: Millis::from_mins(5),
            no_shows: 0.05,
            dwell: spread(150, 0.6),
            touch_every: Millis::from_secs(15),
            ends_visit: 0.7,
        }
    }
}

/// A habit out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HabitsError {
    #[error("{0} must be a share from 0 to 1")]
    Share(&'static str),
    #[error("{0} must be a span from 1 ms to {SPAN_MAX}, its sigma 0 to {SIGMA_MAX}")]
    Span(&'static str),
}

impl Habits {
    /// The same people in a hurry: every span but reactions is shortened by `factor` (above 0, at most 1), so that an
    /// hour's sale can be watched in minutes. What share of people does what stays.
    #[must_use]
    pub fn hurried(&self, factor: f64) -> Habits {
        let factor = if factor > 0.0 { factor.min(1.0) } else { 1.0 };
        let short = |span: Millis| Millis(((span.0 as f64 * factor) as u64).max(1));
        let shorter = |spread: Spread| Spread { median: short(spread.median), ..spread };
        Habits {
            patience_mean: short(self.patience_mean),
            idle: shorter(self.idle),
            away: shorter(self.away),
            second_tab: shorter(self.second_tab),
            interrupted_within: short(self.interrupted_within),
            dwell: shorter(self.dwell),
            touch_every: short(self.touch_every),
            ..self.clone()
        }
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first habit out of its bounds.
    pub fn check(&self) -> Result<(), HabitsError> {
        let shares = [
            ("streams", self.streams),
            ("impatient", self.impatient),
            ("says_goodbye", self.says_goodbye),
            ("idles", self.idles),
            ("closes_page", self.closes_page),
            ("refreshes", self.refreshes),
            ("second_tabs", self.second_tabs),
            ("no_shows", self.no_shows),
            ("ends_visit", self.ends_visit),
        ];
        if let Some((name, _)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err(HabitsError::Share(name));
        }
        let flat = |median| Spread { median, sigma: 0.0 };
        let spans = [
            ("reaction", self.reaction),
            ("patience_mean", flat(self.patience_mean)),
            ("idle", self.idle),
            ("away", self.away),
            ("second_tab", self.second_tab),
            ("interrupted_within", flat(self.interrupted_within)),
            ("dwell", self.dwell),
            ("touch_every", flat(self.touch_every)),
        ];
        let good = |spread: &Spread| {
            (Millis(1)..=SPAN_MAX).contains(&spread.median)
                && (0.0..=SIGMA_MAX).contains(&spread.sigma)
        };
        match spans.iter().find(|(_, spread)| !good(spread)) {
            Some((name, _)) => Err(HabitsError::Span(name)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_good_and_bounds_name_the_habit() {
        assert_eq!(Habits::default().check(), Ok(()));
        let broken = |change: fn(&mut Habits)| {
            let mut habits = Habits::default();
            change(&mut habits);
            habits.check()
        };
        assert_eq!(broken(|h| h.idles = 1.01), Err(HabitsError::Share("idles")));
        assert_eq!(broken(|h| h.streams = -0.1), Err(HabitsError::Share("streams")));
        assert_eq!(broken(|h| h.no_shows = f64::NAN), Err(HabitsError::Share("no_shows")));
        assert_eq!(broken(|h| h.dwell.sigma = 2.1), Err(HabitsError::Span("dwell")));
        assert_eq!(broken(|h| h.touch_every = Millis(0)), Err(HabitsError::Span("touch_every")));
        assert_eq!(
            broken(|h| h.away.median = Millis::from_secs(86_401)),
            Err(HabitsError::Span("away"))
        );
    }

    #[test]
    fn a_hurry_shortens_spans_and_leaves_shares_and_reactions() {
        let (calm, hurried) = (Habits::default(), Habits::default().hurried(0.1));
        assert_eq!(hurried.dwell.median, Millis::from_secs(15));
        assert_eq!(hurried.touch_every, Millis(1_500));
        assert_eq!((hurried.reaction, hurried.no_shows), (calm.reaction, calm.no_shows));
        assert_eq!(hurried.check(), Ok(()));
        assert_eq!(calm.hurried(1e-9).check(), Ok(()), "no span becomes nothing");
        assert_eq!(calm.hurried(0.0), calm);
        assert_eq!(calm.hurried(7.0), calm);
    }
}
