//! Whether the store answers, and since when not. Measures only; who passes then is the gate's decision.

use std::time::Duration;

use jari_ports::StoreError;
use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub struct StoreHealth {
    down_since: Mutex<Option<Instant>>,
}

impl StoreHealth {
    /// Notes how a call went. Only "unavailable" is down: any other refusal is an answer.
    pub fn note<T>(&self, answer: &Result<T, StoreError>) {
        let down = matches!(answer, Err(StoreError::Unavailable(_)));
        let mut since = self.down_since.lock();
        if !down {
            *since = None;
        } else if since.is_none() {
            *since = Some(Instant::now());
        }
    }

    /// For how long every call has found the store unavailable; `None` where the last one was answered.
    #[must_use]
    pub fn down_for(&self) -> Option<Duration> {
        self.down_since.lock().map(|since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn down_counts_from_the_first_failure_to_the_first_answer() {
        let health = StoreHealth::default();
        let failed: Result<(), _> = Err(StoreError::Unavailable("disk full".into()));
        health.note(&failed);
        tokio::time::advance(Duration::from_secs(3)).await;
        health.note(&failed);
        assert_eq!(health.down_for(), Some(Duration::from_secs(3)));
        let unknown: Result<(), _> = Err(StoreError::UnknownRoom("a".parse().expect("an id")));
        health.note(&unknown);
        assert_eq!(health.down_for(), None);
    }
}
