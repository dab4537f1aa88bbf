//! A protected site whose room queues by itself: people walk in while it is quiet, a burst never brings more of them inside
//! than the room says, and a site that suffers slows the line down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use jari_api::{LoadLevel, PlaceStatus, PlaceView};
use jari_testkit::{FakeSite, TestApp, eventually};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, Method, StatusCode};
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use crate::{ROOM, ask, browser, go};

/// People in the burst, and how many of them call at once: a test has a thousand open files.
const CROWD: usize = 5_000;
const AT_ONCE: usize = 100;
/// What the site behind can take.
const CAPACITY: usize = 60;
/// How long each of them keeps the site busy.
const HOLD: &str = "/tickets/hold?60";
/// From the threshold to the line.
const QUEUES_WITHIN: Duration = Duration::from_secs(2);

async fn auto_stage(settings: serde_json::Value) -> (FakeSite, TestApp) {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("http.join_limit_per_minute", 0)
        .start()
        .await;
    app.operator().set(ROOM, json!({"mode": "auto"})).await;
    app.operator().set(ROOM, settings).await;
    (site, app)
}

#[tokio::test]
async fn a_newcomer_is_at_the_site_with_the_first_request() {
    let (site, app) = auto_stage(json!({})).await;
    let visitor = browser(&app);
    let page = go(&visitor, "/tickets/7").await.expect(200);
    assert_eq!(page.text(), "the site's /tickets/7");
    let seen = site.last_seen();
    assert_eq!(seen.header("jari-room").as_deref(), Some(ROOM));
    let seq = seen.header("jari-seq").expect("whose pass it is");
    let _ = go(&visitor, "/tickets/8").await.expect(200);
    assert_eq!(site.last_seen().header("jari-seq"), Some(seq), "the same person");
    assert_eq!(app.operator().stats(ROOM).await.joined_total, 1);
    // A program that shows nothing is let in as well, and gets the same cookies.
    let program =
        ask(browser(&app).request(Method::POST, "/tickets/9").body("x")).await.expect(200);
    let cookies = format!("{:?}", program.headers.get_all("set-cookie").iter().collect::<Vec<_>>());
    assert!(cookies.contains("jari_pass_site="), "{cookies}");
}

/// One of a crowd: a browser without a connection of its own.
struct Person<'a> {
    client: &'a Client,
    site: Url,
    cookies: BTreeMap<String, String>,
}

impl Person<'_> {
    async fn call(&mut self, method: Method, path: &str) -> (StatusCode, Vec<u8>) {
        let url = self.site.join(path).expect("a path");
        let jar: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.client.request(method, url).header("accept", "text/html");
        let answer = request.header(COOKIE, jar.join("; ")).send().await.expect("an answer");
        for cookie in answer.headers().get_all(SET_COOKIE) {
            let pair = cookie.to_str().expect("text").split(';').next().expect("a pair");
            let (name, value) = pair.split_once('=').expect("a pair");
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let status = answer.status();
        (status, answer.bytes().await.expect("a body").to_vec())
    }

    /// Waits in the room, for a while; whether the turn came.
    async fn wait(&mut self, until: Instant) -> bool {
        self.call(Method::POST, "/.jari/v1/visitors").await;
        let (status, _) = self.call(Method::POST, "/.jari/v1/rooms/site/places").await;
        assert!(status.is_success(), "{status}");
        while Instant::now() < until {
            let (status, body) = self.call(Method::GET, "/.jari/v1/rooms/site/places/me").await;
            let place = (status == 200).then(|| serde_json::from_slice::<PlaceView>(&body));
            if let Some(place) = place.transpose().expect("a place")
                && place.status == PlaceStatus::Admitted
            {
                return true;
            }
            // As pages ask, and not in a hot loop: five thousand do.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        false
    }
}

/// What a burst came to.
#[derive(Default)]
struct Burst {
    walked_in: AtomicUsize,
    sent_to_room: AtomicUsize,
    went_in_later: AtomicUsize,
}

/// 5,000 people at a quiet site: it queues within two seconds, and the site never has more to do at once than the room's
/// capacity says, by those who walked in and those whose turn came.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_5000_queues_in_time_and_never_exceeds_what_the_site_takes() {
    let settings = json!({
        "capacity": CAPACITY, "rate_per_s": 40.0, "burst": 40, "queue_at_arrivals_per_s": 30,
        "pass_ttl_ms": 5_000, "claim_window_ms": 5_000,
    });
    let (site, app) = auto_stage(settings).await;
    let client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(AT_ONCE)
        .build()
        .expect("a client");
    let (burst, began) = (Arc::new(Burst::default()), Instant::now());
    let watch = async {
        let queueing = eventually("it queues", async || {
            let stats = app.operator().stats(ROOM).await;
            assert!(stats.live <= CAPACITY as u64, "{} inside", stats.live);
            stats.queueing
        });
        (queueing.await, began.elapsed())
    };
    let until = began + Duration::from_secs(12);
    let crowd = stream::iter(0..CROWD).for_each_concurrent(AT_ONCE, |number| {
        let (burst, client, url) = (burst.clone(), &client, app.site_url());
        async move {
            let mut person = Person { client, site: url, cookies: BTreeMap::new() };
            let (status, body) = person.call(Method::GET, HOLD).await;
            match status {
                StatusCode::OK => _ = burst.walked_in.fetch_add(1, Ordering::Relaxed),
                StatusCode::SEE_OTHER => {
                    burst.sent_to_room.fetch_add(1, Ordering::Relaxed);
                    // Enough of them to fill the room again and again.
                    if number % 100 == 0 && person.wait(until).await {
                        let (status, _) = person.call(Method::GET, HOLD).await;
                        assert_eq!(status, StatusCode::OK);
                        burst.went_in_later.fetch_add(1, Ordering::Relaxed);
                    }
                }
                other => panic!("{other} {}", String::from_utf8_lossy(&body)),
            }
        }
    });
    let ((queueing, within), ()) = tokio::join!(watch, crowd);
    let counts = [&burst.walked_in, &burst.sent_to_room, &burst.went_in_later]
        .map(|count| count.load(Ordering::Relaxed));
    let [walked_in, sent_to_room, went_in_later] = counts;
    println!("{counts:?}, {} at once at most, {queueing:?} within {within:?}", site.most_at_once());
    assert_eq!(walked_in + sent_to_room, CROWD);
    assert!((1..=CAPACITY).contains(&walked_in), "{walked_in} walked in");
    assert!(went_in_later > 0, "the line moves");
    assert!(within < QUEUES_WITHIN, "{within:?}");
    assert!(site.most_at_once() <= CAPACITY, "{} at once", site.most_at_once());
    let stats = app.operator().stats(ROOM).await;
    assert!(stats.live <= CAPACITY as u64, "{} inside", stats.live);
}

/// The proxy sees by itself that its site suffers, by time and by errors.
#[tokio::test]
async fn a_slow_or_failing_site_slows_the_line_down() {
    for path in ["/tickets/hold?250", "/tickets/fail"] {
        let pacer =
            json!({"kind": "signal", "start": 40, "floor": 1, "settle_ms": 1_000, "slow_ms": 100});
        let (_site, app) = auto_stage(json!({"pacer": pacer})).await;
        let visitor = browser(&app);
        // The first of them walks in; the others have its pass.
        _ = go(&visitor, path).await;
        join_all((0..30).map(|_| go(&visitor, path))).await;
        eventually("it is known and heeded", async || {
            let stats = app.operator().stats(ROOM).await;
            let known = stats.site_load == Some(LoadLevel::Overloaded);
            (known && stats.rate_per_s <= 20.0).then_some(())
        })
        .await;
    }
}

/// Whoever asks for a site in mode `off` is let through, and the site is told why.
#[tokio::test]
async fn off_passes_everybody_on() {
    let (site, app) = auto_stage(json!({"mode": "off"})).await;
    let _ = go(&browser(&app), "/tickets/7").await.expect(200);
    let seen = site.last_seen();
    assert_eq!(seen.header("jari-unchecked").as_deref(), Some("off"));
    assert_eq!(seen.header("jari-seq"), None);
}
