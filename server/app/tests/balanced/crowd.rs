//! A crowd of pages, half of them on streams, and what must hold of all of them at the end.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use jari_api::PlaceStatus;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::house::House;
use crate::page::{Net, Page};
use crate::seen::{Counts, Seen};

/// Joins at once.
const AT_ONCE: usize = 16;
/// Until a call that failed is made again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long anything may take to become true on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Crowd {
    net: Net,
    stop: CancellationToken,
    pages: JoinSet<Page>,
    seen: Vec<Seen>,
}

impl Crowd {
    /// Has so many join one after the other, and starts their pages: every second one streams.
    pub(crate) async fn gather(house: &House, people: usize) -> Crowd {
        let net = Net::new(house.url());
        let joining = stream::iter(0..people).map(|_| Page::join(net.clone()));
        let joined: Vec<Page> = joining.buffered(AT_ONCE).collect().await;
        let mut crowd =
            Crowd { net, stop: CancellationToken::new(), pages: JoinSet::new(), seen: Vec::new() };
        for page in joined {
            crowd.add(page);
        }
        crowd
            .wait_until("everybody has begun", |seen| {
                let Counts { answers, streams, .. } = seen.counts();
                answers > 3 || streams > 0
            })
            .await;
        crowd
    }

    fn add(&mut self, page: Page) {
        self.seen.push(page.seen.clone());
        let stop = self.stop.clone();
        if self.seen.len().is_multiple_of(2) {
            self.pages.spawn(page.stream(stop));
        } else {
            self.pages.spawn(page.poll(stop));
        }
    }

    /// One more comes.
    pub(crate) async fn one_more(&mut self) {
        let page = Page::join(self.net.clone()).await;
        self.add(page);
    }

    pub(crate) async fn wait_until(&self, what: &str, holds: impl Fn(&Seen) -> bool) {
        let began = Instant::now();
        while !self.seen.iter().all(&holds) {
            assert!(began.elapsed() < PATIENCE, "{what}: not for {:?}", self.counts());
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.seen.iter().for_each(|seen| all.add(&seen.counts()));
        all
    }

    /// The longest time that anybody heard nothing since then.
    pub(crate) fn silence(&self, since: Instant) -> Duration {
        self.seen.iter().map(|seen| seen.silence(since)).max().unwrap_or_default()
    }

    /// Stops all pages; then everybody asks once more, and the line must be as it was: nobody without their number, whoever
    /// is in before whoever waits, and positions in the order of numbers.
    pub(crate) async fn check(mut self) -> Counts {
        let counts = self.counts();
        self.stop.cancel();
        let mut pages = Vec::new();
        while let Some(page) = self.pages.join_next().await {
            pages.push(page.expect("a page does not panic"));
        }
        let asked = stream::iter(&mut pages).map(async |page| {
            let (began, before) = (Instant::now(), page.seen.counts().answers);
            loop {
                let pause = page.ask().await;
                if page.seen.counts().answers > before {
                    return;
                }
                assert!(began.elapsed() < PATIENCE, "{:?}", page.seen);
                sleep(pause.unwrap_or(AGAIN)).await;
            }
        });
        asked.buffered(AT_ONCE).collect::<Vec<()>>().await;
        let wrong: Vec<_> = pages.iter().flat_map(|page| page.seen.wrong()).collect();
        assert_eq!(wrong, Vec::<String>::new());
        pages.sort_by_key(|page| page.seen.seq());
        let numbers: Vec<u64> = pages.iter().map(|page| page.seen.seq()).collect();
        let given: Vec<u64> = (1..=pages.len() as u64).collect();
        assert_eq!(numbers, given, "one number each, and none twice or lost");
        let inside = pages.iter().filter(|page| page.seen.admitted()).count();
        for (nth, page) in pages.iter().enumerate() {
            let wanted = if nth < inside { PlaceStatus::Admitted } else { PlaceStatus::Waiting };
            let position = (nth >= inside).then(|| (nth - inside + 1) as u64);
            assert_eq!(page.seen.now(), (wanted, position), "number {}", nth + 1);
        }
        counts
    }
}
