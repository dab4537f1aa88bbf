//! What visitors saw while something was wrong: the codes they were told, and the longest that anybody went unserved.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// What a visitor asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Join,
    Poll,
    Gate,
    Leave,
}

impl Call {
    pub(crate) const ALL: [Call; 4] = [Call::Join, Call::Poll, Call::Gate, Call::Leave];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Call::Join => "join",
            Call::Poll => "poll",
            Call::Gate => "gate",
            Call::Leave => "leave",
        }
    }
}

/// What was told, from the fault's begin on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub(crate) struct Told {
    /// Status and code, or "no answer", and how often; served calls count as "served".
    pub(crate) codes: BTreeMap<Call, BTreeMap<String, u64>>,
    /// From the first call that went unserved to the answer, milliseconds.
    pub(crate) longest_ms: BTreeMap<Call, u64>,
}

pub(crate) const SERVED: &str = "served";
pub(crate) const NO_ANSWER: &str = "no answer";

/// Counts only while something is wrong; what went unserved before it began is a fault of the run and counts too.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    told: Mutex<Option<Told>>,
    /// Whose calls go unserved, by the number of the person, and since when.
    unserved: Mutex<BTreeMap<(usize, Call), Instant>>,
}

impl Seen {
    /// The fault begins.
    pub(crate) fn begin(&self) {
        *self.told.lock() = Some(Told::default());
    }

    /// All is well again; what was told in between.
    pub(crate) fn end(&self) -> Told {
        self.told.lock().take().unwrap_or_default()
    }

    pub(crate) fn served(&self, who: usize, call: Call) {
        let since = self.unserved.lock().remove(&(who, call));
        self.note(call, SERVED, since.map_or(Duration::ZERO, |since| since.elapsed()));
    }

    /// `sent` is when the call was sent.
    pub(crate) fn refused(&self, who: usize, call: Call, code: &str, sent: Instant) {
        let since = *self.unserved.lock().entry((who, call)).or_insert(sent);
        self.note(call, code, since.elapsed());
    }

    /// Somebody wants nothing any more.
    pub(crate) fn gone(&self, who: usize) {
        self.unserved.lock().retain(|(of, _), _| *of != who);
    }

    /// How many calls go unserved now.
    pub(crate) fn unserved(&self) -> usize {
        self.unserved.lock().len()
    }

    fn note(&self, call: Call, code: &str, waited: Duration) {
        let mut told = self.told.lock();
        let Some(told) = told.as_mut() else { return };
        *told.codes.entry(call).or_default().entry(code.to_owned()).or_default() += 1;
        let ms = u64::try_from(waited.as_millis()).expect("a run takes no ages");
        let longest = told.longest_ms.entry(call).or_default();
        *longest = ms.max(*longest);
    }
}

impl Told {
    /// For the table: what was told beside what was asked for, kind by kind.
    pub(crate) fn codes_text(&self) -> String {
        let mut parts = Vec::new();
        for call in Call::ALL {
            let Some(codes) = self.codes.get(&call) else { continue };
            let refused = codes.iter().filter(|(code, _)| *code != SERVED);
            let listed: Vec<_> = refused.map(|(code, count)| format!("{code} ({count})")).collect();
            if !listed.is_empty() {
                parts.push(format!("{}: {}", call.name(), listed.join(", ")));
            }
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
    }

    pub(crate) fn longest_text(&self) -> String {
        let seconds = |call: &Call| self.longest_ms.get(call).map(|ms| *ms as f64 / 1_000.0);
        let told = Call::ALL.iter().filter_map(|call| Some((call.name(), seconds(call)?)));
        let told = told.filter(|(_, seconds)| *seconds >= 0.05);
        let parts: Vec<_> = told.map(|(name, s)| format!("{name} {s:.1} s")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_is_from_the_first_refusal_to_the_answer() {
        let seen = Seen::default();
        seen.begin();
        for _ in 0..3 {
            seen.refused(7, Call::Poll, "503 recovering", Instant::now());
            tokio::time::advance(Duration::from_secs(4)).await;
        }
        seen.served(8, Call::Poll);
        assert_eq!(seen.unserved(), 1);
        seen.served(7, Call::Poll);
        seen.served(7, Call::Poll);
        assert_eq!(seen.unserved(), 0);
        let told = seen.end();
        assert_eq!(told.codes_text(), "poll: 503 recovering (3)");
        assert_eq!(told.longest_text(), "poll 12.0 s");
        seen.served(7, Call::Poll);
        assert_eq!(seen.end(), Told::default(), "before and after nothing is counted");
    }
}
