//! A site that works on each of its pages for a while, and counts how many it works on at once. It bounds nothing itself:
//! that is what stands before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, sleep};

/// A page is worked on for no longer than this, in milliseconds: less than a load waits for an answer.
pub(crate) const HOLD_MAX_MS: u64 = 8_000;

/// What the site has counted, as `/held` tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Pages that are worked on now, and were at once at the most.
    pub(crate) now: u64,
    pub(crate) most: u64,
    /// All that ever came.
    pub(crate) pages: u64,
}

#[derive(Debug, Default)]
struct Work {
    now: AtomicU64,
    most: AtomicU64,
    pages: AtomicU64,
}

/// A page that is being worked on, also where its reader has gone.
struct Page(Arc<Work>);

impl Page {
    fn begin(work: Arc<Work>) -> Page {
        work.pages.fetch_add(1, Ordering::SeqCst);
        let now = work.now.fetch_add(1, Ordering::SeqCst) + 1;
        work.most.fetch_max(now, Ordering::SeqCst);
        Page(work)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `/tickets/held/{ms}`, and `/held` with what was counted.
pub(crate) fn routes() -> Router {
    Router::new()
        .route("/tickets/held/{ms}", get(hold))
        .route("/held", get(tell))
        .with_state(Arc::new(Work::default()))
}

async fn hold(State(work): State<Arc<Work>>, Path(ms): Path<u64>) -> (StatusCode, &'static str) {
    if ms > HOLD_MAX_MS {
        return (StatusCode::BAD_REQUEST, "too long");
    }
    let _page = Page::begin(work);
    sleep(Duration::from_millis(ms)).await;
    (StatusCode::OK, "held")
}

async fn tell(State(work): State<Arc<Work>>) -> Json<Held> {
    let of = |count: &AtomicU64| count.load(Ordering::SeqCst);
    Json(Held { now: of(&work.now), most: of(&work.most), pages: of(&work.pages) })
}

#[cfg(test)]
mod tests {
    use http::Method;
    use tokio::net::TcpListener;

    use super::*;
    use crate::connection::Connection;
    use crate::dial::Sources;
    use crate::target::Target;

    #[tokio::test]
    async fn pages_at_once_are_counted_until_they_are_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let target = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes()).await });
        let ask = async |path: &str| {
            let mut connection =
                Connection::open(target, Sources::default(), 0).await.expect("it listens");
            connection.ask(Method::GET, path, None).await.expect("an answer")
        };
        let hold = || ask("/tickets/held/300");
        let (one, two, three) = tokio::join!(hold(), hold(), hold());
        assert!([one, two, three].iter().all(|(status, _)| *status == StatusCode::OK));
        let held = ask("/held").await.1;
        let held: Held = serde_json::from_slice(&held).expect("JSON");
        assert_eq!(held, Held { now: 0, most: 3, pages: 3 });
        assert_eq!(ask("/tickets/held/9000").await.0, StatusCode::BAD_REQUEST);
    }
}
