//! A whole server for tests, in this process or another, and typed actors that use it as people and sites do.
//!
//! Every helper panics where a test's premise does not hold: a test that cannot begin has failed. Nothing here waits by
//! sleeping: listeners are bound before their address is handed out, and changes are waited for by asking.

mod actor;
mod answer;
mod app;
mod clock;
mod collector;
mod example_site;
mod fake_site;
mod leases;
mod process;
pub mod spellings;
mod sse;

pub use actor::{Integrator, Operator, Visitor};
pub use answer::Answer;
pub use app::{TestApp, TestAppBuilder};
pub use clock::TestClock;
pub use collector::{FakeCollector, ToldSpan};
pub use example_site::{ExampleSite, Guest, is_inside, location};
pub use fake_site::{FakeSite, SeenRequest};
pub use leases::EveryRoom;
pub use process::{Process, ProcessBuilder};
pub use sse::{SseEvent, SseStream};

use std::time::Duration;

/// Longest that anything under test may take to become true.
const EVENTUALLY: Duration = Duration::from_secs(60);
/// How often it is asked for meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Asks until the answer is `Some`, and gives it.
///
/// # Panics
/// Where it is not within a minute; `what` says what was waited for.
pub async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    match tokio::time::timeout(EVENTUALLY, asking).await {
        Ok(answer) => answer,
        Err(_) => panic!("within {EVENTUALLY:?} it did not become true that {what}"),
    }
}
