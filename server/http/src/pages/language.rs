//! Which language a page speaks, and its messages. Formats no numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use http::header::{ACCEPT_LANGUAGE, COOKIE};
use http::{HeaderMap, HeaderValue};

use crate::header_text::elements;

/// Remembers the choice made with the page's switch.
const COOKIE_NAME: &str = "jari_lang";
const COOKIE_MAX_AGE_S: u32 = 365 * 24 * 3_600;

const KO: &str = include_str!("../../../../web/room/messages.ko.json");
const EN: &str = include_str!("../../../../web/room/messages.en.json");

static KO_MESSAGES: LazyLock<Messages> = LazyLock::new(|| parse(KO));
static EN_MESSAGES: LazyLock<Messages> = LazyLock::new(|| parse(EN));

type Messages = HashMap<&'static str, String>;

fn parse(json: &'static str) -> Messages {
    serde_json::from_str(json).expect("the messages are part of the program and tested")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Language {
    Ko,
    En,
}

impl Language {
    pub(super) const ALL: [Language; 2] = [Language::Ko, Language::En];

    pub(super) fn tag(self) -> &'static str {
        match self {
            Language::Ko => "ko",
            Language::En => "en",
        }
    }

    pub(super) fn other(self) -> Language {
        match self {
            Language::Ko => Language::En,
            Language::En => Language::Ko,
        }
    }

    /// All messages, as the page's script gets them.
    pub(super) fn messages_json(self) -> &'static str {
        match self {
            Language::Ko => KO,
            Language::En => EN,
        }
    }

    /// The message named `key`; empty where there is none.
    pub(super) fn text(self, key: &str) -> &'static str {
        let messages: &'static Messages = match self {
            Language::Ko => &KO_MESSAGES,
            Language::En => &EN_MESSAGES,
        };
        messages.get(key).map_or("", String::as_str)
    }

    fn from_tag(tag: &str) -> Option<Language> {
        let primary = tag.trim().split('-').next().unwrap_or_default();
        Language::ALL.into_iter().find(|language| primary.eq_ignore_ascii_case(language.tag()))
    }

    /// What the switch said now (`?lang=`) or before (the cookie), else what the browser prefers, else English.
    pub(super) fn choose(query: Option<&str>, headers: &HeaderMap) -> Language {
        query
            .and_then(Language::from_tag)
            .or_else(|| from_cookie(headers))
            .or_else(|| from_browser(headers))
            .unwrap_or(Language::En)
    }

    /// The cookie that remembers this language.
    pub(super) fn cookie(self, secure: bool) -> HeaderValue {
        let (tag, secure) = (self.tag(), if secure { "; Secure" } else { "" });
        let text = format!(
            "{COOKIE_NAME}={tag}; Path=/; Max-Age={COOKIE_MAX_AGE_S}; SameSite=Lax; HttpOnly{secure}"
        );
        HeaderValue::from_str(&text).expect("made of ASCII constants")
    }
}

fn from_cookie(headers: &HeaderMap) -> Option<Language> {
    elements(headers, COOKIE, b';').filter_map(|pair| pair?.split_once('=')).find_map(
        |(name, value)| if name == COOKIE_NAME { Language::from_tag(value) } else { None },
    )
}

/// The known language with the highest weight; the first among equals (RFC 9110, 12.5.4).
fn from_browser(headers: &HeaderMap) -> Option<Language> {
    let value = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let mut best: Option<(Language, f32)> = None;
    for item in value.split(',') {
        let mut parts = item.split(';');
        let Some(language) = parts.next().and_then(Language::from_tag) else { continue };
        let weight = parts
            .find_map(|parameter| parameter.trim().strip_prefix("q="))
            .map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
        if weight > best.map_or(0.0, |(_, weight)| weight) {
            best = Some((language, weight));
        }
    }
    best.map(|(language, _)| language)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn headers(accept: Option<&'static str>, cookie: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ACCEPT_LANGUAGE, accept), (COOKIE, cookie)] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        headers
    }

    #[test]
    fn the_switch_beats_the_cookie_beats_the_browser() {
        use Language::{En, Ko};
        for (query, accept, cookie, want) in [
            (None, None, None, En),
            (None, Some("ko-KR,ko;q=0.9,en;q=0.8"), None, Ko),
            (None, Some("en-US,en;q=0.9,ko;q=0.8"), None, En),
            (None, Some("fr,en;q=0.3,ko;q=0.5"), None, Ko),
            (None, Some("ko;q=0,en;q=0.1"), None, En),
            (None, Some("fr"), None, En),
            (None, Some("ko"), Some("a=b; jari_lang=en"), En),
            (None, Some("ko"), Some("jari_lang=xx"), Ko),
            (Some("ko"), Some("en"), Some("jari_lang=en"), Ko),
            (Some("xx"), Some("ko"), None, Ko),
        ] {
            let got = Language::choose(query, &headers(accept, cookie));
            assert_eq!(got, want, "{query:?} {accept:?} {cookie:?}");
        }
    }

    #[test]
    fn both_languages_have_the_same_messages_with_the_same_places() {
        let names = |text: &str| -> BTreeSet<String> {
            text.split('{').skip(1).filter_map(|t| t.split('}').next()).map(str::to_owned).collect()
        };
        let keys = |messages: &Messages| messages.keys().copied().collect::<BTreeSet<_>>();
        assert_eq!(keys(&KO_MESSAGES), keys(&EN_MESSAGES));
        for (key, ko) in KO_MESSAGES.iter() {
            assert_eq!(names(ko), names(&EN_MESSAGES[key]), "{key}");
        }
    }
}
