//! The wire as one simulated visitor uses it. Remembers nobody: every call is handed the tokens it carries.

use std::time::Duration;

use jari_api::{PlaceView, Problem, VisitorCreated};
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

/// Calls in flight at once: enough for a burst, few enough that the crowd holds only so many connections.
const IN_FLIGHT_MAX: usize = 128;

/// A page gives every call 8 s; so does the crowd.
const CALL_MAX: Duration = Duration::from_secs(8);

/// A stream sends a comment at least every 4 s; on a loopback address two missed ones mean that it is dead.
const STREAM_SILENCE_MAX: Duration = Duration::from_secs(10);

/// What one waits where the server did not say: a second is what a page does.
const RETRY_DEFAULT: Duration = Duration::from_secs(1);

/// Why there is no answer of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum No {
    NotOpen,
    /// Asked too soon, or the server is busy: again after this.
    Later {
        code: String,
        after: Duration,
    },
    /// A refusal that asking again does not change.
    Refused(String),
    /// No answer came.
    Lost,
}

pub(super) struct LineClient {
    calls: Client,
    streams: Client,
    /// `http://127.0.0.1:8080/v1`
    api: String,
    room: String,
    in_flight: Semaphore,
}

impl LineClient {
    /// # Errors
    /// Where the system has no TLS or resolver to start a client with.
    pub(super) fn new(server: &str, room: &str) -> reqwest::Result<LineClient> {
        // A proxy from the environment must not see loopback calls.
        let client = || Client::builder().no_proxy().http1_only().tcp_nodelay(true);
        Ok(LineClient {
            calls: client().timeout(CALL_MAX).pool_max_idle_per_host(IN_FLIGHT_MAX).build()?,
            streams: client().read_timeout(STREAM_SILENCE_MAX).pool_max_idle_per_host(0).build()?,
            api: format!("{server}/v1"),
            room: room.to_owned(),
            in_flight: Semaphore::new(IN_FLIGHT_MAX),
        })
    }

    /// A fresh identity.
    pub(super) async fn visitor(&self) -> Result<String, No> {
        let request = self.calls.post(format!("{}/visitors", self.api));
        self.json::<VisitorCreated>(request).await.map(|created| created.visitor_token)
    }

    pub(super) async fn join(&self, visitor: &str) -> Result<PlaceView, No> {
        self.json(self.of_room(&self.calls, Method::POST, "places").bearer_auth(visitor)).await
    }

    pub(super) async fn place(&self, place: &str) -> Result<PlaceView, No> {
        self.json(self.of_room(&self.calls, Method::GET, "places/me").bearer_auth(place)).await
    }

    /// Leaves the line, or ends the visit.
    pub(super) async fn leave(&self, place: &str) -> Result<(), No> {
        let request = self.of_room(&self.calls, Method::DELETE, "places/me").bearer_auth(place);
        self.send(request).await.map(|_| ())
    }

    /// Shows the pass at the gate; the first time claims it.
    pub(super) async fn gate(&self, pass: &str) -> Result<(), No> {
        let url = format!("{}/gate/{}", self.api, self.room);
        self.send(self.calls.get(url).bearer_auth(pass)).await.map(|_| ())
    }

    /// Opens the room's event stream.
    pub(super) async fn events(&self, place: &str) -> Result<Response, No> {
        let request = self.of_room(&self.streams, Method::GET, "events").bearer_auth(place);
        let answer = request.send().await.map_err(|_| No::Lost)?;
        accepted(answer).await
    }

    fn of_room(&self, client: &Client, method: Method, path: &str) -> RequestBuilder {
        client.request(method, format!("{}/rooms/{}/{path}", self.api, self.room))
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, No> {
        self.send(request).await?.json().await.map_err(|_| No::Lost)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, No> {
        let _permit = self.in_flight.acquire().await.expect("never closed");
        accepted(request.send().await.map_err(|_| No::Lost)?).await
    }
}

async fn accepted(answer: Response) -> Result<Response, No> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let seconds =
        answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let retry_after = seconds.map_or(RETRY_DEFAULT, Duration::from_secs);
    match answer.json::<Problem>().await {
        Ok(problem) => Err(refusal(status, &problem, retry_after)),
        Err(_) => Err(No::Refused(status.as_u16().to_string())),
    }
}

fn refusal(status: StatusCode, problem: &Problem, retry_after: Duration) -> No {
    let code = problem.code.to_string();
    let directed = problem.fields.get("poll_after_ms").and_then(serde_json::Value::as_u64);
    let after = directed.map_or(retry_after, Duration::from_millis);
    match status {
        _ if code == "not_open" => No::NotOpen,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            No::Later { code, after }
        }
        _ => No::Refused(code),
    }
}

#[cfg(test)]
mod tests {
    use jari_api::Code;

    use super::*;

    #[test]
    fn refusals_say_whether_to_ask_again() {
        let told = |code: Code, poll_after_ms: Option<u64>| {
            let mut problem = Problem::new(code);
            problem.fields.extend(poll_after_ms.map(|ms| ("poll_after_ms".to_owned(), ms.into())));
            refusal(code.status(), &problem, Duration::from_secs(3))
        };
        let later =
            |code: &str, ms| No::Later { code: code.to_owned(), after: Duration::from_millis(ms) };
        assert_eq!(told(Code::NotOpen, None), No::NotOpen);
        assert_eq!(told(Code::TooFast, Some(900)), later("too_fast", 900));
        assert_eq!(told(Code::StreamRefused, None), later("stream_refused", 3_000));
        assert_eq!(told(Code::RoomClosed, None), No::Refused("room_closed".to_owned()));
        assert_eq!(told(Code::PassRequired, Some(1)), No::Refused("pass_required".to_owned()));
    }
}
