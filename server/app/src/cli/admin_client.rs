//! Calls of a server's admin API, with failures that a person at a terminal can act on.

use std::time::Duration;

use clap::Args;
use jari_api::Problem;
use reqwest::{Method, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{Failure, print};

/// Longer than the server's own deadline, so that its answer wins.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Which server, as whom, and how the answer is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// The server's address.
    #[arg(long, global = true, value_name = "URL", env = "JARI_SERVER", hide_env_values = true)]
    #[arg(default_value = "http://127.0.0.1:8080")]
    server: Url,
    /// An API key with admin scope. Prefer the variable: others can see a command's flags.
    #[arg(long, global = true, value_name = "KEY", env = "JARI_ADMIN_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Print the answer as JSON instead of a table.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

/// A client of one server.
pub(super) struct AdminClient {
    http: reqwest::Client,
    server: Url,
    key: String,
    json: bool,
}

impl AdminClient {
    pub(super) fn new(args: &ServerArgs) -> Result<Self, Failure> {
        let Some(key) = args.key.clone() else {
            return Err(Failure::KeyNotAccepted("no API key was given".to_owned()));
        };
        let http = reqwest::Client::builder()
            .timeout(CALL_TIMEOUT)
            .build()
            .map_err(|error| Failure::failed(format!("cannot make an HTTP client: {error}")))?;
        Ok(AdminClient { http, server: args.server.clone(), key, json: args.json })
    }

    /// Calls `/v1/admin/<path>`.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, Failure> {
        let mut url = self.server.clone();
        let unusable =
            |()| Failure::failed(format!("{} cannot be a server's address", self.server));
        // Segments are pushed one by one, so that a name with a slash or a query mark stays a name.
        url.path_segments_mut()
            .map_err(unusable)?
            .pop_if_empty()
            .extend(["v1", "admin"])
            .extend(call.path);
        url.query_pairs_mut().extend_pairs(&call.query).finish();
        if url.query() == Some("") {
            url.set_query(None);
        }
        let mut request = self.http.request(call.method, url).bearer_auth(&self.key);
        if let Some(version) = call.if_match {
            request = request.header(header::IF_MATCH, version);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return if body.is_empty() { Ok(Value::Null) } else { parse(&body) };
        }
        Err(refused(status, &body))
    }

    /// Calls, and reads the answer as `T`.
    pub(super) async fn read<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failure> {
        let answer = self.call(call).await?;
        serde_json::from_value(answer).map_err(|error| not_understood(&error))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Failure::Unreachable { server: self.server.to_string(), why: cause.to_string() }
    }

    /// Prints the answer as it came, or as `table` shows it.
    pub(super) fn show<T: DeserializeOwned>(
        &self,
        answer: Value,
        table: impl FnOnce(T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return print(&format!("{answer:#}\n"));
        }
        let typed = serde_json::from_value(answer).map_err(|error| not_understood(&error))?;
        print(&table(typed))
    }
}

impl std::fmt::Debug for AdminClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AdminClient {{ server: {}, key: redacted }}", self.server)
    }
}

/// One call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    method: Method,
    path: Vec<&'a str>,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
    if_match: Option<String>,
}

impl<'a> Call<'a> {
    fn new(method: Method, path: &[&'a str]) -> Self {
        Call { method, path: path.to_vec(), query: Vec::new(), body: None, if_match: None }
    }

    pub(super) fn get(path: &[&'a str]) -> Self {
        Call::new(Method::GET, path)
    }

    pub(super) fn post(path: &[&'a str]) -> Self {
        Call::new(Method::POST, path)
    }

    pub(super) fn put(path: &[&'a str]) -> Self {
        Call::new(Method::PUT, path)
    }

    pub(super) fn patch(path: &[&'a str]) -> Self {
        Call::new(Method::PATCH, path)
    }

    pub(super) fn delete(path: &[&'a str]) -> Self {
        Call::new(Method::DELETE, path)
    }

    pub(super) fn body(mut self, body: impl Serialize) -> Self {
        let json = serde_json::to_value(body).expect("bodies have text keys and finite numbers");
        self.body = Some(json);
        self
    }

    pub(super) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Only where it still is at this version.
    pub(super) fn if_match(mut self, version: Option<u64>) -> Self {
        self.if_match = version.map(|version| format!("\"{version}\""));
        self
    }
}

fn parse(body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| not_understood(&error))
}

fn not_understood(error: &serde_json::Error) -> Failure {
    Failure::failed(format!(
        "the server's answer is not understood ({error}); is it a Jari of this version?"
    ))
}

/// What a refusal tells a person: its title and code, the field where there is one, and the detail.
fn refused(status: StatusCode, body: &[u8]) -> Failure {
    let Ok(problem) = serde_json::from_slice::<Problem>(body) else {
        return Failure::failed(format!("the server answered {status}; is it a Jari?"));
    };
    let mut text = format!("{} ({})", problem.title, problem.code);
    for (name, value) in &problem.fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("; {name}: {value}"));
    }
    if !problem.detail.is_empty() {
        text.push_str(&format!("; {}", problem.detail));
    }
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::KeyNotAccepted(text),
        _ => Failure::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_line_with_the_field() {
        let body = r#"{"type":"about:blank","title":"A setting is out of its bounds","status":422,
            "code":"invalid_settings","field":"burst","problem":"0 is not in 1..=5"}"#;
        let failure = refused(StatusCode::UNPROCESSABLE_ENTITY, body.as_bytes());
        let want = "A setting is out of its bounds (invalid_settings); field: burst; problem: 0 is not in 1..=5";
        assert_eq!(failure.to_string(), want);
        let failure = refused(StatusCode::BAD_GATEWAY, b"<html>");
        assert!(failure.to_string().contains("502"));
    }
}
