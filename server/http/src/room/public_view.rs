//! The bytes of a room's public view, kept for a second. Knows nothing of what is in them.

use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

/// As long as caches are told to keep it.
const KEPT_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct PublicView(Mutex<Option<(Instant, Bytes)>>);

impl PublicView {
    /// The kept bytes, or new ones. Encoding is quick and done under the lock, so it happens once for all who wait.
    pub(super) fn get(&self, encode: impl FnOnce() -> Bytes) -> Bytes {
        let mut kept = self.0.lock();
        match &*kept {
            Some((at, bytes)) if at.elapsed() < KEPT_FOR => bytes.clone(),
            _ => {
                let bytes = encode();
                *kept = Some((Instant::now(), bytes.clone()));
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_encoded_once_a_second() {
        let view = PublicView::default();
        let get = |text: &'static str| view.get(|| Bytes::from_static(text.as_bytes()));
        assert_eq!((get("one"), get("two")), ("one".into(), "one".into()));
        tokio::time::advance(KEPT_FOR).await;
        assert_eq!(get("three"), "three");
    }
}
