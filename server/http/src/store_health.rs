//! Whether the store answers, and since when not: all of it, and what holds one room, for of a Cluster one shard may be gone.
//! Measures only; who passes then is the gate's decision.

use std::time::Duration;

use jari_ports::StoreError;
use parking_lot::Mutex;
use tokio::time::Instant;

/// What is known of one room counts for so long after its last call: then it may be over. Above what a watch takes to ask
/// once more, with a call that is given up.
const KNOWN_FOR: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct StoreHealth(Mutex<Since>);

#[derive(Clone, Copy, Debug, Default)]
struct Since {
    /// The first call of those in a row that brought no answer.
    down: Option<Instant>,
    /// The first call of those in a row that were refused, with no silent one among them.
    refusing: Option<Instant>,
    /// The last call, however it went.
    noted: Option<Instant>,
}

impl StoreHealth {
    /// Notes how a call went. Any refusal but [`is_away`](StoreError::is_away) is an answer.
    pub fn note<T>(&self, answer: &Result<T, StoreError>) {
        let now = Instant::now();
        let mut since = self.0.lock();
        match answer {
            Err(StoreError::Unavailable(_)) => {
                since.down.get_or_insert(now);
                since.refusing.get_or_insert(now);
            }
            Err(StoreError::Silent(_)) => {
                since.down.get_or_insert(now);
                since.refusing = None;
            }
            _ => *since = Since::default(),
        }
        since.noted = Some(now);
    }

    /// For how long no call has been answered; `None` where the last one was.
    #[must_use]
    pub fn down_for(&self) -> Option<Duration> {
        self.0.lock().down.map(|since| since.elapsed())
    }

    /// For how long every call has been refused. A store that is slow or hung says nothing, and refuses nobody.
    #[must_use]
    pub fn refusing_for(&self) -> Option<Duration> {
        self.0.lock().refusing.map(|since| since.elapsed())
    }

    /// Whether a call was made so lately that what is known of it is so still.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.lock().noted.is_some_and(|at| at.elapsed() < KNOWN_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused() -> Result<(), StoreError> {
        Err(StoreError::Unavailable("connection refused".into()))
    }

    fn silent() -> Result<(), StoreError> {
        Err(StoreError::Silent("no answer".into()))
    }

    #[tokio::test(start_paused = true)]
    async fn down_counts_from_the_first_failure_to_the_first_answer() {
        let health = StoreHealth::default();
        health.note(&refused());
        tokio::time::advance(3 * SECOND).await;
        health.note(&refused());
        assert_eq!(health.down_for(), Some(3 * SECOND));
        assert_eq!(health.refusing_for(), Some(3 * SECOND));
        let unknown: Result<(), _> = Err(StoreError::UnknownRoom("a".parse().expect("an id")));
        health.note(&unknown);
        assert_eq!((health.down_for(), health.refusing_for()), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_heard_long_ago_is_not_known() {
        let health = StoreHealth::default();
        assert!(!health.is_known());
        health.note(&refused());
        tokio::time::advance(4 * SECOND).await;
        assert!(health.is_known());
        tokio::time::advance(SECOND).await;
        assert!(!health.is_known());
        health.note(&Ok(()));
        assert!(health.is_known());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_store_is_down_and_refuses_nobody() {
        let health = StoreHealth::default();
        health.note(&silent());
        tokio::time::advance(60 * SECOND).await;
        health.note(&silent());
        assert_eq!((health.down_for(), health.refusing_for()), (Some(60 * SECOND), None));
        // It has died since: that counts from now on, and one slow call begins it anew.
        health.note(&refused());
        tokio::time::advance(4 * SECOND).await;
        assert_eq!(health.refusing_for(), Some(4 * SECOND));
        health.note(&silent());
        health.note(&refused());
        assert_eq!(health.refusing_for(), Some(Duration::ZERO));
        assert_eq!(health.down_for(), Some(64 * SECOND));
    }
}
