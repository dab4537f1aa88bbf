//! The demo's operator: makes the demo room and reads its counts, through the admin API like any operator.

use anyhow::{Context, Result, bail};
use jari_api::admin::RoomStats;
use jari_api::{Problem, Utc};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::time::Duration;

/// Local calls: an answer that takes longer is no answer.
const CALL_MAX: Duration = Duration::from_secs(10);

pub(super) struct Operator {
    http: Client,
    /// `http://127.0.0.1:8080/v1/admin`
    api: String,
    key: String,
    room: String,
}

/// What the demo room is like; the other settings are short, so that an hour's sale is over in minutes.
pub(super) struct DemoRoom {
    pub(super) target_url: String,
    pub(super) capacity: u64,
    pub(super) rate_per_s: f64,
    pub(super) opens_at: Utc,
}

impl DemoRoom {
    /// Of a new room `id`, or of one that is there: that one opened before, and stays open.
    fn body(&self, id: Option<&str>) -> Value {
        let mut body = json!({
            "title": {"ko": "가을 콘서트 예매", "en": "Autumn concert tickets"},
            "identity": "anonymous",
            "target_url": self.target_url,
            "settings": {
                "capacity": self.capacity,
                "rate_per_s": self.rate_per_s,
                // A second's worth, so that the rate asked for is the rate seen from the first second on.
                "burst": (self.rate_per_s.ceil() as u64).max(1),
                "pass_ttl_ms": 90_000,
                "claim_window_ms": 45_000,
                "absence_grace_ms": 60_000,
                // Phones that lock and pages that close are missed within seconds.
                "presence_window_ms": 15_000,
            },
        });
        if let (Some(id), Some(fields)) = (id, body.as_object_mut()) {
            fields.insert("room".to_owned(), id.into());
            fields["settings"]["opens_at"] = json!(self.opens_at);
        }
        body
    }
}

impl Operator {
    /// # Errors
    /// Where no HTTP client can be started.
    pub(super) fn new(server: &str, key: String, room: &str) -> Result<Operator> {
        let http = Client::builder().no_proxy().timeout(CALL_MAX).build()?;
        Ok(Operator { http, api: format!("{server}/v1/admin"), key, room: room.to_owned() })
    }

    /// Makes the room, or sets it up anew where the data folder has it from an earlier demo. Whether it was made.
    pub(super) async fn set_room(&self, room: &DemoRoom) -> Result<bool> {
        let path = format!("/rooms/{}", self.room);
        let known = self.request(Method::GET, &path).send().await.context("no answer")?.status();
        let new = known == StatusCode::NOT_FOUND;
        let request = if new {
            self.request(Method::POST, "/rooms").json(&room.body(Some(&self.room)))
        } else {
            self.request(Method::PATCH, &path).json(&room.body(None))
        };
        accepted(request).await.context("cannot set up the demo room")?;
        Ok(new)
    }

    pub(super) async fn stats(&self) -> Result<RoomStats> {
        let path = format!("/rooms/{}/stats", self.room);
        Ok(accepted(self.request(Method::GET, &path)).await?.json().await?)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.api)).bearer_auth(&self.key)
    }
}

async fn accepted(request: RequestBuilder) -> Result<reqwest::Response> {
    let answer = request.send().await.context("no answer")?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    match answer.json::<Problem>().await {
        Ok(Problem { title, detail, fields, .. }) if fields.is_empty() => {
            bail!("{title}; {detail}")
        }
        Ok(problem) => bail!("{}; {}; {}", problem.title, problem.detail, json!(problem.fields)),
        Err(_) => bail!("answered {status}"),
    }
}
