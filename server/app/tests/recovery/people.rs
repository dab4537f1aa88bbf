//! People with browsers: each keeps the cookies that the server sets. Many share one pool of connections.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use jari_api::{PlaceStatus, PlaceView};
use jari_pass::PlaceToken;
use jari_testkit::eventually;
use jari_units::{Seq, Timestamp};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, Method, Response};
use url::Url;

use crate::site::{ROOM, ring};

/// Calls at once: as many as a test's server answers without a queue.
const AT_ONCE: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) cookies: BTreeMap<String, String>,
    /// As last told.
    pub(crate) seq: Seq,
}

impl Person {
    pub(crate) fn new(client: Client, visitor: String) -> Person {
        Person { client, cookies: BTreeMap::from([("jari_visitor".to_owned(), visitor)]), seq: 0 }
    }

    /// The same person's browser with only these kinds of cookies left.
    pub(crate) fn only(&self, kinds: &[&str]) -> Person {
        let mut person = self.clone();
        person.cookies.retain(|name, _| kinds.iter().any(|kind| name.starts_with(kind)));
        person
    }

    async fn call(&mut self, method: Method, node: &Url, path: &str) -> Response {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, text)| format!("{name}={text}")).collect();
        let request = self.client.request(method, node.join(path).expect("a path"));
        let request = request.header(COOKIE, cookies.join("; "));
        let answer = request.send().await.expect("the node answers");
        for set in answer.headers().get_all(SET_COOKIE) {
            let set = set.to_str().expect("cookies are ASCII");
            let pair = set.split(';').next().expect("a pair");
            let (name, text) = pair.split_once('=').expect("a name and a text");
            if set.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), text.to_owned());
            }
        }
        answer
    }

    /// The status, and the place where there is one.
    async fn place(&mut self, method: Method, node: &Url, path: &str) -> (u16, Option<PlaceView>) {
        let answer = self.call(method, node, path).await;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.expect("a body");
        let view = matches!(status, 200 | 201)
            .then(|| serde_json::from_slice::<PlaceView>(&body).expect("a place"));
        if let Some(view) = &view {
            self.seq = view.seq;
        }
        (status, view)
    }

    pub(crate) async fn join(&mut self, node: &Url) -> (u16, Option<PlaceView>) {
        self.place(Method::POST, node, &format!("/v1/rooms/{ROOM}/places")).await
    }

    pub(crate) async fn poll(&mut self, node: &Url) -> (u16, Option<PlaceView>) {
        self.place(Method::GET, node, &format!("/v1/rooms/{ROOM}/places/me")).await
    }

    /// What a poll is refused with: the problem as JSON.
    pub(crate) async fn refused(&mut self, node: &Url) -> serde_json::Value {
        let answer = self.call(Method::GET, node, &format!("/v1/rooms/{ROOM}/places/me")).await;
        let body = answer.bytes().await.expect("a body");
        serde_json::from_slice(&body).expect("a problem")
    }

    pub(crate) async fn leave(&mut self, node: &Url) -> u16 {
        let path = format!("/v1/rooms/{ROOM}/places/me");
        self.call(Method::DELETE, node, &path).await.status().as_u16()
    }

    pub(crate) async fn gate(&mut self, node: &Url) -> u16 {
        self.call(Method::GET, node, &format!("/v1/gate/{ROOM}")).await.status().as_u16()
    }

    /// Polls until it is told a place, whichever.
    pub(crate) async fn told(&mut self, node: &Url) -> PlaceView {
        let own = self.clone();
        let (person, view) = eventually("the place is told", async || {
            let mut person = own.clone();
            let (_, view) = person.poll(node).await;
            Some((person, view?))
        })
        .await;
        *self = person;
        view
    }

    /// Polls until let in, and goes in.
    pub(crate) async fn go_in(&mut self, node: &Url) {
        let own = self.clone();
        *self = eventually("it is this one's turn", async || {
            let mut person = own.clone();
            let (_, view) = person.poll(node).await;
            (view?.status == PlaceStatus::Admitted).then_some(person)
        })
        .await;
        assert_eq!(self.gate(node).await, 204, "the pass of {}", self.seq);
    }

    pub(crate) fn cookie(&self, kind: &str) -> String {
        self.cookies[&format!("jari_{kind}_{ROOM}")].clone()
    }

    /// What the receipt in this browser says.
    pub(crate) fn receipt(&self) -> PlaceToken {
        ring().open(&self.cookie("place"), Timestamp(0)).expect("ours")
    }
}

/// Something that everybody does, many at once; the answers in order.
pub(crate) async fn all<'a, T>(
    people: &'a mut [Person],
    what: impl AsyncFn(&'a mut Person) -> T,
) -> Vec<T> {
    stream::iter(people).map(|person| what(person)).buffered(AT_ONCE).collect().await
}
