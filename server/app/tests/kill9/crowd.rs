//! The crowd over HTTP: people who join, poll, claim and leave until the server is gone, and who all ask after a restart.

use futures_util::StreamExt;
use jari_api::{PlaceView, VisitorCreated};
use reqwest::{Client, Method, StatusCode};
use url::Url;

use crate::dice::Dice;
use crate::truth::{Person, Truth, Word};

/// People of one pair of hands who are near the front or inside.
const FRONT: usize = 24;
/// Questions under way at once after a restart.
const ASKING: usize = 32;

/// A server, its room and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    client: Client,
    url: Url,
    room: String,
    pub(crate) truth: Truth,
}

/// The server is gone: whatever was asked may or may not have happened.
#[derive(Debug)]
struct Gone;

/// Kept from a body only where it was read to its end: that is an acknowledgement.
struct Answered {
    status: StatusCode,
    body: Vec<u8>,
}

impl Scene {
    pub(crate) fn new(client: Client, url: Url, room: &str, truth: Truth) -> Self {
        Scene { client, url, room: room.to_owned(), truth }
    }

    async fn ask(&self, method: Method, path: &str, token: Option<&str>) -> Result<Answered, Gone> {
        let url = self.url.join(path).expect("a path is part of a URL");
        let mut request = self.client.request(method, url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(|_| Gone)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|_| Gone)?.to_vec();
        Ok(Answered { status, body })
    }

    async fn newcomer(&self) -> Result<Person, Gone> {
        let answer = self.ask(Method::POST, "/v1/visitors", None).await?;
        let created: VisitorCreated = serde_json::from_slice(&answer.body).expect("a visitor");
        Ok(Person::new(created.visitor_token, self.truth.highest()))
    }

    /// Asks for a place; the status that told of it.
    async fn join(&self, person: &mut Person) -> Result<StatusCode, Gone> {
        let path = format!("/v1/rooms/{}/places", self.room);
        let answer = self.ask(Method::POST, &path, Some(&person.visitor_token)).await?;
        if answer.status.is_success() {
            let view: PlaceView = serde_json::from_slice(&answer.body).expect("a place view");
            self.truth.joined(person, &view);
        } else {
            self.unexpected("a join", &answer, &[StatusCode::SERVICE_UNAVAILABLE]);
        }
        Ok(answer.status)
    }

    /// Asks how it stands; whether it was told.
    async fn poll(&self, person: &mut Person) -> Result<bool, Gone> {
        let path = format!("/v1/rooms/{}/places/me", self.room);
        let answer = self.ask(Method::GET, &path, Some(&person.place_token)).await?;
        if answer.status == StatusCode::OK {
            let view: PlaceView = serde_json::from_slice(&answer.body).expect("a place view");
            self.truth.stands(person, &view);
            return Ok(true);
        }
        let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        self.unexpected("a poll", &answer, &busy);
        Ok(false)
    }

    async fn leave(&self, person: &mut Person) -> Result<(), Gone> {
        let path = format!("/v1/rooms/{}/places/me", self.room);
        person.left = Word::Sent;
        let answer = self.ask(Method::DELETE, &path, Some(&person.place_token)).await?;
        if answer.status == StatusCode::NO_CONTENT {
            person.left = Word::Told;
            self.truth.count(|told| told.leaves += 1);
        } else {
            self.unexpected("a leave", &answer, &[StatusCode::SERVICE_UNAVAILABLE]);
        }
        Ok(())
    }

    async fn claim(&self, person: &mut Person, pass: &str) -> Result<(), Gone> {
        let path = format!("/v1/gate/{}", self.room);
        let answer = self.ask(Method::GET, &path, Some(pass)).await?;
        if answer.status == StatusCode::NO_CONTENT {
            if !person.claimed {
                self.truth.count(|told| told.claims += 1);
            }
            person.claimed = true;
        } else {
            self.unexpected("a claim", &answer, &[StatusCode::SERVICE_UNAVAILABLE]);
        }
        Ok(())
    }

    fn unexpected(&self, what: &str, answer: &Answered, usual: &[StatusCode]) {
        if !usual.contains(&answer.status) {
            let body = String::from_utf8_lossy(&answer.body);
            self.truth.lost(format!("{what} was answered {}: {body}", answer.status));
        }
    }

    async fn act(&self, people: &mut Vec<Person>, dice: &mut Dice) -> Result<(), Gone> {
        if people.is_empty() || dice.percent(12) {
            people.push(self.newcomer().await?);
            let person = people.last_mut().expect("just pushed");
            return self.join(person).await.map(drop);
        }
        // Most is done at the front, where passes are.
        let reach = if dice.percent(70) { people.len().min(FRONT) } else { people.len() };
        let pick = dice.between(0, reach as u64) as usize;
        let person = &mut people[pick];
        if person.seq == 0 || person.left != Word::Not {
            return Ok(());
        }
        match person.pass.clone() {
            Some(_) if dice.percent(50) => self.leave(person).await,
            Some(pass) => self.claim(person, &pass).await,
            None if dice.percent(8) => self.leave(person).await,
            None => self.poll(person).await.map(drop),
        }
    }

    /// Compares one person's place with what it was told; who got no answer to a join asks again.
    async fn check(&self, person: &mut Person) {
        if person.seq == 0 {
            let status = self.join(person).await.expect("the server stays up");
            self.truth.count(|told| {
                told.repeated += 1;
                told.found += u64::from(status == StatusCode::OK);
            });
            return;
        }
        while !self.poll(person).await.expect("the server stays up") {
            // Directed to come back later: a quarter of a second in this room.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        person.settled = person.left == Word::Told;
    }
}

/// One pair of hands: acts until the server is gone.
pub(crate) async fn work(scene: Scene, mut people: Vec<Person>, mut dice: Dice) -> Vec<Person> {
    while scene.act(&mut people, &mut dice).await.is_ok() {
        tokio::task::yield_now().await;
    }
    people
}

/// Asks for everybody: those who left and were found to have left again only where `all`.
pub(crate) async fn verify(scene: &Scene, people: &mut [Person], all: bool) {
    let asked = people.iter_mut().filter(|person| all || !person.settled);
    futures_util::stream::iter(asked)
        .for_each_concurrent(ASKING, |person| scene.check(person))
        .await;
}
