//! An event stream as a browser reads it (the HTML standard's `text/event-stream`), one event at a time.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;

/// Longest that a test waits for the next event: above every heartbeat and exact position.
const NEXT_MAX: Duration = Duration::from_secs(30);

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub id: String,
    pub event: String,
    pub data: String,
}

impl SseEvent {
    /// The data as JSON.
    ///
    /// # Panics
    /// Where it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).expect("an event's data is JSON")
    }
}

/// An open stream.
pub struct SseStream {
    pub headers: HeaderMap,
    bytes: BoxStream<'static, Vec<u8>>,
    text: String,
}

impl std::fmt::Debug for SseStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SseStream").field("headers", &self.headers).finish_non_exhaustive()
    }
}

impl SseStream {
    pub async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status(), response.headers().clone());
        if !status.is_success() {
            panic!(
                "the stream was refused: {status} {}",
                response.text().await.unwrap_or_default()
            );
        }
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
        assert!(kind.is_some_and(|kind| kind.starts_with("text/event-stream")), "{headers:?}");
        // A stream that breaks has ended, as it has for a browser.
        let bytes = response.bytes_stream();
        let bytes = bytes.take_while(|chunk| std::future::ready(chunk.is_ok()));
        let bytes = bytes.map(|chunk| chunk.map(|bytes| bytes.to_vec()).unwrap_or_default());
        SseStream { headers, bytes: bytes.boxed(), text: String::new() }
    }

    /// The next event; `None` where the stream has ended. Comments are skipped.
    ///
    /// # Panics
    /// Where nothing comes within 30 s.
    pub async fn next(&mut self) -> Option<SseEvent> {
        let next = async {
            loop {
                if let Some((block, rest)) = self.text.split_once("\n\n") {
                    let (event, rest) = (parse(block), rest.to_owned());
                    self.text = rest;
                    if let Some(event) = event {
                        return Some(event);
                    }
                    continue;
                }
                let chunk = self.bytes.next().await?;
                self.text.push_str(&String::from_utf8_lossy(&chunk));
            }
        };
        tokio::time::timeout(NEXT_MAX, next).await.expect("a stream is not silent for 30 s")
    }

    /// The next event of this name, past all others.
    ///
    /// # Panics
    /// Where the stream ends before it.
    pub async fn next_of(&mut self, name: &str) -> SseEvent {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("the stream ended before {name:?}"));
            if event.event == name {
                return event;
            }
        }
    }
}

fn parse(block: &str) -> Option<SseEvent> {
    let mut event = SseEvent::default();
    let mut any = false;
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = value.to_owned(),
            "event" => event.event = value.to_owned(),
            "data" => {
                any = true;
                if !event.data.is_empty() {
                    event.data.push('\n');
                }
                event.data.push_str(value);
            }
            _ => {}
        }
    }
    any.then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_events_and_comments_do_not() {
        let event = parse("id: 7\nevent: line\ndata: {\"a\":1}").expect("an event");
        assert_eq!((event.id.as_str(), event.event.as_str()), ("7", "line"));
        assert_eq!(event.json()["a"], 1);
        assert_eq!(parse(": heartbeat"), None);
        assert_eq!(parse("data: a\ndata: b").expect("an event").data, "a\nb");
    }
}
