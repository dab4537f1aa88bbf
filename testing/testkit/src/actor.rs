//! People and sites that use a server: each speaks HTTP as its kind does.

use jari_api::admin::{HistoryList, RoomHistory, RoomStats};
use jari_api::{EntryCreated, PlaceStatus, PlaceView, VisitorCreated};
use reqwest::{Client, Method, RequestBuilder};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::{Answer, SseStream, eventually};

async fn send(request: RequestBuilder) -> Answer {
    Answer::read(request.send().await.expect("the server answers")).await
}

/// A person with a browser: it keeps cookies and follows no redirect by itself.
#[derive(Clone, Debug)]
pub struct Visitor {
    client: Client,
    url: Url,
}

impl Visitor {
    #[must_use]
    pub fn new(url: Url) -> Self {
        let client = Client::builder()
            .cookie_store(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("an HTTP client can be made");
        Visitor { client, url }
    }

    /// Somebody with this browser of their own.
    #[must_use]
    pub fn with(client: Client, url: Url) -> Self {
        Visitor { client, url }
    }

    /// The same browser at another node, as behind a load balancer: its cookies go along.
    #[must_use]
    pub fn sent_to(&self, url: Url) -> Self {
        Visitor { client: self.client.clone(), url }
    }

    /// A request of this browser, for what no method here does.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url.join(path).expect("a test's path is one"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    /// Gets an anonymous identity, as the room page does before it joins.
    pub async fn identify(&self) -> VisitorCreated {
        send(self.request(Method::POST, "/v1/visitors")).await.expect(201).json()
    }

    /// Joins a room with the identity it has.
    pub async fn join(&self, room: &str) -> Answer {
        send(self.request(Method::POST, &format!("/v1/rooms/{room}/places"))).await
    }

    /// Joins a room with a tenant's entry token.
    pub async fn join_with(&self, room: &str, entry: &str) -> Answer {
        let request = self.request(Method::POST, &format!("/v1/rooms/{room}/places"));
        send(request.json(&json!({"entry": entry}))).await
    }

    /// Gets an identity and a place.
    ///
    /// # Panics
    /// Where it got none.
    pub async fn wait_in(&self, room: &str) -> PlaceView {
        self.identify().await;
        let answer = self.join(room).await;
        assert!(answer.status.is_success(), "{} {}", answer.status, answer.text());
        answer.json()
    }

    /// On a site's own origin: joins a room as its page below `/.jari/` does, and waits for the pass.
    ///
    /// # Panics
    /// Where it gets no place, or is not admitted within a minute.
    pub async fn enter(&self, room: &str) -> PlaceView {
        let post = |path: &str| self.request(Method::POST, path);
        send(post("/.jari/v1/visitors")).await.expect(201);
        let places = format!("/.jari/v1/rooms/{room}/places");
        let joined = send(post(&places)).await;
        assert!(joined.status.is_success(), "{} {}", joined.status, joined.text());
        eventually("the visitor is admitted", async || {
            let answer = self.get(&format!("{places}/me")).await;
            let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
            (place.status == PlaceStatus::Admitted).then_some(place)
        })
        .await
    }

    /// Asks how it stands.
    pub async fn poll(&self, room: &str) -> Answer {
        self.get(&format!("/v1/rooms/{room}/places/me")).await
    }

    pub async fn leave(&self, room: &str) -> Answer {
        send(self.request(Method::DELETE, &format!("/v1/rooms/{room}/places/me"))).await
    }

    /// Shows its pass at the gate.
    pub async fn gate(&self, room: &str) -> Answer {
        self.get(&format!("/v1/gate/{room}")).await
    }

    /// Opens the room's stream.
    ///
    /// # Panics
    /// Where it is refused.
    pub async fn events(&self, room: &str) -> SseStream {
        let request = self.request(Method::GET, &format!("/v1/rooms/{room}/events"));
        SseStream::open(request).await
    }
}

/// Somebody with an admin key.
#[derive(Clone, Debug)]
pub struct Operator {
    client: Client,
    url: Url,
    key: String,
}

impl Operator {
    #[must_use]
    pub fn new(url: Url, key: &str) -> Self {
        Operator { client: Client::new(), url, key: key.to_owned() }
    }

    /// A call with the key, for what no method here does.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = self.url.join(path).expect("a test's path is one");
        self.client.request(method, url).bearer_auth(&self.key)
    }

    pub async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        send(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &impl Serialize) -> Answer {
        send(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Answer {
        send(self.request(Method::PATCH, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        send(self.request(Method::DELETE, path)).await
    }

    /// Steers a room: `.steer("shop", "announce", json!({"text": "..."}))`.
    pub async fn steer(&self, room: &str, action: &str, body: serde_json::Value) -> Answer {
        self.post(&format!("/v1/admin/rooms/{room}/{action}"), &body).await
    }

    /// Changes a room's settings.
    ///
    /// # Panics
    /// Where they are refused.
    pub async fn set(&self, room: &str, settings: serde_json::Value) {
        let path = format!("/v1/admin/rooms/{room}");
        self.patch(&path, &json!({"settings": settings})).await.expect(200);
    }

    pub async fn stats(&self, room: &str) -> RoomStats {
        self.get(&format!("/v1/admin/rooms/{room}/stats")).await.expect(200).json()
    }

    /// Opens the stream of all rooms.
    ///
    /// # Panics
    /// Where it is refused.
    pub async fn watch(&self) -> SseStream {
        SseStream::open(self.request(Method::GET, "/v1/admin/stats/events")).await
    }

    /// One room's past, a step a second; none until it was looked at first.
    ///
    /// # Panics
    /// Where it is refused.
    pub async fn past(&self, room: &str) -> Option<RoomHistory> {
        let path = format!("/v1/admin/stats/history?room={room}");
        let told: HistoryList = self.get(&path).await.expect(200).json();
        told.rooms.into_iter().next()
    }
}

/// A tenant's server.
#[derive(Clone, Debug)]
pub struct Integrator {
    client: Client,
    url: Url,
    key: String,
}

impl Integrator {
    #[must_use]
    pub fn new(url: Url, key: &str) -> Self {
        Integrator { client: Client::new(), url, key: key.to_owned() }
    }

    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        let url = self.url.join(path).expect("a test's path is one");
        send(self.client.post(url).bearer_auth(&self.key).json(body)).await
    }

    /// Gets an entry token for one of its users.
    ///
    /// # Panics
    /// Where it is refused.
    pub async fn entry(&self, room: &str, subject: &str) -> String {
        let path = format!("/v1/rooms/{room}/entries");
        let answer = self.post(&path, &json!({"subject": subject})).await.expect(201);
        answer.json::<EntryCreated>().entry_token
    }

    /// Admits by hand: `{"count": 10}` or `{"subjects": [...]}`.
    pub async fn admit(&self, room: &str, whom: serde_json::Value) -> Answer {
        self.post(&format!("/v1/rooms/{room}/admit"), &whom).await
    }
}
