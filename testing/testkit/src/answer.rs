//! An HTTP answer read to its end, with the questions tests ask of it.

use jari_api::Problem;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

/// An answer: status, headers and the whole body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads an answer to its end.
    ///
    /// # Panics
    /// Where it breaks off.
    pub async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.expect("the answer's body arrives").to_vec();
        Answer { status, headers, body }
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The answer itself where its status is this one.
    ///
    /// # Panics
    /// Shows the answer where it is not.
    pub fn expect(self, status: u16) -> Self {
        let text = self.text();
        assert_eq!(self.status.as_u16(), status, "the answer was {text}");
        self
    }

    /// The body as `T`.
    ///
    /// # Panics
    /// Shows the body where it is no such thing.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("{error} in {} {}", self.status, self.text()),
        }
    }

    /// The problem, where it is one with this status and code.
    ///
    /// # Panics
    /// Shows the answer where it is not.
    pub fn problem(&self, status: u16, code: &str) -> Problem {
        let text = self.text();
        assert_eq!(self.status.as_u16(), status, "the answer was {text}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{text}");
        let problem: Problem = self.json();
        assert_eq!(problem.code, code, "the answer was {text}");
        problem
    }
}
