//! One of the example sites, started as its README says, and people who go through the room to it and back.

use jari_api::{PlaceStatus, PlaceView};
use reqwest::Method;
use url::Url;

use crate::process::{Process, ProcessBuilder};
use crate::{Answer, TestApp, Visitor, eventually};

/// The page that people want: below the site's root, and with a query of its own.
const WANTED: &str = "/tickets?day=1&row=2";
/// People on their way at once.
const AT_ONCE: u64 = 20;
/// How often the sites touch passes here.
const TOUCH_EVERY_MS: &str = "200";

/// A site at work; ended when it is dropped.
#[derive(Debug)]
pub struct ExampleSite {
    process: Process,
    url: Url,
}

/// Somebody who was let in and went to the site.
#[derive(Clone, Debug)]
pub struct Guest {
    pub browser: Visitor,
    /// The address that they were sent to, with the token in it.
    pub landing: Url,
    /// The token of the pass itself, which their browser holds.
    pub pass_token: String,
}

impl ExampleSite {
    /// Starts the site of `command` before the room `room` of `app`, with an API key of the room's tenant.
    ///
    /// # Panics
    /// Where it does not say where it listens.
    pub async fn start(command: ProcessBuilder, app: &TestApp, room: &str, key: &str) -> Self {
        let jari = app.url();
        let process = command
            .env("JARI_URL", jari.as_str().trim_end_matches('/'))
            .env("JARI_KEY", key)
            .env("JARI_ROOM", room)
            .env("PORT", "0")
            .env("TOUCH_EVERY_MS", TOUCH_EVERY_MS)
            .spawn();
        let url = eventually("the site listens", async || {
            let said = process.output();
            let words = said.lines().find_map(|line| line.strip_prefix("listening on "));
            words.and_then(|url| url.parse().ok())
        });
        let url = url.await;
        ExampleSite { process, url }
    }

    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// What it wrote so far.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// The address of the page that people want.
    ///
    /// # Panics
    /// Never: both parts are addresses.
    #[must_use]
    pub fn wanted(&self) -> Url {
        self.url.join(WANTED).expect("a path")
    }

    /// One person's way: to the site, from there to the room, through the line, and back with a token.
    ///
    /// # Panics
    /// Where anything on the way is not as it should be.
    pub async fn visit(&self, app: &TestApp, room: &str) -> Guest {
        let (browser, wanted) = (app.visitor(), self.wanted());
        let sent = browser.get(wanted.as_str()).await.expect(303);
        let page = location(&sent);
        let own = app.url().join(&format!("/rooms/{room}")).expect("a path");
        assert!(page.as_str().starts_with(own.as_str()), "{page}");
        browser.get(page.as_str()).await.expect(200);
        browser.join(room).await;
        let place = eventually("they are admitted", async || {
            let place = browser.poll(room).await;
            let place = (place.status == 200).then(|| place.json::<PlaceView>())?;
            (place.status == PlaceStatus::Admitted).then_some(place)
        })
        .await;
        let pass = place.pass.expect("their pass");
        let landing = location(&browser.get(&pass.target_url).await.expect(303));
        let back = format!("{wanted}&jari_pass=");
        assert!(landing.as_str().starts_with(&back), "{landing} is not {back}");
        let landed = browser.get(landing.as_str()).await.expect(303);
        assert_eq!(location(&landed), wanted, "the token is out of the address");
        assert!(is_inside(&browser.get(wanted.as_str()).await), "{}", self.output());
        // Whatever else of the site's own the browser has, before and behind it on the line.
        let session = landed.header("set-cookie").and_then(|set| set.split(';').next());
        let cookies = format!("name=홍길동; {}; b=é", session.expect("a session"));
        let beside = browser.request(Method::GET, wanted.as_str()).header("cookie", cookies);
        let beside = beside.send().await.expect("the site answers");
        assert!(is_inside(&Answer::read(beside).await), "{}", self.output());
        Guest { browser, landing, pass_token: pass.token }
    }

    /// A crowd goes through: everybody registers, waits, is admitted, lands, is touched, and is done.
    ///
    /// # Panics
    /// Where anybody does not get in, or gets in twice.
    pub async fn crowd(&self, app: &TestApp, room: &str, people: u64) {
        let mut guests = Vec::new();
        for _ in 0..people.div_ceil(AT_ONCE) {
            let visits = (0..AT_ONCE).map(|_| self.visit(app, room));
            guests.extend(futures_util::future::join_all(visits).await);
        }
        let all = guests.len() as u64;
        let stats = app.operator().stats(room).await;
        assert_eq!((stats.claimed, stats.claimed_total), (all, all), "{}", self.output());
        for guest in guests.iter().step_by(7) {
            self.refuses(app, guest.landing.as_str()).await;
            self.refuses(app, &format!("{}&jari_pass={}", self.wanted(), guest.pass_token)).await;
            assert!(is_inside(&guest.browser.get(self.wanted().as_str()).await), "they stay");
            // The owner's own bookmark of it does no harm.
            let again = guest.browser.get(guest.landing.as_str()).await.expect(303);
            assert_eq!(location(&again), self.wanted());
        }
        let touched = r#"jari_site_passes_total{call="touch",outcome="live"}"#;
        eventually("passes are touched", async || {
            let metrics = app.ops_url().join("/metrics").expect("a path");
            let page = app.visitor().get(metrics.as_str()).await;
            page.text().contains(touched).then_some(())
        })
        .await;
        for guest in &guests {
            self.end(guest).await;
        }
        eventually("everybody's pass has ended", async || {
            (app.operator().stats(room).await.live == 0).then_some(())
        })
        .await;
    }

    /// Somebody else opens the address with the token in it: they get no session by it.
    ///
    /// # Panics
    /// Where they do.
    pub async fn refuses(&self, app: &TestApp, landing: &str) {
        let stranger = app.visitor();
        let answer = stranger.get(landing).await.expect(303);
        assert!(answer.header("set-cookie").is_none(), "a session for {landing}");
        assert_eq!(location(&answer).host(), app.url().host());
        assert!(location(&answer).path().starts_with("/rooms/"), "{:?}", answer.headers);
        let inside = stranger.get(self.wanted().as_str()).await;
        assert!(!is_inside(&inside), "{}", inside.text());
    }

    /// Says that they are done, and shows that they are out.
    ///
    /// # Panics
    /// Where they are not.
    pub async fn end(&self, guest: &Guest) {
        let done = self.url.join("/done").expect("a path");
        let answer = guest.browser.request(Method::POST, done.as_str()).send().await;
        let answer = answer.expect("the site answers").text().await.expect("a page");
        assert!(answer.contains("Thank you"), "{answer}");
        assert!(!is_inside(&guest.browser.get(self.wanted().as_str()).await));
    }
}

/// Whether a page is the site's own.
#[must_use]
pub fn is_inside(page: &Answer) -> bool {
    page.status == 200 && page.text().contains("You are inside")
}

/// Where an answer leads.
///
/// # Panics
/// Where it leads nowhere.
#[must_use]
pub fn location(answer: &Answer) -> Url {
    let text = answer.header("location").expect("it leads somewhere");
    Url::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
