//! Waiting for a line store that is away, for what a first start cannot do without it. All else a node does meanwhile.

use std::fmt::Display;
use std::time::Duration;

use jari_http::Starting;

/// Between two questions.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// It is said again after so many of them: who starts a node looks at its last lines.
const SAY_AGAIN_AFTER: u32 = 30;

/// Asks until the answer is not that the store is away. `what` says what is waited for.
pub(crate) async fn until_it_answers<T, E: Display, Answer: Future<Output = Result<T, E>>>(
    starting: &Starting,
    what: &str,
    is_away: impl Fn(&E) -> bool,
    ask: impl Fn() -> Answer,
) -> Result<T, E> {
    let mut tried = 0_u32;
    loop {
        match ask().await {
            Err(error) if is_away(&error) => {
                starting.waits_for(format!("{what} waits for the line store: {error}"));
                if tried.is_multiple_of(SAY_AGAIN_AFTER) {
                    tracing::warn!(%error, "{what} waits for the line store: {error}");
                }
            }
            answer => {
                starting.goes_on();
                return answer;
            }
        }
        tried = tried.wrapping_add(1);
        tokio::time::sleep(ASK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use jari_ports::StoreError;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_waiting_mends_is_waited_for_and_nothing_else() {
        let (starting, asked) = (Starting::default(), AtomicU32::new(0));
        let answer = until_it_answers(&starting, "a test", StoreError::is_away, || {
            let answer = match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Err(StoreError::Unavailable("refused".into())),
                1 => Err(StoreError::Silent("nothing".into())),
                _ => Ok(7),
            };
            std::future::ready(answer)
        });
        assert_eq!(answer.await, Ok(7));
        let group: StoreError = StoreError::UnknownGroup("g".parse().expect("an id"));
        let refused = until_it_answers(&starting, "a test", StoreError::is_away, || {
            std::future::ready(Err::<(), _>(group.clone()))
        });
        assert_eq!(refused.await, Err(group.clone()));
    }
}
