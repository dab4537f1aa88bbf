//! The part of Jari's API that a site needs: three calls with the tenant's key. Keeps nothing.

use std::time::Duration;

use aws_lc_rs::rand;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use url::Url;

use crate::Settings;

/// A visitor waits for the answer to a landing; nobody waits for a touch.
const DEADLINE: Duration = Duration::from_secs(3);

/// A client of one room's Jari.
#[derive(Debug)]
pub struct Jari {
    http: reqwest::Client,
    url: Url,
    key: String,
    room: String,
}

/// A pass that was found good.
#[derive(Clone, Debug, Deserialize)]
pub struct Verified {
    /// What the site names the pass by from now on.
    pub pass: String,
    /// The room's own name for the person.
    pub subject: String,
}

#[derive(Debug, Error)]
pub enum Refused {
    /// Jari says that the token is not good: the visitor gets another one in the room.
    #[error("the token is not good: {0}")]
    NoPass(String),
    /// Jari did not answer, or not what it should: nothing is known of the token.
    #[error("Jari could not be asked: {0}")]
    Unknown(String),
}

#[derive(Debug, Deserialize)]
struct Passes {
    passes: Vec<Pass>,
}

#[derive(Debug, Deserialize)]
struct Pass {
    pass: String,
    status: String,
}

impl Jari {
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let http = reqwest::Client::builder().timeout(DEADLINE).build();
        Jari {
            http: http.expect("a client of these settings can be made"),
            url: settings.jari.clone(),
            key: settings.key.clone(),
            room: settings.room.clone(),
        }
    }

    /// The room's page, which leads back to `back`.
    #[must_use]
    pub fn room_page(&self, back: &Url) -> Url {
        let mut page = self.url.join(&format!("/rooms/{}", self.room)).expect("an id is a path");
        page.query_pairs_mut().append_pair("return", back.as_str());
        page
    }

    /// Shows a token. Repeated with the same nonce, so that an answer that was lost costs nobody their turn.
    ///
    /// # Errors
    /// [`Refused`]
    pub async fn verify(&self, token: &str) -> Result<Verified, Refused> {
        let body = json!({"token": token, "nonce": secret(), "room": self.room});
        let mut answer = self.post("verify", &body).await;
        if answer.is_err() {
            answer = self.post("verify", &body).await;
        }
        let (status, answer) = answer.map_err(|error| Refused::Unknown(error.to_string()))?;
        match status {
            200 => {
                serde_json::from_value(answer).map_err(|error| Refused::Unknown(error.to_string()))
            }
            428 => Err(Refused::NoPass(answer["reason"].to_string())),
            _ => Err(Refused::Unknown(format!("{status} {answer}"))),
        }
    }

    /// Says that these are in use. Answers those that are not good any more.
    ///
    /// # Errors
    /// [`Refused::Unknown`]: then nothing is known, and everybody stays.
    pub async fn touch(&self, passes: Vec<String>) -> Result<Vec<String>, Refused> {
        let told = self.about("touch", passes).await?.into_iter();
        // "recovering" means: ask again. Nobody is sent away for what Jari does not know.
        let gone = told.filter(|pass| pass.status == "ended" || pass.status == "unknown");
        Ok(gone.map(|pass| pass.pass).collect())
    }

    /// Says that their owners are done.
    ///
    /// # Errors
    /// [`Refused::Unknown`]
    pub async fn end(&self, passes: Vec<String>) -> Result<(), Refused> {
        self.about("end", passes).await.map(drop)
    }

    async fn about(&self, call: &str, passes: Vec<String>) -> Result<Vec<Pass>, Refused> {
        let unknown = |error: &dyn std::fmt::Display| Refused::Unknown(error.to_string());
        let answer = self.post(call, &json!({"passes": passes})).await;
        let (status, answer) = answer.map_err(|error| unknown(&error))?;
        if status != 200 {
            return Err(unknown(&format!("{status} {answer}")));
        }
        let answer: Passes = serde_json::from_value(answer).map_err(|error| unknown(&error))?;
        Ok(answer.passes)
    }

    async fn post(&self, call: &str, body: &Value) -> Result<(u16, Value), reqwest::Error> {
        let url = self.url.join(&format!("/v1/passes/{call}")).expect("a word is a path");
        let answer = self.http.post(url).bearer_auth(&self.key).json(body).send().await?;
        let status = answer.status().as_u16();
        Ok((status, answer.json().await?))
    }
}

/// 32 hex digits that nobody guesses.
pub(crate) fn secret() -> String {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).expect("the system has randomness");
    format!("{:032x}", u128::from_be_bytes(bytes))
}
