//! One person with a browser: keeps the cookies that are set, asks as the page does, and turns to another node where one
//! does not answer. Judges no answer.

use std::collections::BTreeMap;
use std::time::Duration;

use jari_api::{PlaceView, Problem, VisitorCreated};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, Method, Response};
use url::Url;

use crate::seen::Call;
use crate::truth::Place;

/// How long a page waits for an answer before it asks elsewhere: as long as the page of `web/room` does.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(8);

const VISITOR: &str = "jari_visitor";

/// A client that many people share: their cookies are their own.
///
/// # Panics
/// Never: it is made of nothing that can be missing.
pub(crate) fn client() -> Client {
    let made = Client::builder().timeout(ANSWER_MAX).pool_max_idle_per_host(64).build();
    made.expect("an HTTP client can be made")
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: usize,
    client: Client,
    cookies: BTreeMap<String, String>,
    /// As they were before leaving, for who comes back with them.
    pub(crate) kept: Option<BTreeMap<String, String>>,
    /// Which of the nodes is asked.
    pub(crate) door: usize,
    pub(crate) place: Place,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The place, where there is one in it.
    Served(Option<Box<PlaceView>>),
    /// Status and code, and when to come back if that was said.
    Refused {
        code: String,
        after: Option<Duration>,
    },
    Nothing,
}

impl Person {
    pub(crate) fn new(id: usize, client: Client, door: usize) -> Person {
        let (cookies, kept, place) = Default::default();
        Person { id, client, cookies, kept, door, place }
    }

    pub(crate) fn has_identity(&self) -> bool {
        self.cookies.contains_key(VISITOR)
    }

    /// Turns to the next node.
    pub(crate) fn turn(&mut self, doors: usize) {
        self.door = (self.door + 1) % doors;
    }

    /// Gets an anonymous identity, which asks no store.
    pub(crate) async fn identify(&mut self, node: &Url) -> bool {
        let Ok(answer) = self.send(Method::POST, node, "/v1/visitors").await else {
            return false;
        };
        match answer.json::<VisitorCreated>().await {
            Ok(created) => {
                self.cookies.insert(VISITOR.to_owned(), created.visitor_token);
                true
            }
            Err(_) => false,
        }
    }

    pub(crate) async fn ask(&mut self, call: Call, node: &Url, room: &str) -> Answer {
        let (places, mine) = (format!("/v1/rooms/{room}/places"), "me");
        let (method, path) = match call {
            Call::Join => (Method::POST, places),
            Call::Poll => (Method::GET, format!("{places}/{mine}")),
            Call::Leave => (Method::DELETE, format!("{places}/{mine}")),
            Call::Gate => (Method::GET, format!("/v1/gate/{room}")),
        };
        if call == Call::Leave {
            self.kept = Some(self.cookies.clone());
        }
        match self.send(method, node, &path).await {
            Ok(answer) => read(answer).await,
            Err(_) => Answer::Nothing,
        }
    }

    /// The same person with the cookies of before they left.
    pub(crate) fn come_back(&self) -> Option<Person> {
        let cookies = self.kept.clone()?;
        Some(Person { cookies, ..self.clone() })
    }

    async fn send(&mut self, method: Method, node: &Url, path: &str) -> reqwest::Result<Response> {
        let url = node.join(path).expect("a path makes an address");
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, text)| format!("{name}={text}")).collect();
        let request = self.client.request(method, url).header(COOKIE, cookies.join("; "));
        let answer = request.send().await?;
        for set in answer.headers().get_all(SET_COOKIE) {
            let Some((name, text)) = set.to_str().ok().and_then(pair) else { continue };
            if set.to_str().is_ok_and(|set| set.contains("Max-Age=0")) {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), text.to_owned());
            }
        }
        Ok(answer)
    }
}

/// Name and text of a cookie as it is set.
fn pair(set: &str) -> Option<(&str, &str)> {
    set.split(';').next()?.split_once('=')
}

/// Only what was read to its end is an answer.
async fn read(answer: Response) -> Answer {
    let status = answer.status();
    let Ok(body) = answer.bytes().await else { return Answer::Nothing };
    if status.is_success() {
        return Answer::Served(serde_json::from_slice(&body).ok());
    }
    let problem = serde_json::from_slice::<Problem>(&body).ok();
    let after = problem.as_ref().and_then(|problem| problem.fields.get("poll_after_ms")?.as_u64());
    let code = problem.map_or_else(|| "?".to_owned(), |problem| with_reason(&problem));
    let after = after.map(Duration::from_millis);
    Answer::Refused { code: format!("{} {code}", status.as_u16()), after }
}

fn with_reason(problem: &Problem) -> String {
    match problem.fields.get("reason").and_then(|reason| reason.as_str()) {
        Some(reason) => format!("{}: {reason}", problem.code),
        None => problem.code.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_a_pair_before_its_attributes() {
        assert_eq!(pair("jari_place_a=x.y=; Path=/; HttpOnly"), Some(("jari_place_a", "x.y=")));
        assert_eq!(pair("nothing"), None);
    }

    #[test]
    fn who_comes_back_has_the_cookies_of_before() {
        let mut person = Person::new(1, client(), 0);
        assert!(person.come_back().is_none());
        person.cookies.insert("jari_place_a".to_owned(), "x".to_owned());
        person.kept = Some(person.cookies.clone());
        person.cookies.clear();
        let back = person.come_back().expect("they were kept");
        assert!(back.cookies.contains_key("jari_place_a"));
    }
}
