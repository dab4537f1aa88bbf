//! One person's page as `web/room` is: it polls when told to, or streams; a call that fails is made again, a stream that falls
//! silent is doubted after 6 s and left where a call beside it is answered.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use jari_api::{PlaceStatus, PlaceView, VisitorCreated};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde::Deserialize;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::house::ROOM;
use crate::seen::Seen;

/// As in `web/room/call.js` and `stream.js`.
const CALL_LIMIT: Duration = Duration::from_secs(8);
const QUIET: Duration = Duration::from_secs(6);
const SILENCE_LIMIT: Duration = Duration::from_secs(35);
const BACKOFF: Duration = Duration::from_millis(500);

/// What all pages of a test share.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    client: Client,
    url: Url,
}

impl Net {
    pub(crate) fn new(url: Url) -> Net {
        let client = Client::builder().no_proxy().http1_only().build();
        Net { client: client.expect("an HTTP client can be made"), url }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url.join(path).expect("a path"))
    }

    /// A call that a page makes until it is answered; what came in between.
    async fn insist(&self, ask: impl Fn() -> RequestBuilder) -> (Response, Vec<String>) {
        let mut failed = Vec::new();
        loop {
            match timeout(CALL_LIMIT, ask().send()).await {
                Ok(Ok(answer)) if answer.status().is_success() => return (answer, failed),
                Ok(Ok(answer)) => failed.push(answer.status().to_string()),
                Ok(Err(error)) => failed.push(error.to_string()),
                Err(_) => failed.push("no answer in time".to_owned()),
            }
            assert!(failed.len() < 10, "{failed:?}");
            sleep(BACKOFF).await;
        }
    }
}

pub(crate) struct Page {
    net: Net,
    token: String,
    pub(crate) seen: Seen,
}

/// When to ask again; `None` where the call failed.
type Pause = Option<Duration>;

#[derive(Deserialize)]
struct Directed {
    poll_after_ms: Option<u64>,
    after_ms: Option<u64>,
}

fn directed(text: &[u8]) -> Option<Duration> {
    let told: Directed = serde_json::from_slice(text).ok()?;
    told.poll_after_ms.or(told.after_ms).map(Duration::from_millis)
}

impl Page {
    /// Joins the room.
    pub(crate) async fn join(net: Net) -> Page {
        let (answer, mut failed) = net.insist(|| net.request(Method::POST, "/v1/visitors")).await;
        let visitor: VisitorCreated = answer.json().await.expect("an identity");
        let path = format!("/v1/rooms/{ROOM}/places");
        let join = || net.request(Method::POST, &path).bearer_auth(&visitor.visitor_token);
        let (answer, more) = net.insist(join).await;
        failed.extend(more);
        let view: PlaceView = answer.json().await.expect("a place");
        let seen = Seen::of(&view);
        seen.count(|counts| {
            counts.answers += 2;
            counts.failed = failed;
        });
        Page { net, token: view.place_token.expect("a receipt"), seen }
    }

    fn of_room(&self, path: &str) -> RequestBuilder {
        let path = format!("/v1/rooms/{ROOM}/{path}");
        self.net.request(Method::GET, &path).bearer_auth(&self.token)
    }

    /// Its stream, as a plain client has it: nobody looks after it.
    pub(crate) async fn plain_stream(&self) -> Response {
        let answer = self.of_room("events").send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "a stream is refused");
        answer
    }

    /// Asks once how the place stands.
    pub(crate) async fn ask(&mut self) -> Pause {
        let asked = timeout(CALL_LIMIT, async {
            let answer = self.of_room("places/me").send().await?;
            let status = answer.status().as_u16();
            answer.bytes().await.map(|body| (status, body))
        });
        match asked.await {
            Ok(Ok((200, body))) => {
                let view: PlaceView = serde_json::from_slice(&body).expect("a place");
                self.seen.hear();
                self.seen.place(&view);
                self.seen.count(|counts| counts.answers += 1);
                let pause = view.poll_after_ms.map_or(BACKOFF, Duration::from_millis);
                if let Some(token) = view.place_token {
                    self.token = token;
                }
                Some(pause)
            }
            Ok(Ok((429 | 503, body))) if directed(&body).is_some() => {
                self.seen.hear();
                self.seen.count(|counts| counts.directed += 1);
                directed(&body)
            }
            Ok(Ok((status, _))) => self.failed(format!("a poll: {status}")),
            Ok(Err(error)) => self.failed(format!("a poll: {error}")),
            Err(_) => self.failed("a poll: no answer in time".to_owned()),
        }
    }

    fn failed(&self, what: String) -> Pause {
        self.seen.count(|counts| counts.failed.push(what));
        None
    }

    /// Polls until told to stop.
    pub(crate) async fn poll(mut self, stop: CancellationToken) -> Page {
        while !stop.is_cancelled() {
            let pause = self.ask().await.unwrap_or(BACKOFF);
            stop.run_until_cancelled(sleep(pause)).await;
        }
        self
    }

    /// Streams until told to stop.
    pub(crate) async fn stream(mut self, stop: CancellationToken) -> Page {
        while !stop.is_cancelled() {
            let pause = match self.ask().await {
                None => BACKOFF,
                Some(_) => {
                    let listened = stop.clone().run_until_cancelled_owned(self.listen()).await;
                    listened.unwrap_or_default()
                }
            };
            stop.run_until_cancelled(sleep(pause)).await;
        }
        self
    }

    /// One stream, as long as it goes; how long to wait then.
    async fn listen(&mut self) -> Duration {
        let opened = timeout(CALL_LIMIT, self.of_room("events").send()).await;
        let answer = match opened {
            Ok(Ok(answer)) if answer.status().is_success() => answer,
            Ok(Ok(answer)) => {
                let (status, body) = (answer.status(), answer.bytes().await.unwrap_or_default());
                match directed(&body) {
                    Some(_) => self.seen.count(|counts| counts.directed += 1),
                    None => _ = self.failed(format!("a stream: {status}")),
                }
                return directed(&body).unwrap_or(BACKOFF);
            }
            Ok(Err(error)) => {
                self.failed(format!("a stream: {error}"));
                return BACKOFF;
            }
            Err(_) => {
                self.failed("a stream: not opened in time".to_owned());
                return BACKOFF;
            }
        };
        self.seen.count(|counts| counts.streams += 1);
        self.read(answer).await
    }

    async fn read(&mut self, answer: Response) -> Duration {
        let mut bytes: BoxStream<'_, _> = answer.bytes_stream().boxed();
        let (mut text, mut silent) = (String::new(), Duration::ZERO);
        loop {
            let doubt = async {
                sleep(QUIET).await;
                self.ask().await
            };
            let chunk = tokio::select! {
                chunk = bytes.next() => chunk,
                answered = doubt => {
                    silent += QUIET;
                    if answered.is_some() || silent > SILENCE_LIMIT {
                        self.seen.count(|counts| counts.given_up += 1);
                        return Duration::ZERO;
                    }
                    continue;
                }
            };
            let Some(Ok(chunk)) = chunk else {
                self.seen.count(|counts| counts.broke_off += 1);
                return Duration::ZERO;
            };
            silent = Duration::ZERO;
            self.seen.hear();
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some((block, rest)) = text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                text = rest;
                if let Some(pause) = self.event(&block) {
                    return pause;
                }
            }
        }
    }

    /// Takes an event in; how long to wait where it ends the stream.
    fn event(&self, block: &str) -> Option<Duration> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let (event, data) = (field("event: ")?, field("data: ")?);
        match event {
            "place" => {
                let view: PlaceView = serde_json::from_str(data).expect("a place");
                self.seen.place(&view);
                // Goes on by polls, as the page does once it is let in.
                (view.status == PlaceStatus::Ended).then_some(BACKOFF)
            }
            "reconnect" => {
                self.seen.count(|counts| counts.sent_away += 1);
                Some(directed(data.as_bytes()).expect("a time"))
            }
            _ => None,
        }
    }
}
